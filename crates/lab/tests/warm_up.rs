//! `warm-up`: a run's figures are those of the complete run, less those of a run that ends with the
//! warm-up.

use std::path::Path;

use lasthop_lab::progress::Silent;
use lasthop_lab::run::{RunError, RunSummary, run};
use lasthop_scenario::{Overrides, file};
use serde_json::Value;

fn summary(name: &str, settings: &[&str]) -> Result<RunSummary, RunError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    let scenario = file::read(&path, &Overrides { trace: None, settings }).expect("a scenario");
    run(&scenario, &scenario.schemes[scenario.baseline], 1, &Silent)
}

/// The numbers of a JSON document whose keys are among `keys`, each with its place.
fn numbers(value: &Value, place: &str, keys: &[&str], found: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let place = format!("{place}.{key}");
                match value.as_f64() {
                    Some(number) if keys.contains(&key.as_str()) => found.push((place, number)),
                    _ => numbers(value, &place, keys, found),
                }
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                numbers(value, &format!("{place}.{index}"), keys, found);
            }
        }
        _ => {}
    }
}

#[test]
fn counts_and_sums_are_those_of_the_whole_run_less_those_of_the_warm_up() {
    // The counts and sums of flows, sessions and stations.
    let sums = [
        "bytes",
        "retransmits",
        "timeouts",
        "fast_retransmits",
        "duplicate_acks",
        "sent",
        "received",
        "duplicated",
        "out_of_order",
        "frames",
        "transmissions",
        "air_time_s",
        "awake_s",
        "completed",
        "offered_bytes",
        "connections",
        "events",
        "frames_sent",
        "packets_originated",
    ];
    for name in ["cafe.toml", "access-point.toml", "power-save-web.toml", "cross-traffic.toml"] {
        let of = |settings: &[&str]| {
            let summary = summary(name, settings).expect("it runs");
            let mut found = Vec::new();
            numbers(&serde_json::to_value(&summary).expect("JSON"), name, &sums, &mut found);
            found
        };
        let endless = "stop-when-done=false";
        let [warm_up, whole, rest] = [
            of(&["duration=7 s", endless]),
            of(&["duration=20 s", endless]),
            of(&["duration=20 s", "warm-up=7 s", endless]),
        ];
        assert!(whole.len() > 20, "{name} has few figures: {whole:?}");
        assert!(rest.iter().zip(&whole).any(|(rest, whole)| rest < whole), "{name}: nothing is left out");
        for (place, rest) in &rest {
            let find = |all: &[(String, f64)]| all.iter().find(|(known, _)| known == place).map(|(_, n)| *n);
            let difference = find(&whole).expect("the same figures") - find(&warm_up).unwrap_or(0.0);
            assert!((rest - difference).abs() < 1e-6, "{place}: {rest}, and not {difference}");
        }
    }
}

#[test]
fn goodput_and_the_mean_round_trip_time_are_of_the_time_after_it() {
    let [first, whole, rest] = [&["duration=7 s"][..], &["duration=20 s"], &["duration=20 s", "warm-up=7 s"]]
        .map(|settings| summary("cafe.toml", settings).expect("it runs"));
    for ((first, whole), rest) in first.flows.iter().zip(&whole.flows).zip(&rest.flows) {
        let bits = (whole.bytes - first.bytes) as f64 * 8.0;
        assert!((rest.goodput_bps / (bits / 13.0) - 1.0).abs() < 1e-9, "{}: {}", rest.name, rest.goodput_bps);
        let [first, whole, rest] = [first, whole, rest].map(|flow| flow.rtt_mean_s.expect("measured"));
        assert!(
            (first.min(rest)..=first.max(rest)).contains(&whole),
            "the mean {whole} is between those of the two parts, {first} and {rest}"
        );
    }
}

#[test]
fn a_run_that_is_over_before_its_warm_up_is_an_error() {
    let error = summary("first-look.toml", &["warm-up=500 s"]).expect_err("10 MB take 80 s");
    assert!(matches!(error, RunError::NothingMeasured { .. }), "{error}");
    let goes_on = ["warm-up=500 s", "stop-when-done=false"];
    let error = summary("first-look.toml", &goes_on).expect_err("10 MB take 80 s").to_string();
    let run = "in the run with scheme \"none\" and seed 1, ";
    assert!(error.starts_with(&format!("{run}flow \"download\" was done before")), "{error}");
}
