//! The tables that people read, at four widths, as files in `tables/`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WIDTHS: [u16; 4] = [60, 80, 120, 200];

/// Each file with the command that prints it.
const TABLES: [(&str, &[&str]); 10] = [
    ("compare-one-flow", &["compare", "small.toml", "--seeds", "2"]),
    ("compare-ten-flows", &["compare", "tables/ten-flows.toml"]),
    (
        "compare-24-flows",
        &["compare", "tables/ten-flows.toml", "--set", "nodes.viewer.count=20", "--schemes", "none,snoop"],
    ),
    (
        "compare-24-flows-all",
        &[
            "compare",
            "tables/ten-flows.toml",
            "--set",
            "nodes.viewer.count=20",
            "--schemes",
            "none,snoop",
            "--all-flows",
        ],
    ),
    ("compare-udp", &["compare", "tables/udp.toml"]),
    ("run", &["run", "small.toml", "--scheme", "snoop"]),
    ("run-wifi", &["run", "tables/ten-flows.toml"]),
    ("schemes", &["schemes"]),
    ("schemes-snoop", &["schemes", "snoop"]),
    ("reproduce", &["reproduce", "packet-control", "--seeds", "2"]),
];

#[test]
fn tables_are_those_in_the_files_and_fit_the_terminal() {
    let writes = std::env::var_os("LASTHOP_WRITE_TABLES").is_some();
    for (name, command) in TABLES {
        let file = folder().join("tables").join(format!("{name}.txt"));
        let mut text = format!("$ lasthop {}\n", command.join(" "));
        for width in WIDTHS {
            let table = printed(command, width);
            for line in table.lines() {
                assert!(line.chars().count() <= width.into(), "{name}: wider than {width} columns:\n{line}");
            }
            // Writing into a string cannot fail.
            let _ = write!(text, "\n{width} columns\n\n{table}");
        }
        if writes {
            fs::write(&file, &text).expect("a writable repository");
        }
        let known = fs::read_to_string(&file).unwrap_or_default();
        let advice = "LASTHOP_WRITE_TABLES=1 cargo test -p lasthop-cli --test tables";
        assert!(
            known == text,
            "`lasthop {}` does not print what {} has; {advice} writes it. It prints:\n{text}",
            command.join(" "),
            file.display()
        );
    }
}

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).to_owned()
}

/// Standard output, as wide as this.
fn printed(command: &[&str], width: u16) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .args(command)
        .current_dir(folder())
        .env("COLUMNS", width.to_string())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}
