//! Whether a run can be trusted, or the machine on which it ran has influenced it.

use std::time::Duration;

use lasthop_config::words::counted;

use super::latency::RoundTrips;
use lasthop_emulator::Summary;
use lasthop_emulator::summary::{LARGEST_MEDIAN, LARGEST_P99};
use lasthop_gateway::packet_loop::LoopReport;
use lasthop_linux::processor::KeptWaiting;

/// The absence of a gateway from which frames have bypassed it, because its heartbeat was stale.
const LARGEST_ABSENCE: Duration = Duration::from_millis(60);
/// The largest share of the run for which a gateway may stall. A stall reduces the goodput of
/// flows, by about its share of the run. Runs of one scheme with different seeds differ by more
/// than this.
const LARGEST_PART_AWAY: f64 = 0.01;

/// The largest mean wait of a gateway for a processor. It adds to every round trip, as the
/// emulator's lateness does.
const LARGEST_MEAN_WAIT: Duration = LARGEST_MEDIAN;

/// The largest mean wait of a host's threads for a processor. It delays their reads and writes. For
/// a bulk transfer, buffers on both sides hide waits below it; a request and its response are late
/// by it.
const LARGEST_MEAN_WAIT_OF_A_HOST: Duration = LARGEST_P99;
/// The largest part of a latency that may be due to the hosts' threads, which are not part of the
/// path.
const LARGEST_PART_OF_LATENCY: f64 = 0.05;
/// The lateness up to which this part does not matter: latencies are printed in tenths of
/// milliseconds.
const MIN_LATENESS: Duration = Duration::from_millis(1);

/// The reasons for which a run is not trusted, each a sentence; empty if it is trusted. `hosts` has
/// the waits for a processor of the host thread that waited longest.
pub(super) fn reasons<'a>(
    emulator: &Summary,
    gateways: impl IntoIterator<Item = &'a LoopReport>,
    round_trips: &RoundTrips,
    hosts: Option<KeptWaiting>,
) -> Vec<String> {
    let mut reasons = emulator.because.clone();
    reasons.extend(of_hosts(round_trips, hosts));
    reasons.extend(gateways.into_iter().flat_map(of_gateway));
    reasons
}

fn of_hosts(round_trips: &RoundTrips, hosts: Option<KeptWaiting>) -> Vec<String> {
    let mut reasons = Vec::new();
    let millis = |time: Duration| 1e3 * time.as_secs_f64();
    for (share, name) in [(0.5, "median"), (0.95, "95th percentile")] {
        let (Some(latency), late) = (round_trips.quantile(share), round_trips.lateness(share)) else {
            continue;
        };
        if late > MIN_LATENESS && late > latency.mul_f64(LARGEST_PART_OF_LATENCY) {
            reasons.push(format!(
                "the hosts themselves took {:.1} of the {:.1} ms of the latency's {name}",
                millis(late),
                millis(latency)
            ));
        }
    }
    let waited = hosts.map_or(0.0, KeptWaiting::mean_s);
    if waited > LARGEST_MEAN_WAIT_OF_A_HOST.as_secs_f64() {
        reasons.push(format!(
            "a host waited {:.1} ms for a processor each time, above the limit of {:.0} ms",
            1e3 * waited,
            millis(LARGEST_MEAN_WAIT_OF_A_HOST)
        ));
    }
    reasons
}

fn of_gateway(report: &LoopReport) -> Vec<String> {
    let mut reasons = Vec::new();
    let LoopReport { uptime_s, punctuality, link, .. } = report;
    let part = |seconds: f64| seconds / uptime_s.max(1e-9);
    let percent = |seconds: f64| format!("{:.1}% of the time", 100.0 * part(seconds));
    if punctuality.longest_absence_s >= LARGEST_ABSENCE.as_secs_f64() {
        reasons.push(format!(
            "the gateway was away for {:.0} ms: above {} ms, frames bypass it",
            1e3 * punctuality.longest_absence_s,
            LARGEST_ABSENCE.as_millis()
        ));
    }
    if part(punctuality.stalled_s) > LARGEST_PART_AWAY {
        reasons.push(format!(
            "the gateway stalled {}, {} in total",
            counted(punctuality.stalls, "time"),
            percent(punctuality.stalled_s)
        ));
    }
    let waited = punctuality.kept_waiting.map_or(0.0, KeptWaiting::mean_s);
    if waited > LARGEST_MEAN_WAIT.as_secs_f64() {
        reasons.push(format!(
            "the gateway waited {:.0} us for a processor each time, above the limit of {} us",
            1e6 * waited,
            LARGEST_MEAN_WAIT.as_micros()
        ));
    }
    if let Some(lost) = link.map(|link| link.lost).filter(|lost| *lost > 0) {
        reasons.push(format!("the gateway did not learn the fate of {}", counted(lost, "frame")));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_gateway::link::LinkReport;
    use lasthop_gateway::punctuality::PunctualityReport;

    fn run_of_ten_seconds(punctuality: PunctualityReport, lost: u64) -> Vec<String> {
        let link = Some(LinkReport { lost, ..LinkReport::default() });
        let report = LoopReport { uptime_s: 10.0, punctuality, link, ..LoopReport::default() };
        reasons(&Summary::default(), &[report], &RoundTrips::default(), None)
    }

    #[test]
    fn a_run_is_trusted_if_emulator_and_gateway_were_on_time() {
        assert!(reasons(&Summary::default(), [], &RoundTrips::default(), None).is_empty());
        let late = Summary { because: vec!["the emulator was late".to_owned()], ..Summary::default() };
        assert_eq!(reasons(&late, [], &RoundTrips::default(), None), ["the emulator was late"]);
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
    fn an_absent_gateway_makes_a_run_untrusted() {
        let well = PunctualityReport::default();
        let kept_waiting = Some(KeptWaiting { total_s: 0.3, times: 1000 });
        for (late, word) in [
            (PunctualityReport { longest_absence_s: 0.061, ..well }, "away for 61 ms"),
            (PunctualityReport { stalls: 9, stalled_s: 0.2, ..well }, "stalled 9 times, 2.0% of the time"),
            (PunctualityReport { kept_waiting, ..well }, "waited 300 us for a processor each time"),
        ] {
            let reasons = run_of_ten_seconds(late, 0);
            assert!(reasons.len() == 1 && reasons[0].contains(word), "{reasons:?}");
        }
        assert!(run_of_ten_seconds(well, 7)[0].contains("7 frames"));
    }

    #[test]
    fn lateness_of_the_hosts_makes_a_run_untrusted() {
        let of = |took: u64, late: u64, waited_s: f64| {
            let trip = (Duration::from_micros(took), Duration::from_micros(late));
            let hosts = KeptWaiting { total_s: waited_s, times: 1000 };
            reasons(&Summary::default(), [], &RoundTrips::from_times(vec![trip; 20]), Some(hosts))
        };
        assert!(of(56_000, 900, 0.5).is_empty(), "less than a millisecond");
        assert!(of(100_000, 4_000, 0.9).is_empty(), "4% of it");
        let reasons = of(56_000, 3_000, 0.0);
        assert!(
            reasons.len() == 2 && reasons[1].contains("3.0 of the 56.0 ms of the latency's 95th"),
            "{reasons:?}"
        );
        assert!(of(56_000, 0, 2.5)[0].contains("a host waited 2.5 ms for a processor each time"));
    }
}
