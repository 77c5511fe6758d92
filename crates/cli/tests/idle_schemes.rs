//! A scheme that has no place in a scenario does nothing there. The command says so, and says nothing
//! where the scheme has a place.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

const HOP: &str = include_str!("bad-inputs/base/hop.toml");
const CELL: &str = include_str!("bad-inputs/base/cell.toml");
const SWEEP: &str = include_str!("bad-inputs/base/grid.sweep.toml");

/// The notes of a command about `x.toml`, which succeeds. `hop.toml` is the same file.
fn notes(arguments: &[&str], file: &str) -> Vec<String> {
    let folder = TempDir::new().expect("a temporary directory");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file in it");
    write("x.toml", file);
    write("hop.toml", file);
    write("sweep.toml", SWEEP);
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said.lines().filter(|line| line.starts_with("note: ")).map(str::to_owned).collect()
}

/// The hop with both links wired.
fn wired() -> String {
    HOP.lines()
        .filter(|line| {
            !["kind = \"wireless\"", "link-layer", "channel"].iter().any(|key| line.starts_with(key))
        })
        .fold(String::new(), |text, line| text + line + "\n")
}

const SNOOP: &str = "note: \"snoop\" does nothing here: it works at a wireless link of a node in the role edge or relay, and the \
                     scenario has none; expected a router with a link of kind = \"wireless\" or in an 802.11 cell";

#[test]
fn a_scheme_without_a_place_is_noted_once() {
    assert_eq!(notes(&["compare", "x.toml", "--seeds", "1"], &wired()), [SNOOP]);
    assert_eq!(notes(&["run", "x.toml", "--scheme", "snoop"], &wired()), [SNOOP]);
    assert_eq!(notes(&["sweep", "sweep.toml"], &wired()), [SNOOP]);
    let both = ["compare", "x.toml", "--seeds", "1", "--schemes", "none,snoop,dda"];
    let notes = notes(&both, &wired());
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("\"dda\"") && notes[0].contains("expected a host with a link"), "{notes:?}");
}

#[test]
fn a_scheme_of_a_stack_without_a_place_is_noted_by_its_name() {
    let hosts = HOP.replace("kind = \"router\"", "kind = \"host\"\nrole = \"mobile-host\"");
    let stack = hosts.replace("\"snoop\"]", "{ stack = [\"snoop\", \"dda\"] }]");
    assert_eq!(notes(&["compare", "x.toml", "--seeds", "1"], &stack), [SNOOP]);
}

#[test]
fn a_scheme_with_a_place_is_not_noted() {
    assert_eq!(
        notes(&["compare", "x.toml", "--seeds", "1", "--schemes", "none,no-loss,snoop,dda"], HOP),
        [""; 0]
    );
    assert_eq!(notes(&["sweep", "sweep.toml"], HOP), [""; 0]);
    assert_eq!(notes(&["run", "x.toml", "--scheme", "snoop"], CELL), [""; 0]);
    assert_eq!(notes(&["run", "x.toml", "--scheme", "none"], &wired()), [""; 0]);
}
