//! Every file in `scenarios/` can be read, and built under every scheme that it names. The JSON
//! schemas there match the code.

use std::fs;
use std::path::{Path, PathBuf};

use lasthop_packet::Instant;
use lasthop_scenario::file::{scenario_schema, sweep_schema};
use lasthop_scenario::{Link, Overrides, Scenario, Sweep, file};
use lasthop_schemes::catalog::CATALOG;
use lasthop_sim::LinkLayer;

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Every TOML file below a folder, sorted.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            files.extend(toml_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A trace of about 6 Mbit/s, for the scenarios that need one.
fn with_a_trace() -> Overrides {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("two-a-tick.trace");
    let times: Vec<String> = (1..=100).flat_map(|tick| [tick * 4; 2]).map(|ms| ms.to_string()).collect();
    fs::write(&path, times.join("\n")).expect("a writable folder for tests");
    Overrides { trace: Some(path), ..Overrides::default() }
}

fn read(path: &Path) -> Scenario {
    let wants_a_trace = fs::read_to_string(path).expect("a readable file").contains("--trace");
    let overrides = if wants_a_trace { with_a_trace() } else { Overrides::default() };
    file::read(path, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a few simulated seconds under every scheme, and checks that every packet is accounted for.
/// A link file has no flows and sessions.
fn try_out(scenario: &Scenario) {
    scenario.check_all().unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    for scheme in &scenario.schemes {
        let built = scenario.build(scheme, 1).map(drop);
        assert_eq!(scenario.check(scheme, 1), built, "{}: {scheme:?}", scenario.name);
        let (blind, what) = (blind(scenario), &scenario.name);
        assert_eq!(blind.check(scheme, 1), blind.build(scheme, 1).map(drop), "{what} blind: {scheme:?}");
    }
    if scenario.flows.is_empty() && scenario.sessions.is_empty() {
        return;
    }
    for scheme in &scenario.schemes {
        let mut built = scenario.build(scheme, 1).expect("it has been checked");
        built.world.run(Instant::from_secs(4), true);
        let octets: u64 = built.flows.iter().map(|flow| built.world.outcome(*flow).octets).sum();
        let of_sessions = built.sessions.iter().map(|session| built.world.session_outcome(*session).octets);
        let octets = octets + of_sessions.sum::<u64>();
        assert!(octets > 0, "{}: {scheme:?} moves nothing in four seconds", scenario.name);
    }
}

/// The same scenario with link layers that do not report fates of frames.
fn blind(scenario: &Scenario) -> Scenario {
    let mut blind = scenario.clone();
    for link in &mut blind.links {
        if let Link::Wireless { config, .. } = &mut link.link {
            config.link_layer = LinkLayer::UNRELIABLE;
        }
    }
    blind
}

#[test]
fn every_scenario_runs_under_every_scheme_that_it_names() {
    let (sweeps, scenarios): (Vec<_>, Vec<_>) =
        toml_files(&scenarios()).into_iter().partition(|path| path.to_string_lossy().contains(".sweep."));
    assert!(scenarios.len() >= 8, "{scenarios:?}");
    for path in scenarios {
        try_out(&read(&path));
    }
    assert!(!sweeps.is_empty());
    for path in sweeps {
        let sweep = Sweep::read(&path, &Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
        for point in sweep.points() {
            try_out(&point.unwrap_or_else(|error| panic!("{error}")));
        }
    }
}

#[test]
fn every_scenario_names_its_schema_for_editors() {
    for path in toml_files(&scenarios()) {
        let text = fs::read_to_string(&path).expect("a readable file");
        let schema = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
        let schema = schema.unwrap_or_else(|| panic!("{} does not begin with #:schema", path.display()));
        let folder = path.parent().expect("a file is in a folder");
        let is_sweep = path.to_string_lossy().contains(".sweep.");
        let kind = if is_sweep { "sweep.schema.json" } else { "scenario.schema.json" };
        assert!(schema.ends_with(kind), "{}: {schema}", path.display());
        assert!(folder.join(schema).exists(), "{}: there is no {schema}", path.display());
    }
}

#[test]
fn the_schemas_in_the_repository_match_the_code() {
    for (name, schema) in [("scenario", scenario_schema()), ("sweep", sweep_schema())] {
        let path = scenarios().join(format!("{name}.schema.json"));
        let mut schema = serde_json::to_string_pretty(&schema).expect("a JSON value");
        schema.push('\n');
        if std::env::var_os("LASTHOP_WRITE_SCHEMA").is_some() {
            fs::write(&path, &schema).expect("a writable repository");
        }
        let stored = fs::read_to_string(&path).expect("it is there");
        assert!(
            stored == schema,
            "scenarios/{name}.schema.json is stale: LASTHOP_WRITE_SCHEMA=1 cargo test -p lasthop-scenario --test files"
        );
    }
}

#[test]
fn every_reference_in_the_schema_is_defined() {
    for schema in [scenario_schema(), sweep_schema()] {
        let text = schema.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().expect("split yields at least one piece");
            assert!(schema.pointer(pointer).is_some(), "{pointer}");
        }
    }
}

/// A scheme's settings have their own definitions, which only their names distinguish from those of
/// the format.
#[test]
fn definitions_of_schemes_and_of_the_format_have_different_names() {
    let schema = scenario_schema();
    for scheme in CATALOG {
        let own = scheme.schema().to_value();
        for (name, definition) in own["$defs"].as_object().into_iter().flatten() {
            assert_eq!(schema["$defs"][name], *definition, "{}: {name}", scheme.name);
        }
    }
    let preset = &schema["$defs"]["TcpTable"]["properties"]["preset"].to_string();
    let name = preset.split("#/$defs/").nth(1).and_then(|rest| rest.split('"').next()).expect("a reference");
    assert!(schema["$defs"][name].to_string().contains("\"linux\""), "{name}: {}", schema["$defs"][name]);
}
