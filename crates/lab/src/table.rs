//! Results as people read them.

mod cells;
mod folded;
mod reproduction;
mod sessions;

use crate::compare::{Comparison, ComparisonRow, DatagramEstimates};
use crate::run::{Aggregate, FlowSummary, RunSummary};
pub use cells::millis_squared;
use cells::{count, or_dash, plus_minus, scaled};
pub use folded::Table;
pub use reproduction::reproduction;

/// More flows than this have no columns of their own.
const MOST_FLOW_COLUMNS: usize = 4;

/// The table of a comparison, and those of its sessions. A column that tells nothing in any row (no completion, no local
/// retransmission, equal shares) is left out.
pub fn comparison(comparison: &Comparison) -> String {
    type Column = (&'static str, fn(&ComparisonRow) -> String, fn(&ComparisonRow) -> bool);
    let columns: [Column; 17] = [
        ("completion s", |row| completion(row), |row| row.completion_s.is_some() || row.completed > 0),
        ("goodput Mbit/s", |row| plus_minus(&scaled(row.goodput_bps, 1e-6), 3), |_| true),
        (
            "improvement %",
            |row| row.improvement_percent.map_or_else(|| "-".to_owned(), |estimate| plus_minus(&estimate, 1)),
            |row| row.improvement_percent.is_some(),
        ),
        ("retransmits", |row| count(&row.retransmits), |_| true),
        ("time-outs", |row| count(&row.timeouts), |_| true),
        ("fast retransmits", |row| count(&row.fast_retransmits), |_| true),
        ("control packets", |row| count(&row.control_messages), |row| row.control_messages.mean > 0.0),
        ("local retransmits", |row| count(&row.local_retransmits), |row| row.local_retransmits.mean > 0.0),
        (
            "fairness",
            |row| format!("{:.3}", row.jain_fairness.mean),
            |row| (row.jain_fairness.mean - 1.0).abs() > 1e-9,
        ),
        (
            "UDP Mbit/s",
            |row| datagrams(row, |all| Some(plus_minus(&scaled(all.goodput_bps, 1e-6), 3))),
            |row| row.datagrams.is_some(),
        ),
        (
            "UDP lost %",
            |row| datagrams(row, |all| Some(plus_minus(&all.lost_percent?, 2))),
            |row| row.datagrams.is_some(),
        ),
        (
            "UDP delay 95% ms",
            |row| datagrams(row, |all| Some(plus_minus(&scaled(all.delay_p95_s?, 1e3), 1))),
            |row| row.datagrams.is_some(),
        ),
        (
            "air time %",
            |row| row.air_time_percent.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", share.mean)),
            |row| row.air_time_percent.is_some(),
        ),
        (
            "awake %",
            |row| row.awake_percent.map_or_else(|| "-".to_owned(), |share| plus_minus(&share, 2)),
            |row| row.awake_percent.is_some(),
        ),
        (
            "end to end",
            |row| if row.agents.end_to_end { "kept" } else { "broken" }.to_owned(),
            |row| !row.agents.end_to_end,
        ),
        (
            "most at risk kB",
            |row| format!("{:.1}", row.agents.octets_at_risk.mean / 1e3),
            |row| row.agents.octets_at_risk.mean > 0.0,
        ),
        (
            "agent's memory kB",
            |row| format!("{:.1}", row.agents.memory_octets.mean / 1e3),
            |row| row.agents.memory_octets.mean > 0.0,
        ),
    ];
    let shown: Vec<&Column> =
        columns.iter().filter(|(_, _, matters)| comparison.rows.iter().any(matters)).collect();
    // Of one flow the goodput has been told, and many would not fit.
    let flows = match comparison.rows.first().map_or(&[][..], |row| &row.flows) {
        flows @ [_, _, ..] if flows.len() <= MOST_FLOW_COLUMNS => flows,
        _ => &[],
    };
    let mut header: Vec<String> = vec!["scheme".to_owned()];
    let of_flows = flows.iter().map(|flow| match flow.flows {
        1 => format!("{} Mbit/s", flow.name),
        many => format!("{} Mbit/s\nmean of {many}", flow.name),
    });
    let own = shown.iter().map(|(name, _, _)| (*name).to_owned());
    header.extend(own);
    let behind_goodput = header.iter().position(|name| name == "retransmits").unwrap_or(header.len());
    header.splice(behind_goodput..behind_goodput, of_flows);
    let mut table = Table::of_numbers(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &comparison.rows {
        let mut cells = vec![row.scheme.clone()];
        cells.extend(shown.iter().map(|(_, show, _)| show(row)));
        let of_flows = row.flows.iter().take(flows.len());
        let of_flows = of_flows.map(|flow| format!("{:.3}", flow.goodput_bps.mean * 1e-6));
        cells.splice(behind_goodput..behind_goodput, of_flows);
        table.add_row(cells);
    }
    let tables = [table.to_string()].into_iter().chain(sessions::of_comparison(&comparison.rows));
    tables.collect::<Vec<_>>().join("\n")
}

fn datagrams(row: &ComparisonRow, show: fn(&DatagramEstimates) -> Option<String>) -> String {
    row.datagrams.as_ref().and_then(show).unwrap_or_else(|| "-".to_owned())
}

fn completion(row: &ComparisonRow) -> String {
    match &row.completion_s {
        Some(estimate) => plus_minus(estimate, 2),
        None => format!("{} of {} done", row.completed, row.runs),
    }
}

/// The tables of one run: one of TCP flows, one of UDP flows, each with a row per flow, and tables of
/// sessions and of stations.
pub fn summary(run: &RunSummary) -> String {
    let (udp, tcp): (Vec<&FlowSummary>, Vec<&FlowSummary>) =
        run.flows.iter().partition(|flow| flow.datagrams.is_some());
    let in_all = || {
        let Aggregate { goodput_bps, jain_fairness, .. } = run.aggregate;
        format!("total {:.4} Mbit/s, Jain's fairness {jain_fairness:.3}", goodput_bps / 1e6)
    };
    let parts = [
        (!tcp.is_empty()).then(|| tcp_flows(&tcp)),
        (tcp.len() > 1).then(in_all),
        (!udp.is_empty()).then(|| udp_flows(&udp)),
    ];
    let stations = (!run.stations.is_empty()).then(|| stations(run));
    let parts = parts.into_iter().flatten().chain(sessions::of_run(&run.sessions)).chain(stations);
    parts.collect::<Vec<_>>().join("\n")
}

fn tcp_flows(flows: &[&FlowSummary]) -> String {
    let mut table = Table::of_numbers(&[
        "flow",
        "from",
        "to",
        "completion s",
        "goodput Mbit/s",
        "retransmits",
        "time-outs",
        "fast retransmits",
        "mean rtt ms",
    ]);
    for flow in flows {
        table.add_row([
            flow.name.clone(),
            flow.from.clone(),
            flow.to.clone(),
            or_dash(flow.completion_s.map(|seconds| format!("{seconds:.3}"))),
            format!("{:.4}", flow.goodput_bps / 1e6),
            or_dash(flow.retransmits.map(|count| count.to_string())),
            or_dash(flow.timeouts.map(|count| count.to_string())),
            or_dash(flow.fast_retransmits.map(|count| count.to_string())),
            or_dash(flow.rtt_mean_s.map(|seconds| format!("{:.1}", seconds * 1e3))),
        ]);
    }
    table.to_string()
}

/// What each station of 802.11 cells had of the air.
fn stations(run: &RunSummary) -> String {
    let mut header = vec![
        "station",
        "cell",
        "frames",
        "transmissions",
        "given up",
        "air time s",
        "air time %",
        "mean access ms",
    ];
    let saves_power = run.stations.iter().any(|station| station.awake_s.is_some());
    if saves_power {
        header.extend(["awake s", "awake %"]);
    }
    let mut table = Table::of_numbers(&header);
    for station in &run.stations {
        let mut row = vec![
            station.name.clone(),
            station.wlan.clone(),
            station.frames.to_string(),
            station.transmissions.to_string(),
            station.frames_given_up.to_string(),
            format!("{:.3}", station.air_time_s),
            format!("{:.2}", station.air_time_share * 100.0),
            station.access_mean_s.map_or_else(|| "-".to_owned(), |seconds| format!("{:.3}", seconds * 1e3)),
        ];
        if saves_power {
            row.push(or_dash(station.awake_s.map(|seconds| format!("{seconds:.3}"))));
            row.push(or_dash(station.awake_share.map(|share| format!("{:.2}", share * 100.0))));
        }
        table.add_row(row);
    }
    let share = run.aggregate.air_time_share.unwrap_or(0.0);
    format!("{table}\nair time used by data frames: {:.1}% in total", share * 100.0)
}

fn udp_flows(flows: &[&FlowSummary]) -> String {
    let mut table = Table::of_numbers(&[
        "UDP flow",
        "from",
        "to",
        "goodput Mbit/s",
        "sent",
        "lost",
        "lost %",
        "duplicated",
        "out of order",
        "mean delay ms",
        "95% ms",
        "jitter ms",
    ]);
    let millis = |seconds: Option<f64>| or_dash(seconds.map(|seconds| format!("{:.2}", seconds * 1e3)));
    for flow in flows {
        let Some(datagrams) = flow.datagrams else { continue };
        table.add_row([
            flow.name.clone(),
            flow.from.clone(),
            flow.to.clone(),
            format!("{:.4}", flow.goodput_bps / 1e6),
            datagrams.sent.to_string(),
            datagrams.lost.to_string(),
            or_dash(datagrams.lost_percent().map(|percent| format!("{percent:.2}"))),
            datagrams.duplicated.to_string(),
            datagrams.out_of_order.to_string(),
            millis(datagrams.delay_mean_s),
            millis(datagrams.delay_p95_s),
            millis(datagrams.jitter_s),
        ]);
    }
    table.to_string()
}
