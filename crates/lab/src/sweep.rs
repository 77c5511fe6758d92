//! A grid of scenarios into one file.

use std::io::{self, Write};

use lasthop_scenario::{BuildError, Scenario};
use rayon::prelude::*;

use crate::progress::Progress;
use crate::run::{RunSummary, run};

/// One point of the grid.
#[derive(Clone, Debug)]
pub struct Point {
    /// What was varied: the path of the key, and its value, as the sweep file has them.
    pub assignments: Vec<(String, String)>,
    /// The scenario with these values.
    pub scenario: Scenario,
}

/// What one run of the grid gave.
#[derive(Clone, Debug)]
pub struct SweepRow {
    /// The index of its point.
    pub point: usize,
    /// The run.
    pub summary: RunSummary,
}

/// Runs every point under every scheme and seed, in parallel. Rows come in the order of points, schemes, seeds.
pub fn sweep(points: &[Point], progress: &dyn Progress) -> Result<Vec<SweepRow>, BuildError> {
    let mut grid = Vec::new();
    for (index, point) in points.iter().enumerate() {
        for scheme in &point.scenario.schemes {
            // What cannot run is found before anything does.
            point.scenario.build(scheme, 0)?;
            grid.extend(point.scenario.seeds.iter().map(|seed| (index, scheme, *seed)));
        }
    }
    progress.expect(grid.len() as u64);
    grid.par_iter()
        .map(|(point, scheme, seed)| {
            let summary = run(&points[*point].scenario, scheme, *seed)?;
            progress.advance();
            Ok(SweepRow { point: *point, summary })
        })
        .collect()
}

/// The columns behind those of what was varied. A row is one flow of one run; the counters are the run's.
const COLUMNS: [&str; 17] = [
    "scheme",
    "seed",
    "flow",
    "from",
    "to",
    "goodput_bps",
    "bytes",
    "completion_s",
    "retransmits",
    "timeouts",
    "fast_retransmits",
    "duplicate_acks",
    "rtt_mean_s",
    "frames_sent",
    "frames_given_up",
    "control_messages",
    "local_retransmits",
];

/// Writes the rows as CSV, one line a flow of a run, with the varied keys in front. A value that does not exist is empty.
pub fn write_csv(points: &[Point], rows: &[SweepRow], out: impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let varied = points.first().map(|point| point.assignments.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>());
    let header: Vec<&str> = varied.unwrap_or_default().into_iter().chain(COLUMNS).collect();
    writer.write_record(header)?;
    let or_empty = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for SweepRow { point, summary } in rows {
        let counter = |name: &str| summary.counters.get(name).copied().unwrap_or(0).to_string();
        for flow in &summary.flows {
            let mut record: Vec<String> =
                points[*point].assignments.iter().map(|(_, value)| value.clone()).collect();
            record.extend([
                summary.scheme.clone(),
                summary.seed.to_string(),
                flow.name.clone(),
                flow.from.clone(),
                flow.to.clone(),
                flow.goodput_bps.to_string(),
                flow.bytes.to_string(),
                or_empty(flow.completion_s),
                flow.retransmits.to_string(),
                flow.timeouts.to_string(),
                flow.fast_retransmits.to_string(),
                flow.duplicate_acks.to_string(),
                or_empty(flow.rtt_mean_s),
                counter("frames_sent"),
                counter("frames_given_up"),
                counter("control_messages"),
                counter("local_retransmits"),
            ]);
            writer.write_record(record)?;
        }
    }
    writer.flush()
}
