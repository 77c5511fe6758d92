//! Whether a run can be believed: whether the machine that it ran on kept out of it.

use std::time::Duration;

use lasthop_config::words::counted;

use super::latency::RoundTrips;
use lasthop_emulator::Summary;
use lasthop_emulator::summary::{LARGEST_MEDIAN, LARGEST_P99};
use lasthop_gateway::packet_loop::LoopReport;
use lasthop_linux::processor::KeptWaiting;

/// A gateway that is away for so long has missed frames: they went past it, because its heartbeat
/// had gone stale.
pub const LARGEST_ABSENCE: Duration = Duration::from_millis(60);
/// What a gateway stands still is taken from the flow: as a part of the run it is what the goodput
/// may be wrong by. Runs of one scheme with different seeds lie further apart than this.
pub const LARGEST_PART_AWAY: f64 = 0.01;

/// What a gateway waits for a processor each time adds to every round trip, as the emulator's
/// lateness does.
pub const LARGEST_MEAN_WAIT: Duration = LARGEST_MEDIAN;

/// What the hosts' own threads wait for a processor each time delays what they write and read. Buffers on
/// both sides hide less than this from a bulk transfer, and a request and its answer are late by it.
pub const LARGEST_MEAN_WAIT_OF_A_HOST: Duration = LARGEST_P99;
/// The part of a latency that may come from the hosts' threads, which are no part of the path,
pub const LARGEST_PART_OF_LATENCY: f64 = 0.05;
/// if it is more than this: latencies are printed in tenths of milliseconds.
pub const LEAST_LATENESS: Duration = Duration::from_millis(1);

/// Why a run is not to be believed; each a sentence, none if it is. `hosts` tells how the thread of a host
/// waited for a processor that waited longest.
pub(super) fn doubts(
    emulator: &Summary,
    gateway: Option<&LoopReport>,
    round_trips: &RoundTrips,
    hosts: Option<KeptWaiting>,
) -> Vec<String> {
    let mut doubts = emulator.because.clone();
    doubts.extend(of_hosts(round_trips, hosts));
    doubts.extend(gateway.map(of_gateway).unwrap_or_default());
    doubts
}

fn of_hosts(round_trips: &RoundTrips, hosts: Option<KeptWaiting>) -> Vec<String> {
    let mut doubts = Vec::new();
    let millis = |time: Duration| 1e3 * time.as_secs_f64();
    for (share, name) in [(0.5, "median"), (0.95, "95th percentile")] {
        let (Some(latency), late) = (round_trips.quantile(share), round_trips.lateness(share)) else {
            continue;
        };
        if late > LEAST_LATENESS && late > latency.mul_f64(LARGEST_PART_OF_LATENCY) {
            doubts.push(format!(
                "the hosts themselves took {:.1} of the {:.1} ms of the latency's {name}",
                millis(late),
                millis(latency)
            ));
        }
    }
    let waited = hosts.map_or(0.0, KeptWaiting::mean_s);
    if waited > LARGEST_MEAN_WAIT_OF_A_HOST.as_secs_f64() {
        doubts.push(format!(
            "a host waited {:.1} ms for a processor each time, above the limit of {:.0} ms",
            1e3 * waited,
            millis(LARGEST_MEAN_WAIT_OF_A_HOST)
        ));
    }
    doubts
}

