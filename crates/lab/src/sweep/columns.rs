//! The columns of the results: the varied keys, then what a run has. A line is one flow of one run.

use lasthop_agent::Counter;
use lasthop_agent::counter::{CONTROL_MESSAGES, LOCAL_RETRANSMITS};
use lasthop_scenario::Sweep;
use lasthop_sim::counters::{FRAMES_GIVEN_UP, FRAMES_SENT};

use crate::run::{Datagrams, FlowSummary, RunSummary};

/// A column of the results.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub kind: Kind,
}

/// What is in a column. What a flow does not have is empty in CSV, and null in other formats.
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

/// What a column has for a flow of a run.
type Cell = fn(&RunSummary, &FlowSummary) -> String;

/// The columns behind those of what was varied. New ones come last.
static COLUMNS: [(&str, Kind, Cell); 28] = [
    ("scheme", Text, |run, _| run.scheme.clone()),
    ("seed", Count, |run, _| run.seed.to_string()),
    ("flow", Text, |_, flow| flow.name.clone()),
    ("from", Text, |_, flow| flow.from.clone()),
    ("to", Text, |_, flow| flow.to.clone()),
    ("goodput_bps", Number, |_, flow| flow.goodput_bps.to_string()),
    ("bytes", Count, |_, flow| flow.bytes.to_string()),
    ("completion_s", Number, |_, flow| optional(flow.completion_s)),
    ("retransmits", OptionalCount, |_, flow| optional(flow.retransmits)),
    ("timeouts", OptionalCount, |_, flow| optional(flow.timeouts)),
    ("fast_retransmits", OptionalCount, |_, flow| optional(flow.fast_retransmits)),
    ("duplicate_acks", OptionalCount, |_, flow| optional(flow.duplicate_acks)),
    ("rtt_mean_s", Number, |_, flow| optional(flow.rtt_mean_s)),
    (FRAMES_SENT.name, Count, |run, _| count(run, &FRAMES_SENT)),
    (FRAMES_GIVEN_UP.name, Count, |run, _| count(run, &FRAMES_GIVEN_UP)),
    (CONTROL_MESSAGES.name, Count, |run, _| count(run, &CONTROL_MESSAGES)),
    (LOCAL_RETRANSMITS.name, Count, |run, _| count(run, &LOCAL_RETRANSMITS)),
    ("transport", Text, |_, flow| flow.transport.to_owned()),
    ("datagrams_sent", OptionalCount, |_, flow| datagrams(flow, |all| Some(all.sent))),
    ("datagrams_received", OptionalCount, |_, flow| datagrams(flow, |all| Some(all.received))),
    ("datagrams_lost", OptionalCount, |_, flow| datagrams(flow, |all| Some(all.lost))),
    ("datagrams_out_of_order", OptionalCount, |_, flow| datagrams(flow, |all| Some(all.out_of_order))),
    ("delay_mean_s", Number, |_, flow| datagrams(flow, |all| all.delay_mean_s)),
    ("delay_p95_s", Number, |_, flow| datagrams(flow, |all| all.delay_p95_s)),
    ("jitter_s", Number, |_, flow| datagrams(flow, |all| all.jitter_s)),
    ("jain_fairness", Number, |run, _| optional(run.aggregate.jain_fairness)),
    ("air_time_share", Number, |run, _| optional(run.aggregate.air_time_share)),
    ("awake_share", Number, |run, _| optional(run.awake_share())),
];

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn count(run: &RunSummary, counter: &Counter) -> String {
    run.count(counter).to_string()
}

fn datagrams<T: ToString>(flow: &FlowSummary, of: impl FnOnce(Datagrams) -> Option<T>) -> String {
    optional(flow.datagrams.and_then(of))
}

/// The columns of a sweep's results.
pub fn columns(sweep: &Sweep) -> Vec<Column> {
    let varied = sweep.columns().map(|column| Column {
        name: column.name.clone(),
        kind: if column.is_number { Number } else { Text },
    });
    let of_flow = COLUMNS.iter().map(|(name, kind, _)| Column { name: (*name).to_owned(), kind: *kind });
    varied.chain(of_flow).collect()
}

/// The first line of CSV.
pub fn header(columns: &[Column]) -> Vec<u8> {
    csv([columns.iter().map(|column| column.name.clone()).collect()].into_iter())
}

/// The lines of CSV of a run at the point that has these values.
pub(super) fn lines(values: &[&str], run: &RunSummary) -> Vec<u8> {
    csv(run.flows.iter().map(|flow| {
        let varied = values.iter().map(|value| (*value).to_owned());
        varied.chain(COLUMNS.iter().map(|(_, _, cell)| cell(run, flow))).collect()
    }))
}

fn csv(records: impl Iterator<Item = Vec<String>>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).expect("memory takes every record, and all have the same length");
    }
    writer.into_inner().expect("memory takes every record")
}
