//! Results as tables of text.

mod cells;
mod comparison;
mod flows;
mod folded;
mod reproduction;
mod sessions;
mod width;

use crate::run::{Aggregate, FlowSummary, RoamingSummary, RunSummary, SteeringSummary};
use cells::or_dash;
pub use cells::{millis_squared, number};
pub use comparison::comparison;
pub use flows::FlowsShown;
pub use folded::Table;
pub use reproduction::reproduction;
pub use width::{paragraph, width};

/// The tables of one run: TCP flows and UDP flows with a row per flow, sessions, and stations.
pub fn summary(run: &RunSummary) -> String {
    let (udp, tcp): (Vec<&FlowSummary>, Vec<&FlowSummary>) =
        run.flows.iter().partition(|flow| flow.datagrams.is_some());
    let in_all = || {
        let Aggregate { goodput_bps, jain_fairness, .. } = run.aggregate;
        let (total, index) =
            (number(goodput_bps / 1e6, 4), or_dash(jain_fairness.map(|index| number(index, 3))));
        paragraph(&format!("total {total} Mbit/s, Jain's index {index}"))
    };
    let parts = [
        (!tcp.is_empty()).then(|| tcp_flows(&tcp)),
        (tcp.len() > 1).then(in_all),
        (!udp.is_empty()).then(|| udp_flows(&udp)),
    ];
    let stations = (!run.stations.is_empty()).then(|| stations(run));
    let roaming = run.roaming.as_ref().map(roaming);
    let parts =
        parts.into_iter().flatten().chain(sessions::run_rows(&run.sessions)).chain(stations).chain(roaming);
    parts.collect::<Vec<_>>().join("\n")
}

fn tcp_flows(flows: &[&FlowSummary]) -> String {
    let mut table = Table::with_numbers(&[
        "flow",
        "from",
        "to",
        "completion s",
        "goodput Mbit/s",
        "retransmits",
        "timeouts",
        "fast retransmits",
        "mean RTT ms",
    ]);
    for flow in flows {
        table.add_row([
            flow.name.clone(),
            flow.from.clone(),
            flow.to.clone(),
            or_dash(completion(flow)),
            number(flow.goodput_bps / 1e6, 4),
            or_dash(flow.retransmits.map(|count| count.to_string())),
            or_dash(flow.timeouts.map(|count| count.to_string())),
            or_dash(flow.fast_retransmits.map(|count| count.to_string())),
            or_dash(flow.rtt_mean_s.map(|seconds| number(seconds * 1e3, 1))),
        ]);
    }
    table.to_string()
}

/// The completion time, or the time when the sender gave up or was reset.
fn completion(flow: &FlowSummary) -> Option<String> {
    let at = |what: &str, seconds: f64| format!("{what} at {}", number(seconds, 1));
    let gave_up = flow.gave_up_s.map(|seconds| at("gave up", seconds));
    let reset = flow.reset_s.map(|seconds| at("reset", seconds));
    flow.completion_s.map(|seconds| number(seconds, 3)).or(gave_up).or(reset)
}

/// The air time of each station of 802.11 cells.
fn stations(run: &RunSummary) -> String {
    let mut header = vec![
        "station",
        "cell",
        "frames",
        "transmissions",
        "failed",
        "airtime s",
        "airtime %",
        "airtime to it %",
        "mean access delay ms",
    ];
    let saves_power = run.stations.iter().any(|station| station.awake_s.is_some());
    if saves_power {
        header.extend(["awake s", "awake %"]);
    }
    let measured = (run.duration_s - run.warm_up_s).max(f64::MIN_POSITIVE);
    let mut table = Table::with_numbers(&header);
    for station in &run.stations {
        let mut row = vec![
            station.name.clone(),
            station.wlan.clone(),
            station.frames.to_string(),
            station.transmissions.to_string(),
            station.frames_given_up.to_string(),
            number(station.air_time_s, 3),
            number(station.air_time_share * 100.0, 2),
            number(station.air_time_to_s / measured * 100.0, 2),
            or_dash(station.access_mean_s.map(|seconds| number(seconds * 1e3, 3))),
        ];
        if saves_power {
            row.push(or_dash(station.awake_s.map(|seconds| number(seconds, 3))));
            row.push(or_dash(station.awake_share.map(|share| number(share * 100.0, 2))));
        }
        table.add_row(row);
    }
    let share = run.aggregate.air_time_share.unwrap_or(0.0);
    let total = number(share * 100.0, 1);
    let on = if run.roaming.is_some() { "on each channel in the mean" } else { "in total" };
    let legend = format!(
        "failed: frames dropped at the retry limit; access delay: time at the head of the queue before the first \
         transmission; airtime: {total}% of the measured time {on}, for data frames, RTS and CTS-to-self; to it: that of others' frames \
         to the station, which may overlap"
    );
    format!("{table}\n{}", paragraph(&legend))
}

/// How clients roamed, in a sentence or two.
fn roaming(summary: &RoamingSummary) -> String {
    let millis = |seconds: f64| format!("{} ms", number(seconds * 1e3, 1));
    let mut parts = vec![format!("hand-offs: {}", summary.hand_offs)];
    if let Some(gap) = summary.radio_gap_s {
        parts.push(format!("; a client had no access point for {} (median)", millis(gap)));
    }
    if let (Some(gap), Some(unserved)) = (summary.agent_gap_s, summary.unserved) {
        parts.push(format!(
            "; the next access point had what was handed over {} after it had accepted the client (median), at \
             {unserved} hand-offs never",
            millis(gap)
        ));
    }
    if let Some(SteeringSummary { measurements, reports, requests, accepted, refused }) = summary.steering {
        parts.push(format!(
            ". Controller: {measurements} beacon requests, {reports} reports; {requests} clients asked to go, \
             {accepted} accepted, {refused} refused"
        ));
    }
    paragraph(&parts.concat())
}

fn udp_flows(flows: &[&FlowSummary]) -> String {
    let mut table = Table::with_numbers(&[
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
        "median delay ms",
        "p95 delay ms",
        "jitter ms",
    ]);
    let millis = |seconds: Option<f64>| or_dash(seconds.map(|seconds| number(seconds * 1e3, 2)));
    for flow in flows {
        let Some(datagrams) = flow.datagrams else { continue };
        table.add_row([
            flow.name.clone(),
            flow.from.clone(),
            flow.to.clone(),
            number(flow.goodput_bps / 1e6, 4),
            datagrams.sent.to_string(),
            datagrams.lost.to_string(),
            or_dash(datagrams.lost_percent().map(|percent| number(percent, 2))),
            datagrams.duplicated.to_string(),
            datagrams.out_of_order.to_string(),
            millis(datagrams.delay_mean_s),
            millis(datagrams.delay_median_s),
            millis(datagrams.delay_p95_s),
            millis(datagrams.jitter_s),
        ]);
    }
    table.to_string()
}
