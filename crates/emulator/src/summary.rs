//! The results of a run, and whether measurements over it can be trusted.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use lasthop_config::words::counted;
use lasthop_packet::Instant;
use lasthop_sim::World;
use serde::Serialize;

use super::measurements::{Measurements, Stalls};
use lasthop_linux::lateness::LatenessSummary;

/// The largest median lateness of a trusted run: a tenth of the shortest wireless round-trip times.
/// A larger one distorts the model's delay.
pub const LARGEST_MEDIAN: Duration = Duration::from_micros(100);
/// The largest 99th percentile of the lateness of a trusted run. A larger one is visible in
/// round-trip times and in the spacing of packets.
pub const LARGEST_P99: Duration = Duration::from_millis(1);
/// The largest fraction of time that a trusted run may be stalled. With a larger one, the machine
/// affects the run more than the model does.
pub const LARGEST_STALLED_PART: f64 = 0.001;

/// The results of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Summary {
    /// Duration of the emulation, in seconds of the model's time.
    pub duration_s: f64,
    /// Packets that real hosts sent into the model.
    pub packets_taken: u64,
    /// Packets that the model delivered to real hosts.
    pub packets_handed_out: u64,
    /// Packets that the model delivered, by host.
    pub delivered: Vec<Delivered>,
    /// Packets that the model dropped, by cause. They include packets of simulated stations.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Packets that the model's links delivered twice.
    pub packets_duplicated: u64,
    /// Packets that the model's links delivered with a wrong bit.
    pub packets_corrupted: u64,
    /// Packets that passed around a link because of its `only` and `except`.
    pub packets_unselected: u64,
    /// TCP connections that the model's links reset because of their `connections`.
    pub connections_reset: u64,
    /// First segments of TCP connections that the model's links answered with a reset because of their
    /// `connections`.
    pub connections_refused: u64,
    /// Packets that the model's queues marked with CE (RFC 3168); absent if no queue can mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked_ce: Option<u64>,
    /// Frames from real hosts that were dropped because they were not IP.
    pub frames_not_ip: u64,
    /// Packets from real hosts that were dropped because they were malformed or truncated.
    pub packets_malformed: u64,
    /// Packets that the model delivered and the kernel refused because the device was down.
    pub packets_refused: u64,
    /// Delay between the time at which the model delivered a packet and the time at which the host
    /// received it.
    pub lateness: LatenessSummary,
    /// Times that the loop was more than 10 ms late.
    pub stalls: u64,
    /// Longest of these delays, in milliseconds.
    pub longest_stall_ms: f64,
    /// Time by which the model was set back because the loop could not catch up, in milliseconds.
    pub cut_ms: f64,
    /// What the kernel did not grant, what relays could not do, and how long a command took in simulated time, each a
    /// sentence.
    pub notes: Vec<String>,
    /// Whether the emulator was on time.
    pub trusted: bool,
    /// Why the run is not trusted, each reason a sentence.
    pub because: Vec<String>,
}

/// Counters of the packets that the model delivered to a real host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delivered {
    /// The host's node.
    pub node: String,
    /// Packets delivered to it.
    pub packets: u64,
    /// Octets of these packets, from the IP header on.
    pub octets: u64,
}

impl Summary {
    /// Summarizes a run of `world` since `start`; `notes` list the requests that the kernel
    /// refused.
    pub(super) fn new(world: &World, start: Instant, measured: &Measurements, notes: Vec<String>) -> Self {
        let millis = |duration: Duration| duration.as_secs_f64() * 1e3;
        let Measurements { lateness, stalls, packets, delivered } = measured;
        let ran = world.now().since(start);
        let lateness = lateness.summary();
        let because = reasons(&lateness, stalls, ran);
        Self {
            duration_s: ran.as_secs_f64(),
            packets_taken: packets.taken,
            packets_handed_out: lateness.count,
            delivered: delivered
                .iter()
                .map(|delivered| Delivered {
                    node: world.node_name(delivered.node).to_owned(),
                    packets: delivered.packets,
                    octets: delivered.octets,
                })
                .collect(),
            dropped: world.accounts().dropped.iter().map(|(cause, count)| (cause.name(), *count)).collect(),
            packets_duplicated: world.accounts().duplicated,
            packets_corrupted: world.accounts().corrupted,
            packets_unselected: world.accounts().unselected,
            connections_reset: world.accounts().connections_reset,
            connections_refused: world.accounts().connections_refused,
            marked_ce: world.packets_marked(),
            frames_not_ip: packets.not_ip,
            packets_malformed: packets.malformed,
            packets_refused: packets.refused,
            lateness,
            stalls: stalls.count,
            longest_stall_ms: millis(stalls.longest),
            cut_ms: millis(stalls.cut),
            notes,
            trusted: because.is_empty(),
            because,
        }
    }
}

