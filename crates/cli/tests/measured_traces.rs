//! Measured traces of mobile networks, which are not in the repository but may lie beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use lasthop_needs::tests;
use serde_json::Value;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [traces]: the_measured_traces_all_give_a_table;
    })
}

/// Beside the project, wherever that is checked out.
fn folder() -> Option<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(3);
    above.map(|folder| folder.join("shared/traces")).find(|folder| folder.is_dir())
}

fn traces() -> Result<(), String> {
    folder().map(|_| ()).ok_or_else(|| "needs ../shared/traces".to_owned())
}

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/measured-link.toml");

fn the_measured_traces_all_give_a_table() {
    let mut count = 0;
    for entry in fs::read_dir(folder().expect("it is there")).expect("readable") {
        let path = entry.expect("readable").path();
        if !path.extension().is_some_and(|extension| extension == "down" || extension == "up") {
            continue;
        }
        let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .args(["compare", SCENARIO, "--seeds", "2", "--json", "--trace"])
            .arg(&path)
            .output()
            .expect("the command starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let comparison: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        for row in comparison["rows"].as_array().expect("rows") {
            assert!(row["goodput_bps"]["mean"].as_f64() > Some(10_000.0), "{}: {row}", path.display());
        }
        count += 1;
    }
    assert!(count >= 6, "{count} traces");
}
