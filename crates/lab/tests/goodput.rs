//! The goodput of several flows together, and the results of flows that never complete.

use std::fs;

use lasthop_lab::compare::{Comparison, compare};
use lasthop_lab::progress::Silent;
use lasthop_lab::run::{RunSummary, run};
use lasthop_lab::table;
use lasthop_scenario::{Overrides, Scenario, file};

const HOP: &str = r#"
duration = "10 s"
schemes = ["none"]

[nodes.server]
kind = "host"

[nodes.client]
kind = "host"

[links.air]
kind = "wireless"
between = ["server", "client"]
rate = "10 Mbit/s"
delay = "25 ms"
"#;

fn scenario(flows: &str) -> Scenario {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("hop.toml");
    fs::write(&path, format!("{HOP}{flows}")).expect("writable");
    file::read(&path, &Overrides::default()).expect("a scenario")
}

fn flow(name: &str, more: &str) -> String {
    format!("[flows.{name}]\nfrom = \"server\"\nto = \"client\"\n{more}\n")
}

fn summary(flows: &str) -> RunSummary {
    let scenario = scenario(flows);
    run(&scenario, &scenario.schemes[0], 1, &Silent).expect("it runs")
}

fn comparison(flows: &str, seeds: u64) -> Comparison {
    let mut scenario = scenario(flows);
    scenario.seeds = (1..=seeds).collect();
    compare(&scenario, &Silent).expect("it runs")
}

fn octets(run: &RunSummary) -> f64 {
    run.flows.iter().map(|flow| flow.bytes as f64).sum()
}

#[test]
fn the_goodput_of_flows_of_different_durations_does_not_exceed_the_link() {
    let run = summary(&[flow("long", ""), flow("late", "start = \"8 s\"")].concat());
    let together = run.aggregate.goodput_bps;
    assert!((together - octets(&run) * 8.0 / 10.0).abs() < 1.0, "{together}");
    let sum: f64 = run.flows.iter().map(|flow| flow.goodput_bps).sum();
    assert!(together < 10e6 && sum > 10e6, "{together} {sum}");
}

#[test]
fn the_goodput_of_flows_with_a_size_is_over_the_time_from_first_start_to_last_end() {
    let run =
        summary(&[flow("one", "size = \"1 MB\""), flow("two", "size = \"1 MB\"\nstart = \"2 s\"")].concat());
    let last = 2.0 + run.flows[1].completion_s.expect("it completes");
    assert!((run.aggregate.goodput_bps - 2e6 * 8.0 / last).abs() < 1.0, "{:?}", run.aggregate);
    assert!((run.aggregate.completion_s.expect("both complete") - last).abs() < 1e-9);
}

#[test]
fn a_flow_whose_sender_gave_up_is_reported_and_not_waited_for() {
    let dead =
        "[[changes]]\nat = \"1 s\"\nset = { \"links.air.loss\" = \"100%\" }\n[tcp]\nmax-timeouts = 2\n";
    let run = summary(&format!("{}{dead}", flow("download", "size = \"9 MB\"")));
    let gave_up = run.flows[0].gave_up_s.expect("nothing answers any more");
    assert!(run.flows[0].completion_s.is_none() && gave_up > 1.0, "{run:?}");
    assert!(run.duration_s < 10.0 && (run.duration_s - gave_up).abs() < 1e-9, "{} {gave_up}", run.duration_s);
}

#[test]
fn a_flow_that_is_reset_has_not_given_up_and_the_table_says_so() {
    let reset = "[[changes]]\nat = \"1 s\"\nset = { \"links.air.connections\" = \"reset\" }\n";
    let run = summary(&format!("{}{reset}", flow("download", "size = \"9 MB\"")));
    let download = &run.flows[0];
    assert!(download.gave_up_s.is_none() && download.completion_s.is_none(), "{download:?}");
    assert!(download.reset_s.is_some_and(|at| (1.0..1.2).contains(&at)), "{download:?}");
    let table = table::summary(&run);
    assert!(table.contains("reset at 1.") && !table.contains("gave up"), "{table}");
}

#[test]
fn a_flow_that_is_merely_slow_has_not_given_up() {
    let run = summary(&flow("download", "size = \"90 MB\""));
    assert!(run.flows[0].gave_up_s.is_none() && run.flows[0].completion_s.is_none());
    assert!((run.duration_s - 10.0).abs() < 1e-9);
    assert!(summary(&flow("download", "size = \"1 MB\"")).flows[0].gave_up_s.is_none());
}

#[test]
fn without_delivered_data_there_is_no_fairness_index() {
    let lossy = "[[changes]]\nat = \"0 s\"\nset = { \"links.air.loss\" = \"100%\" }\n";
    let flows = [flow("one", ""), flow("two", "")].concat() + lossy;
    assert_eq!(summary(&flows).aggregate.jain_fairness, None);
    assert_eq!(comparison(&flows, 2).rows[0].jain_fairness, None);
}

#[test]
fn runs_that_the_seed_does_not_change_are_recognized() {
    assert!(!comparison(&flow("download", ""), 2).runs_differ);
    let lossy = "[[changes]]\nat = \"1 s\"\nset = { \"links.air.loss\" = \"1%\" }\n";
    assert!(comparison(&(flow("download", "") + lossy), 2).runs_differ);
}

#[test]
fn completions_are_counted_where_a_flow_can_complete() {
    let completed = |flows: &str| comparison(flows, 2).rows[0].completed;
    assert_eq!(completed(&flow("download", "")), None);
    assert_eq!(completed(&flow("download", "size = \"90 MB\"")), Some(0));
    assert_eq!(completed(&flow("download", "size = \"1 MB\"")), Some(2));
}
