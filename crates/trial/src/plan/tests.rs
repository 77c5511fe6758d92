use std::path::Path;
use std::time::Duration;

use lasthop_scenario::{Overrides, Scenario, file};

use super::{Case, cases, check, check_without_root, missing_control, notes};

const TOGETHER: &str = r#"
duration = "10 s"
seeds = 2
schemes = ["none", { scheme = "none", label = "vegas", tcp = { congestion = "vegas" } }]
nodes.server.kind = "host"
nodes.gateway.kind = "router"
nodes.client.kind = "host"
links.wire = { between = ["server", "gateway"], rate = "100 Mbit/s", delay = "10 ms" }
links.air = { kind = "wireless", between = ["gateway", "client"], rate = "10 Mbit/s", delay = "1 ms" }
flows.first = { from = "server", to = "client", start = "1 s", tcp = { congestion = "cubic" } }
flows.second = { from = "server", to = "client", start = "3 s" }
tcp = { congestion = "reno-abc" }
try = { flows = "together", duration = "10 s", settle = "2 s" }
"#;

fn scenario(congestion: &[&str]) -> Scenario {
    let mut scenario =
        file::parse(TOGETHER, "plan.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    scenario.trial.congestion = congestion.iter().map(ToString::to_string).collect();
    scenario
}

/// The congestion control of each flow in the first run of a scheme.
fn controls(scenario: &Scenario, scheme: &str) -> Vec<String> {
    let case = cases(scenario).into_iter().find(|case| case.scheme == scheme).expect("there is one");
    case.flows.into_iter().map(|flow| flow.congestion).collect()
}

#[test]
fn flows_together_are_one_run_for_each_scheme_and_seed() {
    let scenario = scenario(&[]);
    let cases = cases(&scenario);
    assert_eq!(cases.len(), 4);
    assert!(cases.iter().all(|case| case.flows.len() == 2));
    let times = cases[0].times(&scenario);
    let seconds = [times.first, times.settled, times.end].map(|time: Duration| time.as_secs());
    assert_eq!(seconds, [1, 5, 13], "from the first start; settled and over counted from the last");
}

#[test]
fn flows_one_by_one_are_a_run_for_each_control_as_well() {
    let mut scenario = scenario(&["cubic", "reno", "bbr"]);
    scenario.trial.together = false;
    let cases = cases(&scenario);
    assert_eq!(cases.len(), 2 * (3 + 1) * 2, "the row with a control of its own is one more");
    assert!(cases.iter().all(|case| case.flows.len() == 1));
    assert_eq!(cases.last().expect("some").times(&scenario).end.as_secs(), 13);
}

#[test]
fn flows_together_have_their_own_controls_or_those_that_are_given() {
    assert_eq!(controls(&scenario(&[]), "none"), ["cubic", "reno"]);
    assert_eq!(controls(&scenario(&[]), "vegas"), ["vegas", "vegas"], "a row's TCP is over the flows'");
    assert_eq!(controls(&scenario(&["bbr"]), "none"), ["bbr", "bbr"]);
    assert_eq!(controls(&scenario(&["bbr", "cubic"]), "none"), ["bbr", "cubic"]);
}

#[test]
fn a_row_with_a_control_of_its_own_keeps_it() {
    for congestion in [&["bbr"][..], &["bbr", "cubic"]] {
        let mut scenario = with_sessions(TOGETHER, congestion);
        for together in [true, false] {
            scenario.trial.together = together;
            let cases = cases(&scenario);
            let of_row = cases.iter().filter(|case| case.scheme == "vegas");
            assert!(of_row.flat_map(Case::congestion).all(|name| name == "vegas"), "{cases:?}");
        }
    }
    let scenario = scenario(&["bbr"]);
    let missing = missing_control(&scenario, |name| name != "vegas");
    assert_eq!(missing, Some(("vegas".to_owned(), Some("vegas".to_owned()))));
    assert_eq!(missing_control(&scenario, |name| name != "bbr"), Some(("bbr".to_owned(), None)));
}

#[test]
fn settings_of_a_row_that_do_not_apply_to_real_hosts_have_a_note() {
    assert_eq!(notes(&scenario(&[])), [""; 0]);
    let text = TOGETHER.replacen(r#"tcp = { congestion = "vegas" }"#, r#"tcp = { window = "8 KiB" }"#, 1);
    let parsed = file::parse(&text, "plan.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    let notes = notes(&parsed);
    assert!(
        notes.len() == 1 && notes[0].contains("\"vegas\"") && notes[0].contains("tcp.window"),
        "{notes:?}"
    );
}

#[test]
fn a_wrong_number_of_congestion_controls_is_refused() {
    assert!(check(&scenario(&["bbr", "cubic"])).is_ok());
    let refused = check(&scenario(&["bbr", "cubic", "reno"])).expect_err("three for two").to_string();
    assert!(refused.contains("3 congestion controls for 2 flows"), "{refused}");
}

#[test]
fn a_change_after_the_last_run_is_refused() {
    let check_at = |at: &str| {
        let longer = TOGETHER.replacen("10 s", "60 s", 1);
        let text = format!("{longer}\n[[changes]]\nat = {at:?}\nset = {{ \"links.air.loss\" = \"1%\" }}\n");
        let parsed = file::parse(&text, "plan.toml", Path::new(""), &Overrides::default());
        check(&parsed.expect("a scenario")).map_err(|problem| problem.to_string())
    };
    assert_eq!(check_at("12 s"), Ok(()));
    let refused = check_at("13 s").expect_err("it comes too late");
    assert!(refused.contains("a change at 13 s: every run ends at 13 s"), "{refused}");
}

#[test]
fn a_scheme_that_the_gateway_cannot_run_is_refused_before_the_first_run() {
    let text = TOGETHER.replacen(r#""none", {"#, r#""none", "dda", {"#, 1);
    let parsed = file::parse(&text, "plan.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    let refused = check(&parsed).expect_err("its part is at the mobile host").to_string();
    assert!(refused.contains("\"dda\"") && refused.contains("--schemes"), "{refused}");
}

const SESSIONS: &str = r#"
sessions.call = { kind = "voice", between = ["client", "server"], start = "4 s" }
sessions.pages = { kind = "web", client = "client", server = "server", tcp = { congestion = "westwood" } }
"#;

fn with_sessions(text: &str, congestion: &[&str]) -> Scenario {
    let text = format!("{text}{SESSIONS}");
    let mut scenario =
        file::parse(&text, "plan.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    scenario.trial.congestion = congestion.iter().map(ToString::to_string).collect();
    scenario
}

fn controls_of_sessions(scenario: &Scenario) -> Vec<Vec<Option<String>>> {
    let cases = cases(scenario).into_iter().filter(|case| case.scheme == "none" && case.seed == 1);
    cases.map(|case| case.sessions.into_iter().map(|session| session.congestion).collect()).collect()
}

#[test]
fn sessions_are_in_every_run_and_count_for_the_last_start() {
    let scenario = with_sessions(TOGETHER, &[]);
    assert!(check(&scenario).is_ok());
    let cases = cases(&scenario);
    assert_eq!(cases.len(), 4);
    assert!(cases.iter().all(|case| case.sessions.len() == 2 && case.flows.len() == 2));
    let times = cases[0].times(&scenario);
    let seconds = [times.first, times.settled, times.end].map(|time: Duration| time.as_secs());
    assert_eq!(seconds, [0, 6, 14], "pages start first, the call last");
}

#[test]
fn sessions_use_the_congestion_control_of_the_run_or_else_their_own() {
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(controls_of_sessions(&with_sessions(TOGETHER, &[])), [[None, named("westwood")]]);
    assert_eq!(controls_of_sessions(&with_sessions(TOGETHER, &["cubic"])), [[None, named("cubic")]]);
    assert_eq!(
        controls_of_sessions(&with_sessions(TOGETHER, &["cubic", "reno"])),
        [[None, named("westwood")]]
    );
    let mut one_by_one = with_sessions(TOGETHER, &["cubic", "reno"]);
    one_by_one.trial.together = false;
    let of_flow = [[None, named("cubic")], [None, named("reno")]];
    assert_eq!(controls_of_sessions(&one_by_one), [of_flow.clone(), of_flow].concat(), "beside each flow");
}

#[test]
fn without_flows_sessions_run_alone() {
    let mut scenario = with_sessions(TOGETHER, &["cubic", "reno"]);
    scenario.keep_flows(|_, _| false);
    for (together, runs) in [(true, 4), (false, 6)] {
        scenario.trial.together = together;
        scenario.trial.congestion.truncate(if together { 1 } else { 2 });
        let cases = cases(&scenario);
        assert_eq!(cases.len(), runs);
        assert!(cases.iter().all(|case| case.flows.is_empty() && case.sessions.len() == 2));
        scenario.trial.congestion = vec!["cubic".to_owned(), "reno".to_owned()];
    }
}

#[test]
fn too_many_sessions_are_refused() {
    let many = (0..33).map(|number| {
        format!("sessions.call-{number} = {{ kind = \"voice\", between = [\"client\", \"server\"] }}")
    });
    let many = many.collect::<Vec<_>>().join("\n");
    let text = format!("{TOGETHER}{many}");
    let parsed = file::parse(&text, "plan.toml", Path::new(""), &Overrides::default()).expect("a scenario");
    let refused = check(&parsed).expect_err("one too many").to_string();
    assert!(refused.contains("33 sessions") && refused.contains("try.simulated"), "{refused}");
}

#[test]
fn gateways_between_which_clients_roam_need_root_and_others_do_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/try-roaming.toml");
    let mut roaming = file::read(&path, &Overrides::default()).expect("a scenario");
    let refused = check_without_root(&roaming).expect_err("it has gateways").to_string();
    assert!(refused.contains("\"snoop\"") && refused.contains("sudo"), "{refused}");
    roaming.schemes.retain(|scheme| scheme.label == "none");
    assert!(check_without_root(&roaming).is_ok());
    assert!(check_without_root(&scenario(&[])).is_ok());
}