fn reasons(lateness: &LatenessSummary, stalls: &Stalls, ran: Duration) -> Vec<String> {
    let mut reasons = Vec::new();
    let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
    let mut late = |what: &str, value: f64, limit: Duration| {
        if value > micros(limit) {
            reasons.push(format!(
                "the {what} of the lateness is {value:.0} us, above the limit of {:.0} us",
                micros(limit)
            ));
        }
    };
    late("median", lateness.median_us, LARGEST_MEDIAN);
    late("99th percentile", lateness.p99_us, LARGEST_P99);
    // The model's time excludes the time that was cut.
    let took = ran + stalls.cut;
    let stalled = stalls.total.as_secs_f64() / took.as_secs_f64().max(1e-9);
    if stalled > LARGEST_STALLED_PART {
        reasons.push(format!(
            "the emulator stalled {}, for at most {:.0} ms and {:.2}% of the time in total",
            counted(stalls.count, "time"),
            stalls.longest.as_secs_f64() * 1e3,
            stalled * 100.0
        ));
    }
    if !stalls.cut.is_zero() {
        reasons.push(format!("{:.0} ms were removed from the model's time", stalls.cut.as_secs_f64() * 1e3));
    }
    reasons
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped: u64 = self.dropped.values().sum();
        let LatenessSummary { median_us, p99_us, max_us, .. } = self.lateness;
        let rare = [
            (self.packets_duplicated, "delivered twice"),
            (self.packets_corrupted, "corrupted"),
            (self.packets_unselected, "not selected"),
        ];
        let rare = rare.into_iter().filter(|(count, _)| *count > 0);
        let rare = rare.chain(self.marked_ce.map(|marked| (marked, "marked")));
        let refused = (self.packets_refused > 0).then_some(self.packets_refused);
        let rare = rare.chain(refused.map(|refused| (refused, "lost at a device that was down or gone")));
        let rare = rare.map(|(count, what)| format!(", {count} {what}"));
        let cut = [(self.connections_reset, "reset"), (self.connections_refused, "refused")];
        let cut = cut.into_iter().filter(|(count, _)| *count > 0);
        let cut = cut.map(|(count, what)| format!(", {} {what}", counted(count, "connection")));
        let rare: Vec<String> = rare.chain(cut).collect();
        write!(
            f,
            "{:.1} s; {} packets in, {} out, {dropped} dropped by the model{}; ",
            self.duration_s,
            self.packets_taken,
            self.packets_handed_out,
            rare.concat(),
        )?;
        // In simulated time nothing is ever late.
        if max_us > 0.0 {
            write!(
                f,
                "late by {median_us:.0} us at the median, {p99_us:.0} us at the 99th percentile, {max_us:.0} us at most; "
            )?;
        }
        match self.because.as_slice() {
            [] => write!(f, "trusted"),
            because => write!(f, "not to be trusted, because {}", because.join("; and because ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(median_us: f64, p99_us: f64) -> LatenessSummary {
        LatenessSummary { count: 1000, median_us, p99_us, max_us: p99_us }
    }

    #[test]
    fn packets_that_a_device_refused_are_reported() {
        let shown = |packets_refused| Summary { packets_refused, ..Summary::default() }.to_string();
        assert!(shown(19).contains("0 dropped by the model, 19 lost at a device that was down or gone; "));
        assert!(!shown(0).contains("device"));
    }

    #[test]
    fn a_run_is_trusted_if_it_kept_time() {
        let ran = Duration::from_secs(60);
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert!(reasons(&lateness(30.0, 200.0), &Stalls::default(), ran).is_empty());
        assert!(reasons(&lateness(30.0, 2000.0), &Stalls::default(), ran)[0].contains("99th"));
        assert!(reasons(&lateness(300.0, 900.0), &Stalls::default(), ran)[0].contains("median"));
        let mut stalls = Stalls::default();
        stalls.record(at(1), Duration::from_millis(30), Duration::ZERO);
        assert!(reasons(&lateness(30.0, 200.0), &stalls, ran).is_empty(), "one of 30 ms in a minute");
        stalls.record(at(2), Duration::from_millis(500), Duration::from_millis(400));
        assert_eq!(reasons(&lateness(30.0, 200.0), &stalls, ran).len(), 2);
        let mut long = Stalls::default();
        long.record(at(9), Duration::from_secs(9), Duration::from_secs(9));
        let because = reasons(&lateness(30.0, 200.0), &long, Duration::from_secs(1));
        assert!(because[0].contains("and 90.00% of the time"), "{because:?}");
    }
}