fn of_gateway(report: &LoopReport) -> Vec<String> {
    let mut doubts = Vec::new();
    let LoopReport { uptime_s, punctuality, link, .. } = report;
    let part = |seconds: f64| seconds / uptime_s.max(1e-9);
    let percent = |seconds: f64| format!("{:.1}% of the time", 100.0 * part(seconds));
    if punctuality.longest_absence_s >= LARGEST_ABSENCE.as_secs_f64() {
        doubts.push(format!(
            "the gateway was away for {:.0} ms: above {} ms, frames bypass it",
            1e3 * punctuality.longest_absence_s,
            LARGEST_ABSENCE.as_millis()
        ));
    }
    if part(punctuality.stalled_s) > LARGEST_PART_AWAY {
        doubts.push(format!(
            "the gateway stalled {}, {} in total",
            counted(punctuality.stalls, "time"),
            percent(punctuality.stalled_s)
        ));
    }
    let waited = punctuality.kept_waiting.map_or(0.0, KeptWaiting::mean_s);
    if waited > LARGEST_MEAN_WAIT.as_secs_f64() {
        doubts.push(format!(
            "the gateway waited {:.0} us for a processor each time, above the limit of {} us",
            1e6 * waited,
            LARGEST_MEAN_WAIT.as_micros()
        ));
    }
    if let Some(lost) = link.map(|link| link.lost).filter(|lost| *lost > 0) {
        doubts.push(format!("the gateway did not learn the fate of {}", counted(lost, "frame")));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_gateway::link::LinkReport;
    use lasthop_gateway::punctuality::PunctualityReport;

    fn run_of_ten_seconds(punctuality: PunctualityReport, lost: u64) -> Vec<String> {
        let link = Some(LinkReport { lost, ..LinkReport::default() });
        let report = LoopReport { uptime_s: 10.0, punctuality, link, ..LoopReport::default() };
        doubts(&Summary::default(), Some(&report), &RoundTrips::default(), None)
    }

    #[test]
    fn a_run_is_believed_if_emulator_and_gateway_kept_time() {
        assert!(doubts(&Summary::default(), None, &RoundTrips::default(), None).is_empty());
        let late = Summary { because: vec!["the emulator was late".to_owned()], ..Summary::default() };
        assert_eq!(doubts(&late, None, &RoundTrips::default(), None), ["the emulator was late"]);
        let punctual = PunctualityReport {
            stalls: 2,
            stalled_s: 0.05,
            longest_absence_s: 0.04,
            kept_waiting: Some(KeptWaiting { total_s: 0.09, times: 10_000 }),
            ..PunctualityReport::default()
        };
        assert!(run_of_ten_seconds(punctual, 0).is_empty(), "half of a percent, and never for long");
    }

    #[test]
    fn a_gateway_that_was_away_makes_a_run_doubtful() {
        let well = PunctualityReport::default();
        let kept_waiting = Some(KeptWaiting { total_s: 0.3, times: 1000 });
        for (late, word) in [
            (PunctualityReport { longest_absence_s: 0.061, ..well }, "away for 61 ms"),
            (PunctualityReport { stalls: 9, stalled_s: 0.2, ..well }, "stalled 9 times, 2.0% of the time"),
            (PunctualityReport { kept_waiting, ..well }, "waited 300 us for a processor each time"),
        ] {
            let doubts = run_of_ten_seconds(late, 0);
            assert!(doubts.len() == 1 && doubts[0].contains(word), "{doubts:?}");
        }
        assert!(run_of_ten_seconds(well, 7)[0].contains("7 frames"));
    }

    #[test]
    fn a_latency_that_the_hosts_themselves_have_lengthened_makes_a_run_doubtful() {
        let of = |took: u64, late: u64, waited_s: f64| {
            let trip = (Duration::from_micros(took), Duration::from_micros(late));
            let hosts = KeptWaiting { total_s: waited_s, times: 1000 };
            doubts(&Summary::default(), None, &RoundTrips::of(vec![trip; 20], 20), Some(hosts))
        };
        assert!(of(56_000, 900, 0.5).is_empty(), "less than a millisecond");
        assert!(of(100_000, 4_000, 0.9).is_empty(), "4% of it");
        let doubts = of(56_000, 3_000, 0.0);
        assert!(
            doubts.len() == 2 && doubts[1].contains("3.0 of the 56.0 ms of the latency's 95th"),
            "{doubts:?}"
        );
        assert!(of(56_000, 0, 2.5)[0].contains("a host waited 2.5 ms for a processor each time"));
    }
}
