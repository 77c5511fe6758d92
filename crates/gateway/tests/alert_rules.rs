//! Tests of the alert rules with Prometheus's own tool.

use std::fs;
use std::process::{Command, ExitCode};

use lasthop_needs::tests;
use serde_json::{Value, json};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [promtool]: prometheus_accepts_the_rules;
        [promtool]: prometheus_parses_the_expressions_of_the_dashboard;
        [promtool]: alerts_fire_on_faults_and_not_before;
    })
}

/// `promtool` of Prometheus.
fn promtool() -> Result<(), String> {
    lasthop_needs::program("promtool")
}

fn run(arguments: &[&str]) {
    try_run(arguments).unwrap_or_else(|output| panic!("{output}"));
}

fn try_run(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("promtool")
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/alert_rules"))
        .output()
        .expect("it is installed");
    let text = [output.stdout, output.stderr].concat();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&text).into_owned()) }
}

fn prometheus_accepts_the_rules() {
    run(&["check", "rules", "../../../../packaging/prometheus/lasthop.rules.yml"]);
}

/// Checks the expressions as rules, with values in place of Grafana's variables.
fn prometheus_parses_the_expressions_of_the_dashboard() {
    let dashboard: Value =
        serde_json::from_str(include_str!("../../../packaging/grafana/lasthop-gateway.json")).expect("JSON");
    let mut expressions = Vec::new();
    find_expressions(&dashboard["panels"], &mut expressions);
    assert!(expressions.len() > 20, "{expressions:?}");
    let with_values = |expression: &String| {
        let expression = expression.replace("$__rate_interval", "1m");
        let rule = json!({ "record": "a:query", "labels": {}, "expr": expression });
        assert!(!expression.contains("$__"), "a variable of Grafana without a value: {expression}");
        rule
    };
    let rules: Vec<Value> = expressions.iter().map(with_values).collect();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let check = |rules: &[Value]| {
        let file = folder.path().join("queries.json");
        // JSON is valid YAML.
        let groups = json!({ "groups": [{ "name": "queries", "rules": rules }] });
        fs::write(&file, groups.to_string()).expect("a file");
        // `--lint none` allows the same record for all rules.
        try_run(&["check", "rules", "--lint", "none", &file.to_string_lossy()])
    };
    check(&rules).expect("each is an expression");
    let wrong = json!({ "record": "a:query", "expr": "sum by (instance) rate(lasthop_up_seconds[1m]" });
    assert!(check(&[rules, vec![wrong]].concat()).is_err());
}

fn find_expressions(value: &Value, expressions: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            expressions.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| find_expressions(field, expressions));
        }
        Value::Array(items) => items.iter().for_each(|item| find_expressions(item, expressions)),
        _ => {}
    }
}

fn alerts_fire_on_faults_and_not_before() {
    run(&["test", "rules", "tests.yml"]);
}
