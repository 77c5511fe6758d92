//! The columns of the results: the varied keys, then the figures of a run. A line is about a flow,
//! a session, or a direction of a call or a video, and has the columns of that part of
//! `lasthop run --json`.

use lasthop_agent::counter::{CONTROL_MESSAGES, LOCAL_RETRANSMITS};
use lasthop_scenario::Sweep;
use lasthop_sim::counters::{FRAMES_GIVEN_UP, FRAMES_SENT};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::rectangle::Line;
use crate::run::RunSummary;

/// A column of the results.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The kind of its values.
    pub kind: Kind,
}

/// The kind of a column's values. A missing number is empty in CSV and null in other formats; a
/// missing text is empty in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number.
    Count,
    /// A whole number, or nothing.
    OptionalCount,
    /// A number, or nothing.
    Number,
}

use Kind::{Count, Number, OptionalCount, Text};

/// The columns after those of the varied keys: names of lines, and the figures of flows, of
/// sessions, of directions, and of the run.
pub static COLUMNS: [(&str, Kind); 70] = [
    ("scheme", Text),
    ("seed", Count),
    ("scope", Text),
    ("flow", Text),
    ("session", Text),
    ("kind", Text),
    ("transport", Text),
    ("from", Text),
    ("to", Text),
    ("client", Text),
    ("server", Text),
    ("goodput_bps", Number),
    ("bytes", OptionalCount),
    ("completion_s", Number),
    ("gave_up_s", Number),
    ("reset_s", Number),
    ("retransmits", OptionalCount),
    ("timeouts", OptionalCount),
    ("fast_retransmits", OptionalCount),
    ("duplicate_acks", OptionalCount),
    ("rtt_mean_s", Number),
    ("datagrams_sent", OptionalCount),
    ("datagrams_received", OptionalCount),
    ("datagrams_lost", OptionalCount),
    ("datagrams_in_transit", OptionalCount),
    ("datagrams_duplicated", OptionalCount),
    ("datagrams_out_of_order", OptionalCount),
    ("datagrams_delay_mean_s", Number),
    ("datagrams_delay_median_s", Number),
    ("datagrams_delay_p95_s", Number),
    ("datagrams_jitter_s", Number),
    ("transactions_completed", OptionalCount),
    ("transactions_failed", OptionalCount),
    ("transactions_under_way", OptionalCount),
    ("transactions_time_mean_s", Number),
    ("transactions_time_median_s", Number),
    ("transactions_time_p95_s", Number),
    ("transactions_offered_bytes", OptionalCount),
    ("transactions_connections", OptionalCount),
    ("transactions_retransmits", OptionalCount),
    ("transactions_timeouts", OptionalCount),
    ("transactions_fast_retransmits", OptionalCount),
    ("sent", OptionalCount),
    ("received", OptionalCount),
    ("lost", OptionalCount),
    ("late", OptionalCount),
    ("lost_percent", Number),
    ("late_percent", Number),
    ("delay_mean_s", Number),
    ("delay_variance_s2", Number),
    ("delay_p95_s", Number),
    ("jitter_s", Number),
    ("mouth_to_ear_s", Number),
    ("rating", Number),
    ("mos", Number),
    (FRAMES_SENT.name, Count),
    (FRAMES_GIVEN_UP.name, Count),
    (CONTROL_MESSAGES.name, Count),
    (LOCAL_RETRANSMITS.name, Count),
    ("jain_fairness", Number),
    ("air_time_share", Number),
    ("air_time_fairness", Number),
    ("awake_share", Number),
    ("roaming_hand_offs", OptionalCount),
    ("roaming_unserved", OptionalCount),
    ("roaming_connections", OptionalCount),
    ("roaming_radio_gap_s", Number),
    ("roaming_agent_gap_s", Number),
    ("roaming_hand_off_s", Number),
    ("roaming_state_octets", Number),
];

impl Column {
    /// The column of a varied key with this value.
    pub(super) fn new(name: &str, value: &Value) -> Self {
        let known = COLUMNS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        let kind = known.unwrap_or(if value.is_string() { Text } else { Number });
        Self { name: name.to_owned(), kind }
    }
}

