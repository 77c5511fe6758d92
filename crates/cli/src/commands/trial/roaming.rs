//! The hand-offs of clients that roam, between real hosts and as predicted.

use lasthop_lab::stats::{Estimate, median};
use lasthop_lab::table::Table;
use lasthop_trial::roaming::{HandOff, RoamingRun};
use serde::Serialize;

use super::rows::{grouped, number};

/// The hand-offs of all runs of some flows under a scheme.
#[derive(Serialize)]
pub(super) struct RoamingRow {
    /// The flows of the runs.
    flows: Vec<String>,
    /// The congestion control of each flow and session of the runs that goes over TCP.
    controls: Vec<String>,
    scheme: String,
    /// Number of runs.
    runs: usize,
    /// Between real hosts.
    real: HandOffFigures,
    /// In the simulator, with the same seeds; `None` for a congestion control that it does not have.
    predicted: Option<HandOffFigures>,
    /// Flows of real hosts whose connection ended before its time.
    connections_lost: u64,
    /// Flows and sessions of real hosts of which an octet did not arrive as it was sent.
    corrupted: u64,
}

/// Figures of all hand-offs of some runs.
#[derive(Serialize)]
struct HandOffFigures {
    /// Their number.
    hand_offs: usize,
    /// Median of the time for which a client had no access point, in seconds; `None` without a hand-off.
    radio_gap_s: Option<f64>,
    /// Mean time from the moment at which a client leaves an access point until the next one serves it, with the
    /// state of its connections if agents hand over, in seconds; `None` without a hand-off.
    hand_off_s: Option<f64>,
    /// Hand-offs after which the client was not served before the end of its run.
    unserved: usize,
}

impl HandOffFigures {
    fn new<'a>(hand_offs: impl Iterator<Item = &'a HandOff>) -> Self {
        let hand_offs: Vec<&HandOff> = hand_offs.collect();
        let gaps: Vec<f64> = hand_offs.iter().filter_map(|hand_off| hand_off.radio_gap_s).collect();
        let spans: Vec<f64> = hand_offs.iter().filter_map(|hand_off| hand_off.interruption_s).collect();
        Self {
            hand_offs: hand_offs.len(),
            radio_gap_s: median(&gaps),
            hand_off_s: Estimate::from_samples(&spans).map(|estimate| estimate.mean),
            unserved: hand_offs.len() - spans.len(),
        }
    }
}

/// A row for each group of runs that differ in the seed only.
pub(super) fn rows(runs: &[RoamingRun]) -> Vec<RoamingRow> {
    let groups = grouped(runs, |run| (run.flows.clone(), run.controls.clone(), run.scheme.clone()));
    groups.iter().filter_map(|runs| RoamingRow::new(runs)).collect()
}

impl RoamingRow {
    /// `None` without runs.
    fn new(runs: &[&RoamingRun]) -> Option<Self> {
        let first = runs.first()?;
        let predicted: Option<Vec<&Vec<HandOff>>> =
            runs.iter().map(|run| run.predicted_hand_offs.as_ref()).collect();
        Some(Self {
            flows: first.flows.clone(),
            controls: first.controls.clone(),
            scheme: first.scheme.clone(),
            runs: runs.len(),
            real: HandOffFigures::new(runs.iter().flat_map(|run| &run.hand_offs)),
            predicted: predicted.map(|runs| HandOffFigures::new(runs.into_iter().flatten())),
            connections_lost: runs.iter().map(|run| run.connections_lost).sum(),
            corrupted: runs.iter().map(|run| run.corrupted).sum(),
        })
    }
}

/// The table of the rows; `None` without any.
pub(super) fn table(rows: &[RoamingRow]) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let header = [
        "flow",
        "TCP",
        "scheme",
        "hand-offs",
        "predicted",
        "no access point ms",
        "predicted",
        "hand-off ms",
        "predicted",
        "not served",
        "connections lost",
        "corrupted",
    ];
    let mut table = Table::with_numbers(&header).with_labels(3);
    for row in rows {
        let mut cells = vec![row.flows.join(", "), row.controls.join(", "), row.scheme.clone()];
        let both = |value: fn(&HandOffFigures) -> Option<f64>, decimals: usize| {
            [Some(&row.real), row.predicted.as_ref()].map(|figures| number(figures.and_then(value), decimals))
        };
        cells.extend(both(|figures| Some(figures.hand_offs as f64), 0));
        cells.extend(both(|figures| figures.radio_gap_s.map(|seconds| seconds * 1e3), 1));
        cells.extend(both(|figures| figures.hand_off_s.map(|seconds| seconds * 1e3), 1));
        cells.extend(
            [row.real.unserved as u64, row.connections_lost, row.corrupted].map(|count| count.to_string()),
        );
        table.add_row(cells);
    }
    Some(table.to_string())
}

/// What the columns mean; `None` without rows.
pub(super) fn remark(rows: &[RoamingRow]) -> Option<String> {
    let remark = "hand-offs, not served, connections lost, corrupted: in all runs; no access point: median time without one; hand-off: mean time from leaving an access point until the \
                  next one serves the client, with the state of its connections if gateways hand over";
    (!rows.is_empty()).then(|| remark.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand_off(radio_gap_s: f64, interruption_s: Option<f64>) -> HandOff {
        let [client, from, to] = ["walker", "ap-1", "ap-2"].map(str::to_owned);
        HandOff { client, from, to, radio_gap_s: Some(radio_gap_s), interruption_s }
    }

    fn run(scheme: &str, hand_offs: Vec<HandOff>, predicted: Option<Vec<HandOff>>) -> RoamingRun {
        RoamingRun {
            flows: vec!["download".to_owned()],
            controls: vec!["cubic".to_owned()],
            scheme: scheme.to_owned(),
            seed: 1,
            hand_offs,
            predicted_hand_offs: predicted,
            connections_lost: 1,
            corrupted: 0,
            gateways: Vec::new(),
        }
    }

    #[test]
    fn a_row_has_all_hand_offs_of_its_runs() {
        let first = vec![hand_off(0.010, Some(0.030)), hand_off(0.020, None)];
        let second = vec![hand_off(0.060, Some(0.090))];
        let runs = [
            run("snoop", first, Some(vec![hand_off(0.010, Some(0.011))])),
            run("none", Vec::new(), Some(Vec::new())),
            run("snoop", second, None),
        ];
        let [snoop, none] = &rows(&runs)[..] else { panic!("two rows") };
        assert_eq!((snoop.runs, snoop.real.hand_offs, snoop.real.unserved), (2, 3, 1));
        assert_eq!(snoop.real.radio_gap_s, Some(0.020));
        assert!(snoop.real.hand_off_s.is_some_and(|mean| (mean - 0.060).abs() < 1e-9));
        assert!(snoop.predicted.is_none(), "one of the runs has no prediction");
        assert_eq!(snoop.connections_lost, 2);
        assert_eq!(none.real.hand_off_s, None);
        assert!(none.predicted.as_ref().is_some_and(|predicted| predicted.hand_offs == 0));
    }

    #[test]
    fn there_is_no_table_where_nobody_roams() {
        assert_eq!((table(&[]), remark(&[])), (None, None));
    }
}
