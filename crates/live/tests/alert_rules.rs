//! The alert rules for Prometheus, read by Prometheus's own tool.

use std::process::{Command, ExitCode};

use lasthop_needs::tests;

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [promtool]: prometheus_takes_the_rules;
        [promtool]: alerts_fire_when_something_is_wrong_and_not_before;
    })
}

/// `promtool` of Prometheus.
fn promtool() -> Result<(), String> {
    lasthop_needs::program("promtool")
}

fn run(arguments: &[&str]) {
    let output = Command::new("promtool")
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/alert_rules"))
        .output()
        .expect("it is installed");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

fn prometheus_takes_the_rules() {
    run(&["check", "rules", "../../../../packaging/prometheus/lasthop.rules.yml"]);
}

fn alerts_fire_when_something_is_wrong_and_not_before() {
    run(&["test", "rules", "tests.yml"]);
}
