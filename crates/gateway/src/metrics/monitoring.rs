//! Tests that the dashboard and the alert rules use only metrics and labels of the page.

use std::collections::{BTreeMap, BTreeSet};

use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::Value;

use super::page;
use super::tests::{read, report_of_everything};
use crate::config::Backend;

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/lasthop-gateway.json");
const RULES: &str = include_str!("../../../../packaging/prometheus/lasthop.rules.yml");

/// Labels that Prometheus adds to every sample.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

/// The labels of each metric of the page.
fn exported() -> BTreeMap<String, BTreeSet<String>> {
    let mut exported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in
        read(&page(Backend::TcBpf, Backend::Auto, &report_of_everything(), None)).samples.into_keys()
    {
        let labels = tokens(&sample).into_iter().skip(1).filter_map(|token| match token {
            Token::Label(label) => Some(label),
            Token::Metric(_) => None,
        });
        let name = sample.split('{').next().expect("a name").to_owned();
        exported.entry(name).or_default().extend(labels);
    }
    exported
}

/// The tokens of Prometheus's language that identify the series of an expression.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Metric(String),
    /// In braces, or in the parentheses after `by` and similar keywords.
    Label(String),
}

fn tokens(expression: &str) -> Vec<Token> {
    const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
    let mut tokens = Vec::new();
    let mut rest = expression;
    let (mut in_braces, mut in_list, mut last) = (false, false, "");
    while let Some(first) = rest.chars().next() {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if first == '"' {
            let end = rest[1..].find('"').unwrap_or_else(|| panic!("{expression}: a text that does not end"));
            rest = &rest[end + 2..];
            continue;
        }
        if !is_name(first) {
            in_braces = (in_braces && first != '}') || first == '{';
            in_list = (in_list && first != ')') || (first == '(' && LISTS.contains(&last));
            if !first.is_whitespace() {
                last = "";
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (name, after) = rest.split_at(rest.find(|letter| !is_name(letter)).unwrap_or(rest.len()));
        if in_braces || in_list {
            tokens.push(Token::Label(name.to_owned()));
        } else if name.starts_with("lasthop_") {
            tokens.push(Token::Metric(name.to_owned()));
        }
        (last, rest) = (name, after);
    }
    tokens
}

/// The names after each `{{` (legends) or `$labels.` (annotations).
fn names_after(sign: &str, text: &str) -> Vec<String> {
    let names = text.split(sign).skip(1).map(|rest| {
        let rest = rest.trim_start();
        rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .next()
            .unwrap_or_default()
            .to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Fails if an expression uses a metric or label that is not exported; `shown` are the labels used
/// in its text.
fn check(expression: &str, shown: &[String]) {
    let exported = exported();
    let tokens = tokens(expression);
    let mut labels: BTreeSet<&str> = OF_PROMETHEUS.into();
    let mut used = Vec::new();
    for token in &tokens {
        match token {
            Token::Metric(name) => {
                let of_metric = exported.get(name);
                let of_metric =
                    of_metric.unwrap_or_else(|| panic!("{expression}: no gateway exports {name}"));
                labels.extend(of_metric.iter().map(String::as_str));
            }
            Token::Label(label) => used.push(label),
        }
    }
    for label in used.into_iter().chain(shown) {
        assert!(labels.contains(label.as_str()), "{expression}: its metrics have no label {label}");
    }
}

#[test]
fn the_expressions_of_the_dashboard_read_what_a_gateway_exports() {
    fn find<'v>(value: &'v Value, targets: &mut Vec<&'v Value>) {
        match value {
            Value::Object(fields) => {
                targets.extend(fields.contains_key("expr").then_some(value));
                fields.values().for_each(|field| find(field, targets));
            }
            Value::Array(items) => items.iter().for_each(|item| find(item, targets)),
            _ => {}
        }
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("it is JSON");
    let mut targets = Vec::new();
    find(&dashboard["panels"], &mut targets);
    assert!(targets.len() > 20, "{}", targets.len());
    for target in targets {
        let text = |key: &str| target[key].as_str().expect("a text");
        check(text("expr"), &names_after("{{", text("legendFormat")));
    }
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let queries = variables.iter().filter_map(|variable| variable["query"]["query"].as_str());
    let queries: Vec<&str> = queries.collect();
    assert_eq!(queries.len(), 2);
    for query in queries {
        let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
        let (series, label) = inner.and_then(|inner| inner.rsplit_once(',')).expect("a series and a label");
        check(series, &[label.trim().to_owned()]);
    }
    let panels = dashboard["panels"].as_array().expect("panels");
    let numbers: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(numbers.len(), panels.len(), "each panel has a number of its own");
}

#[test]
fn the_alert_rules_read_what_a_gateway_exports() {
    let documents = Yaml::load_from_str(RULES).expect("it is YAML");
    let rules = documents[0]["groups"][0]["rules"].as_sequence().expect("rules");
    assert!(rules.len() > 10, "{}", rules.len());
    let mut names = BTreeSet::new();
    for rule in rules {
        let text = |value: &Yaml<'_>| value.as_str().expect("a text").to_owned();
        let annotations = ["summary", "description"].map(|key| text(&rule["annotations"][key]));
        let severity = text(&rule["labels"]["severity"]);
        assert!(["critical", "warning", "info"].contains(&&*severity), "{severity}");
        check(&text(&rule["expr"]), &names_after("$labels.", &annotations.concat()));
        assert!(names.insert(text(&rule["alert"])), "{names:?}");
    }
}

#[test]
#[should_panic(expected = "no gateway exports lasthop_mood")]
fn an_expression_with_an_unknown_metric_is_found() {
    check("sum(rate(lasthop_mood{instance=\"lasthop_up_seconds\"}[5m]))", &[]);
}

#[test]
#[should_panic(expected = "have no label color")]
fn an_expression_with_an_unknown_label_is_found() {
    check("sum by (color) (lasthop_up_seconds) / lasthop_connections", &[]);
}
