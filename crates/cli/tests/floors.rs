//! The floors of ARCHITECTURE.md: a crate uses only crates on floors below its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate with its floor. tcp is above agent, because it uses the agent crate's `Deadline`.
const FLOORS: [(&str, u32); 29] = [
    ("lasthop-needs", 0),
    ("lasthop-packet", 0),
    ("lasthop-config", 1),
    ("lasthop-agent", 1),
    ("lasthop-link", 1),
    ("lasthop-tcp", 2),
    ("lasthop-linux", 2),
    ("lasthop-peering", 2),
    ("lasthop-kernels", 3),
    ("lasthop-registry", 3),
    ("lasthop-etcd", 4),
    ("lasthop-aodv", 2),
    ("lasthop-ess", 2),
    ("lasthop-handoff", 2),
    ("lasthop-nat", 2),
    ("lasthop-hop", 3),
    ("lasthop-packetdrill", 3),
    ("lasthop-apps", 3),
    ("lasthop-wifi", 3),
    ("lasthop-uml", 3),
    ("lasthop-schemes", 4),
    ("lasthop-sim", 4),
    ("lasthop-gateway", 5),
    ("lasthop-scenario", 5),
    ("lasthop-thesis", 6),
    ("lasthop-lab", 7),
    ("lasthop-emulator", 6),
    ("lasthop-trial", 7),
    ("lasthop-cli", 8),
];

/// The crates that may read clocks, files and the environment, and start threads.
const IMPURE: [&str; 12] = [
    "lasthop-needs",
    "lasthop-linux",
    "lasthop-uml",
    "lasthop-kernels",
    "lasthop-peering",
    "lasthop-registry",
    "lasthop-etcd",
    "lasthop-gateway",
    "lasthop-lab",
    "lasthop-emulator",
    "lasthop-trial",
    "lasthop-cli",
];

/// External crates that no other crate may use: they read clocks, files or the environment, or start
/// threads.
const NOT_IN_PURE_CRATES: [&str; 9] =
    ["rayon", "indicatif", "clap", "anyhow", "tracing", "rand", "rustix", "libc", "tempfile"];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn dependencies() -> BTreeMap<String, Vec<String>> {
    packages()
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
            let names = normal.filter_map(|dependency| dependency["name"].as_str()).map(str::to_owned);
            (package["name"].as_str().expect("a name").to_owned(), names.collect())
        })
        .collect()
}

#[test]
fn a_crate_uses_only_crates_on_floors_below_its_own() {
    let floors: BTreeMap<&str, u32> = FLOORS.iter().map(|(name, floor)| (*name, *floor)).collect();
    let dependencies = dependencies();
    for (name, used) in &dependencies {
        let floor = floors
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} has no floor: give it one here and in ARCHITECTURE.md"));
        for used in used.iter().filter(|used| used.starts_with("lasthop-")) {
            assert!(
                floors[used.as_str()] < *floor,
                "{name} (floor {floor}) uses {used} (floor {})",
                floors[used.as_str()]
            );
        }
    }
    assert_eq!(dependencies.len(), FLOORS.len());
}

#[test]
fn the_simulator_knows_no_scheme_and_the_schemes_no_simulator() {
    let dependencies = dependencies();
    assert!(!dependencies["lasthop-sim"].contains(&"lasthop-schemes".to_owned()));
    assert!(!dependencies["lasthop-schemes"].contains(&"lasthop-sim".to_owned()));
}

#[test]
fn the_gateway_knows_neither_simulator_nor_scenarios() {
    let gateway = &dependencies()["lasthop-gateway"];
    for unknown in ["lasthop-sim", "lasthop-scenario"] {
        assert!(!gateway.iter().any(|used| used == unknown), "lasthop-gateway uses {unknown}");
    }
}

#[test]
fn pure_crates_use_nothing_that_reads_clocks_or_starts_threads() {
    for (name, used) in dependencies() {
        if IMPURE.contains(&name.as_str()) {
            continue;
        }
        for forbidden in NOT_IN_PURE_CRATES {
            assert!(!used.iter().any(|used| used == forbidden), "{name} uses {forbidden}");
        }
    }
}

/// So that it runs where there is no kernel, as in a browser.
#[test]
fn a_scenario_and_its_world_need_no_impure_crate() {
    let dependencies = dependencies();
    let mut needed = vec!["lasthop-scenario".to_owned()];
    let mut at = 0;
    while let Some(name) = needed.get(at).cloned() {
        assert!(!IMPURE.contains(&name.as_str()), "lasthop-scenario needs {name}");
        for used in dependencies[&name].iter().filter(|used| used.starts_with("lasthop-")) {
            if !needed.contains(used) {
                needed.push(used.clone());
            }
        }
        at += 1;
    }
}

/// What is marked as a test is compiled away in a program that lists its tests
/// (`lasthop_needs::tests!`), and in its modules.
#[test]
fn in_programs_that_list_their_tests_none_is_only_marked_as_one() {
    let mut programs = 0;
    for package in packages() {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        if !dependencies.iter().any(|dependency| dependency["name"] == "lasthop-needs") {
            continue;
        }
        let folder = Path::new(package["manifest_path"].as_str().expect("a path")).with_file_name("tests");
        for file in files_below(&folder) {
            let text = fs::read_to_string(&file).expect("UTF-8");
            let lists = text.lines().any(|line| line.trim().starts_with("lasthop_needs::run("));
            programs += usize::from(lists);
            let is_marked = text.lines().any(|line| line.trim() == "#[test]");
            let is_module = file.parent() != Some(&*folder);
            assert!(!is_marked || !(lists || is_module), "{}: list its tests", file.display());
        }
    }
    assert!(programs > 10, "{programs} programs");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