/// The columns of a sweep's results.
pub fn columns(sweep: &Sweep) -> Vec<Column> {
    let varied = sweep.columns().map(|column| Column {
        name: column.name.clone(),
        kind: if column.is_number { Number } else { Text },
    });
    let of_run = COLUMNS.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind });
    varied.chain(of_run).collect()
}

/// The first line of CSV.
pub fn header(columns: &[Column]) -> Vec<u8> {
    csv([columns.iter().map(|column| column.name.as_str()).collect()].into_iter())
}

/// The lines of CSV of a run at the point with these values of the varied keys.
pub(super) fn lines(values: &[&str], run: &RunSummary) -> Vec<u8> {
    let lines: Vec<Line> = results(run).iter().map(Line::from_result).collect();
    csv(lines.iter().map(|line| {
        let of_run = COLUMNS.iter().map(|(name, _)| line.cell(name));
        values.iter().copied().chain(of_run).collect()
    }))
}

/// The names that identify a line of a run: the kind of its subject, its flow, and its session.
pub(super) type Names = [String; 3];

/// The names of a flow's line.
pub(super) fn flow_names(flow: &str) -> Names {
    ["flow", flow, ""].map(str::to_owned)
}

/// The names of a session's line and of the lines of its directions.
pub(super) fn session_names(session: &str, directions: usize) -> Vec<Names> {
    let scopes = std::iter::once("session").chain(std::iter::repeat_n("direction", directions));
    scopes.map(|scope| [scope, "", session].map(str::to_owned)).collect()
}

/// The flows, sessions and directions of a run, each with the figures of the run.
fn results(run: &RunSummary) -> Vec<Value> {
    let count = |counter| run.count(counter);
    let roaming = run.roaming.as_ref();
    let known = json!({
        "scheme": run.scheme,
        "seed": run.seed,
        FRAMES_SENT.name: count(&FRAMES_SENT),
        FRAMES_GIVEN_UP.name: count(&FRAMES_GIVEN_UP),
        CONTROL_MESSAGES.name: count(&CONTROL_MESSAGES),
        LOCAL_RETRANSMITS.name: count(&LOCAL_RETRANSMITS),
        "jain_fairness": run.aggregate.jain_fairness,
        "air_time_share": run.aggregate.air_time_share,
        "air_time_fairness": run.aggregate.air_time_fairness,
        "awake_share": run.awake_share(),
        "roaming_hand_offs": roaming.map(|roaming| roaming.hand_offs),
        "roaming_unserved": roaming.and_then(|roaming| roaming.unserved),
        "roaming_connections": roaming.map(|roaming| roaming.connections),
        "roaming_radio_gap_s": roaming.and_then(|roaming| roaming.radio_gap_s),
        "roaming_agent_gap_s": roaming.and_then(|roaming| roaming.agent_gap_s),
        "roaming_hand_off_s": roaming.and_then(|roaming| roaming.hand_off_s),
        "roaming_state_octets": roaming.and_then(|roaming| roaming.state_octets),
    });
    let result = |scope: &str, part: Value, more: Value| {
        let mut all = Map::new();
        for fields in [known.clone(), part, more, json!({ "scope": scope })] {
            all.extend(fields.as_object().cloned().unwrap_or_default());
        }
        Value::Object(all)
    };
    let mut results = Vec::new();
    for flow in &run.flows {
        results.push(result("flow", object(flow), Value::Null));
    }
    for session in &run.sessions {
        let names = json!({ "session": session.name, "kind": session.kind });
        let mut of_session = object(session);
        // Streams have lines of their own.
        of_session.as_object_mut().and_then(|fields| fields.remove("streams"));
        results.push(result("session", of_session, Value::Null));
        for stream in &session.streams {
            results.push(result("direction", object(stream), names.clone()));
        }
    }
    results
}

/// A part of a summary as JSON.
fn object(part: &impl Serialize) -> Value {
    serde_json::to_value(part).expect("its keys are texts, and numbers that are not finite become null")
}

