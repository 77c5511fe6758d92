//! The simulator beside real hosts: one file, run by `lasthop compare` and by `lasthop try`.

use std::process::{Command, ExitCode};

use lasthop_needs::{namespaces, quiet, tests};

use serde_json::Value;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces, quiet]:
            real_reno_and_simulated_reno_agree_and_so_does_the_ranking_of_schemes;
    })
}

const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/try-reno.toml");

fn lasthop(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop")).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn goodput(simulated: &Value, scheme: &str) -> f64 {
    let rows = simulated["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["scheme"] == scheme).expect("a row");
    row["goodput_bps"]["mean"].as_f64().expect("a number")
}

/// The mean over the runs, as the simulator has it.
fn real_goodput(tried: &Value, scheme: &str) -> f64 {
    let runs = tried["runs"].as_array().expect("runs").iter().filter(|run| run["scheme"] == scheme);
    let goodputs: Vec<f64> = runs.map(|run| run["goodput_bps"].as_f64().expect("a number")).collect();
    assert!(!goodputs.is_empty());
    goodputs.iter().sum::<f64>() / goodputs.len() as f64
}

fn real_reno_and_simulated_reno_agree_and_so_does_the_ranking_of_schemes() {
    let simulated = lasthop(&["compare", SCENARIO, "--json"]);
    let tried = lasthop(&["try", SCENARIO, "--json", "--jobs", "6"]);
    for run in tried["runs"].as_array().expect("runs") {
        assert_eq!(run["intact"], true, "{run}");
    }
    let (real, model) = (real_goodput(&tried, "none"), goodput(&simulated, "none"));
    assert!((real / model - 1.0).abs() < 0.15, "none: real hosts {real:.0} bit/s, simulator {model:.0}");
    assert!(goodput(&simulated, "snoop") > 2.0 * model, "simulated: {simulated}");
    assert!(real_goodput(&tried, "snoop") > 2.0 * real, "real hosts: {real:.0} and {tried}");
}
