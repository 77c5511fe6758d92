//! Tests that the BPF objects in the repository are up to date with their source.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use lasthop_needs::tests;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [recorded_clang]: the_objects_are_what_the_source_compiles_to;
    })
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf");
const FILES: [&str; 3] = ["divert.bpfel.o", "divert.bpfeb.o", "clang-version"];

/// Needs the version that compiled the objects: another version compiles different ones.
fn recorded_clang() -> Result<(), String> {
    let recorded = fs::read_to_string(Path::new(FOLDER).join("clang-version")).expect("it is recorded");
    let recorded = recorded.trim();
    let found = Command::new("clang").arg("-dumpversion").output();
    let found =
        found.map_or("none".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if found == recorded { Ok(()) } else { Err(format!("needs clang {recorded}, found {found}")) }
}

fn the_objects_are_what_the_source_compiles_to() {
    let directory = tempfile::tempdir().expect("a directory");
    let built =
        Command::new(Path::new(FOLDER).join("build.sh")).arg(directory.path()).output().expect("a shell");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for file in FILES {
        let [ours, theirs] = [Path::new(FOLDER), directory.path()].map(|folder| fs::read(folder.join(file)));
        let is_same = ours.expect("it is in the repository") == theirs.expect("it was built");
        assert!(is_same, "{file} is stale: run crates/gateway/bpf/build.sh");
    }
}