fn csv<'a>(records: impl Iterator<Item = Vec<&'a str>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).expect("memory takes every record, and all have the same length");
    }
    writer.into_inner().expect("memory takes every record")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use lasthop_scenario::{Overrides, file};

    use super::*;
    use crate::progress::Silent;
    use crate::run::run;

    /// A scenario with each kind of line and each of their figures.
    const ALL_KINDS: &str = r#"
duration = "20 s"
schemes = ["none"]
nodes.server.kind = "host"
nodes.ap.kind = "router"
nodes.phone.kind = "host"
links.wire = { between = ["server", "ap"], rate = "10 Mbit/s", delay = "5 ms" }
links.air = { between = ["ap", "phone"], kind = "wireless", rate = "2 Mbit/s", delay = "1 ms" }
flows.tcp = { from = "server", to = "phone", size = "50 kB" }
flows.udp = { transport = "udp", from = "server", to = "phone", application = { kind = "cbr", rate = "64 kbit/s", message = "160 B" } }
sessions.call = { kind = "voice", between = ["phone", "server"] }
sessions.pages = { kind = "web", client = "phone", server = "server", load = "50 kbit/s" }
"#;

    #[test]
    fn a_run_in_which_clients_roam_has_the_figures_of_their_hand_offs() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/roaming.toml");
        let scenario = file::read(&path, &Overrides::default()).expect("a scenario");
        let cicada = scenario.schemes.iter().find(|scheme| scheme.label == "cicada").expect("it is there");
        let run = run(&scenario, cicada, 1, &Silent).expect("it runs");
        let roaming = run.roaming.expect("clients roam");
        assert!(roaming.hand_offs > 0 && roaming.radio_gap_s != roaming.agent_gap_s, "{roaming:?}");
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| json!(value).to_string());
        let expected = [
            ("roaming_hand_offs", roaming.hand_offs.to_string()),
            ("roaming_unserved", roaming.unserved.map_or_else(String::new, |count| count.to_string())),
            ("roaming_connections", roaming.connections.to_string()),
            ("roaming_radio_gap_s", text(roaming.radio_gap_s)),
            ("roaming_agent_gap_s", text(roaming.agent_gap_s)),
            ("roaming_hand_off_s", text(roaming.hand_off_s)),
            ("roaming_state_octets", text(roaming.state_octets)),
        ];
        for line in results(&run).iter().map(Line::from_result) {
            for (name, value) in &expected {
                assert_eq!(line.cell(name), value, "{name}");
            }
        }
    }

    /// Each key of the structures has a column, and each column a key.
    #[test]
    fn columns_are_the_keys_of_flows_sessions_and_directions_as_json_has_them() {
        let scenario =
            file::parse(ALL_KINDS, "all.toml", Path::new(""), &Overrides::default()).expect("a scenario");
        let run = run(&scenario, &scenario.schemes[0], 1, &Silent).expect("it runs");
        let results = results(&run);
        let lines: Vec<Line> = results.iter().map(Line::from_result).collect();
        assert_eq!(lines.len(), 2 + 1 + 2 + 1);
        let names: BTreeSet<&str> = lines.iter().flat_map(Line::names).collect();
        // Where they are null, they are in one cell.
        let wholes = ["datagrams", "transactions"];
        let names: BTreeSet<&str> = names.into_iter().filter(|name| !wholes.contains(name)).collect();
        let columns: BTreeSet<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, columns);
        let scopes: Vec<&str> = lines.iter().map(|line| line.cell("scope")).collect();
        assert_eq!(scopes, ["flow", "flow", "session", "direction", "direction", "session"]);
        for (name, kind) in COLUMNS {
            for cell in lines.iter().map(|line| line.cell(name)) {
                let fits = match kind {
                    Text => true,
                    Count => cell.parse::<u64>().is_ok(),
                    OptionalCount => cell.is_empty() || cell.parse::<u64>().is_ok(),
                    Number => cell.is_empty() || cell.parse::<f64>().is_ok(),
                };
                assert!(fits, "{name}: {cell}");
            }
        }
    }
}
