//! The flows of a comparison in tables of their own: a row for each flow.

use super::cells::{change, number, or_dash, plus_minus, scaled};
use super::folded::Table;
use super::width::paragraph;
use crate::compare::{Comparison, ComparisonRow, FlowRow, SingleFlow};

/// How many flows a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowsShown {
    /// As many as fit on a screen, in order of their losses.
    Screenful,
    /// All flows.
    All,
}

/// Rows of a table that fits on a usual screen, with its header and the table above it.
const SCREENFUL: usize = 16;
/// Maximum number of groups of flows with rows for their means.
const MAX_GROUPS: usize = 4;

/// The goodput of each flow under each scheme, with its change from the baseline. The means of
/// groups come first, then flows in order of their largest loss under a scheme.
pub(super) fn goodputs(comparison: &Comparison, shown: FlowsShown) -> String {
    let rows = &comparison.rows;
    let header: Vec<&str> = ["flow"].into_iter().chain(rows.iter().map(|row| row.scheme.as_str())).collect();
    let mut table = Table::with_numbers(&header);
    for (place, group) in groups(rows) {
        let label = format!("{}, mean of {}", group.name, group.flows);
        let means = rows
            .iter()
            .map(|row| or_dash(row.flows.get(place).map(|group| number(group.goodput_bps.mean * 1e-6, 3))));
        table.add_row([label].into_iter().chain(means));
    }
    let order = order(rows);
    let (listed, rest) = order.split_at(shown.of(order.len()));
    for &place in listed {
        let label = rows[0].single_flows[place].name.clone();
        let cells = rows.iter().map(|row| or_dash(row.single_flows.get(place).map(goodput)));
        table.add_row([label].into_iter().chain(cells));
    }
    let baseline = &comparison.baseline;
    let changes = if rows.len() > 1 { format!(" (change against {baseline:?})") } else { String::new() };
    let heading = format!("goodput of each flow in Mbit/s{changes}");
    let heading =
        if rest.is_empty() { heading } else { format!("{heading}; {}", about_the_rest(rows, rest)) };
    format!("{}\n{table}", paragraph(&heading))
}

fn goodput(flow: &SingleFlow) -> String {
    let goodput = number(flow.goodput_bps.mean * 1e-6, 3);
    flow.change_percent.map_or_else(|| goodput.clone(), |by| format!("{goodput} ({})", change(by.mean)))
}

/// The number of flows that are not listed, and the range of their changes.
fn about_the_rest(rows: &[ComparisonRow], rest: &[usize]) -> String {
    let changes = || {
        let flows = rest.iter().flat_map(|place| rows.iter().filter_map(|row| row.single_flows.get(*place)));
        flows.filter_map(|flow| flow.change_percent.map(|change| change.mean))
    };
    let (min, max) = (changes().reduce(f64::min), changes().reduce(f64::max));
    let range =
        min.zip(max).map(|(min, max)| format!(", which changed by {} to {}", change(min), change(max)));
    format!("--all-flows lists {} more{}", rest.len(), range.unwrap_or_default())
}

/// The places of all flows, in order of their largest loss under a scheme.
fn order(rows: &[ComparisonRow]) -> Vec<usize> {
    let worst = |place: usize| {
        let changes = rows.iter().filter_map(|row| row.single_flows.get(place)?.change_percent);
        changes.map(|change| change.mean).fold(f64::INFINITY, f64::min)
    };
    let mut places: Vec<(f64, usize)> = (0..rows.first().map_or(0, |row| row.single_flows.len()))
        .map(|place| (worst(place), place))
        .collect();
    places.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    places.into_iter().map(|(_, place)| place).collect()
}

/// Groups of several flows, with their places; none if all flows are one group.
fn groups(rows: &[ComparisonRow]) -> Vec<(usize, &FlowRow)> {
    let all = rows.first().map_or(&[][..], |row| &row.flows);
    let groups = all.iter().enumerate().filter(|(_, group)| group.flows > 1);
    groups.filter(|_| (2..=MAX_GROUPS).contains(&all.len())).collect()
}

/// The fate of the datagrams of each flow over UDP; `None` for a single one, which has columns in
/// the main table.
pub(super) fn datagrams(rows: &[ComparisonRow], shown: FlowsShown) -> Option<String> {
    let order: Vec<usize> =
        order(rows).into_iter().filter(|place| rows[0].single_flows[*place].datagrams.is_some()).collect();
    if order.len() < 2 {
        return None;
    }
    let mut table = Table::with_numbers(&[
        "UDP flow",
        "scheme",
        "goodput Mbit/s",
        "lost %",
        "mean delay ms",
        "median delay ms",
        "p95 delay ms",
        "jitter ms",
    ])
    .with_labels(2);
    let listed = match shown {
        FlowsShown::All => order.len(),
        FlowsShown::Screenful => order.len().min((SCREENFUL / rows.len()).max(1)),
    };
    for (place, row) in order[..listed].iter().flat_map(|place| rows.iter().map(move |row| (*place, row))) {
        let Some((flow, of)) = row.single_flows.get(place).and_then(|flow| Some((flow, flow.datagrams?)))
        else {
            continue;
        };
        let millis = |seconds| plus_minus(&scaled(seconds, 1e3), 1);
        table.add_row([
            flow.name.clone(),
            row.scheme.clone(),
            plus_minus(&scaled(of.goodput_bps, 1e-6), 3),
            or_dash(of.lost_percent.map(|lost| plus_minus(&lost, 2))),
            or_dash(of.delay_mean_s.map(millis)),
            or_dash(of.delay_median_s.map(millis)),
            or_dash(of.delay_p95_s.map(millis)),
            or_dash(of.jitter_s.map(|jitter| plus_minus(&scaled(jitter, 1e3), 2))),
        ]);
    }
    let rest = match order.len() - listed {
        0 => String::new(),
        rest => format!("\n{}", paragraph(&format!("--all-flows lists {rest} more UDP flows"))),
    };
    Some(format!("{table}{rest}"))
}

impl FlowsShown {
    /// The number of flows to list.
    fn of(self, flows: usize) -> usize {
        match self {
            Self::All => flows,
            Self::Screenful => flows.min(SCREENFUL),
        }
    }
}
