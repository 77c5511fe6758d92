//! Figures 5.3 and 5.4: the recovery from the loss of two consecutive segments, event by event.
//!
//! The text gives the times of some events. With round trips of 351 ms, exchanges of 10 ms and
//! failed attempts of 11 ms they determine the history of the channel: the last round before the
//! loss began at 96,300 ms, its third segment needed three transmissions (so that the timer was
//! last started at 96,703 ms), then both segments used up nine transmissions each, and the segment
//! after them needed two (19 times 11 ms between 96,822 and 97,031 ms).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lasthop_packet::{Instant, Packet};
use lasthop_scenario::{Link, Scenario, SchemeChoice};
use lasthop_sim::observe::{End, LossCause};
use lasthop_sim::wireless::StateTrace;
use lasthop_sim::{Application, Interest, Observer, StateSource, TraceEvent};

use super::network::{Parameters, TRANSFER, experiment};
use super::tables::{IN_CATALOG, number_row};
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::{RunError, run_observed};
use crate::stats::Estimate;

/// The events at the sender and on the wireless link; times in milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// New segments sent: time, sequence number relative to the first octet.
    pub sent: Vec<(u64, u32)>,
    /// Segments retransmitted.
    pub sent_again: Vec<(u64, u32)>,
    /// ACKs received: time, acknowledgment number relative to the first octet.
    pub acks: Vec<(u64, u32)>,
    /// ICMP messages received.
    pub messages: Vec<u64>,
    /// Time-outs.
    pub timeouts: Vec<u64>,
    /// Fast retransmits.
    pub fast_retransmits: Vec<u64>,
    /// Transmissions that were lost: time, frame number.
    pub corrupted: Vec<(u64, u32)>,
    /// cwnd and ssthresh in octets after each change: time, cwnd, ssthresh.
    pub windows: Vec<(u64, u32, u32)>,
}

/// The start of the flow: five rounds before the first time that the text mentions.
const START: u64 = 96_300 - 5 * 351;
/// The stays in the bad state: beginning and end.
const BAD_STAYS: [(u64, u64); 2] = [(96_492, 96_508), (96_822, 97_025)];
/// The time at which the first of the two lost segments was sent.
const FIRST_LOST_SENT: u64 = 96_651;
/// Segment size.
const MSS: u32 = 1024;

/// The scenario of both figures.
pub fn scenario() -> Scenario {
    let mut scenario = experiment(Parameters {
        wired_delay: Duration::from_millis(170),
        mean_bad: Duration::from_millis(100),
        window_kb: 4,
    });
    let changes = BAD_STAYS.iter().flat_map(|(from, to)| [(*from, false), (*to, true)]);
    let trace = StateTrace::from_changes(changes.map(|(at, good)| (Instant::from_millis(at), good)));
    for link in &mut scenario.links {
        if let Link::Wireless { config, .. } = &mut link.link {
            config.channel.source = StateSource::Trace(Arc::new(trace.clone()));
        }
    }
    scenario.flows[0].start = Duration::from_millis(START);
    scenario.flows[0].application = Application::transfer(Some(TRANSFER.min(200 * u64::from(MSS))));
    scenario
}

/// Runs the scenario under a scheme and records the events.
pub fn timeline(
    scenario: &Scenario,
    scheme: &SchemeChoice,
    progress: &dyn Progress,
) -> Result<Timeline, RunError> {
    let log = Arc::new(Mutex::new(Timeline::default()));
    let recorder = Recorder { log: Arc::clone(&log), first: None };
    run_observed(scenario, scheme, 1, |_| Ok::<_, RunError>(vec![Box::new(recorder) as _]), progress)?;
    let timeline = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(timeline)
}

impl Timeline {
    /// The time from the first transmission of the first lost segment to the ACK of both segments,
    /// in milliseconds.
    pub fn recovery_ms(&self) -> Option<u64> {
        let (_, first_lost) = self.sent.iter().find(|(at, _)| *at >= FIRST_LOST_SENT)?;
        let end_of_both = first_lost + 2 * MSS;
        let (recovered, _) = self.acks.iter().find(|(_, ack)| *ack >= end_of_both)?;
        Some(recovered - FIRST_LOST_SENT)
    }
}

/// Figures 5.3 and 5.4 and appendix B.4 as rows.
pub(super) fn rows(progress: &dyn Progress) -> Result<Vec<Row>, RunError> {
    let scenario = scenario();
    let mut rows: Vec<Row> = Vec::new();
    let mut unmodified = Timeline::default();
    for (figure, scheme, published) in [("figure 5.3", "simple-icmp", 3054.0), ("figure 5.4", "none", 1754.0)]
    {
        let choice = SchemeChoice::new(scheme, toml::Table::new()).expect(IN_CATALOG);
        unmodified = timeline(&scenario, &choice, progress)?;
        let label = if scheme == "none" { "unmodified" } else { scheme };
        rows.push(exact(
            figure,
            label,
            "recovery time of two losses",
            "ms",
            published,
            unmodified.recovery_ms(),
        ));
    }
    let without = unmodified.recovery_ms().map(|ms| ms as f64);
    rows = rows.into_iter().map(|row| row.without_effect(without)).collect();
    let round_trip = || {
        let (sent, seq) = unmodified.sent.first()?;
        let (acked, _) = unmodified.acks.iter().find(|(_, ack)| ack > seq)?;
        Some(acked - sent)
    };
    let spacing = || {
        let mut lost = unmodified.corrupted.iter().filter(|(at, _)| *at >= BAD_STAYS[1].0);
        Some(lost.next()?.0.abs_diff(lost.next()?.0))
    };
    let retransmissions = || {
        let (_, frame) = unmodified.corrupted.iter().find(|(at, _)| *at >= BAD_STAYS[1].0)?;
        Some(unmodified.corrupted.iter().filter(|(_, number)| number == frame).count() as u64 - 1)
    };
    rows.push(exact("figure 5.3", "all", "round-trip time of one segment", "ms", 351.0, round_trip()));
    rows.push(exact(
        "appendix B.4",
        "link layer",
        "spacing of attempts in the bad state",
        "ms",
        11.0,
        spacing(),
    ));
    let attempts = "attempts after the first before a frame is dropped";
    rows.push(exact("appendix B.4", "link layer", attempts, "attempts", 8.0, retransmissions()));
    Ok(rows)
}

/// The row of a time, with a tolerance of 5 ms, or of a count, without tolerance.
fn exact(
    item: &str,
    scheme: &str,
    metric: &str,
    unit: &'static str,
    published: f64,
    measured: Option<u64>,
) -> Row {
    let tolerance = if unit == "ms" { 5.0 } else { 0.0 };
    let measured = measured.map(|measured| Estimate { mean: measured as f64, ci95: None });
    let tolerance = Reference::Range(published - tolerance, published + tolerance);
    number_row(item, (scheme, metric, unit), published, measured, 1, tolerance)
}

struct Recorder {
    log: Arc<Mutex<Timeline>>,
    /// The sequence number of the first octet; `None` before the first segment.
    first: Option<lasthop_packet::Seq>,
}

impl Recorder {
    fn relative(&self, seq: lasthop_packet::Seq) -> u32 {
        self.first.map_or(0, |first| seq - first)
    }

    fn seq_of(&self, packet: &Packet) -> u32 {
        packet.tcp().map_or(0, |tcp| self.relative(tcp.seq))
    }
}

impl Observer for Recorder {
    fn interest(&self) -> Interest {
        Interest::SEGMENTS | Interest::LOSSES | Interest::FRAMES | Interest::WINDOW
    }

    fn on_event(&mut self, now: Instant, event: &TraceEvent<'_>) {
        let at = now.as_millis();
        if let TraceEvent::SegmentSent { end: End::Sender, packet, .. } = event {
            self.first = self.first.or(packet.tcp().map(|tcp| tcp.seq));
        }
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            TraceEvent::SegmentSent { end: End::Sender, packet, again: false, .. } => {
                log.sent.push((at, self.seq_of(packet)));
            }
            TraceEvent::SegmentSent { end: End::Sender, packet, again: true, .. } => {
                log.sent_again.push((at, self.seq_of(packet)));
            }
            TraceEvent::SegmentReceived { end: End::Sender, packet, .. } => {
                log.acks.push((at, packet.tcp().map_or(0, |tcp| self.relative(tcp.ack))));
            }
            TraceEvent::IcmpReceived { .. } => log.messages.push(at),
            TraceEvent::Loss { cause: LossCause::Timeout, .. } => log.timeouts.push(at),
            TraceEvent::Loss { cause: LossCause::FastRetransmit, .. } => log.fast_retransmits.push(at),
            TraceEvent::Frame { lost: true, number, .. } => log.corrupted.push((at, *number)),
            TraceEvent::Window { sender, .. } => {
                let flight = sender.flight();
                let window = (at, flight.cwnd, flight.ssthresh);
                if log.windows.last().is_none_or(|last| (last.1, last.2) != (window.1, window.2)) {
                    log.windows.push(window);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn replay(scheme: &str) -> Timeline {
        let choice = SchemeChoice::new(scheme, toml::Table::new()).expect("in the catalog");
        timeline(&scenario(), &choice, &Silent).expect("it runs")
    }

    fn acks_from(timeline: &Timeline, from: u64) -> Vec<u64> {
        timeline.acks.iter().map(|(at, _)| *at).filter(|at| *at >= from).take(4).collect()
    }

    #[test]
    fn figure_5_3_simple_icmp_takes_two_timeouts() {
        let timeline = replay("simple-icmp");
        assert!(timeline.messages.contains(&97_003), "{:?}", timeline.messages);
        assert_eq!(timeline.timeouts, [98_003, 99_354]);
        assert_eq!(acks_from(&timeline, 97_000), [97_211, 97_221, 98_354, 98_705]);
        assert_eq!(timeline.recovery_ms(), Some(99_705 - 96_651));
        let last = timeline.windows.last().expect("windows");
        assert_eq!(last.2, 65_535, "ssthresh is spared");
    }

    #[test]
    fn figure_5_4_unmodified_takes_one() {
        let timeline = replay("none");
        assert_eq!(timeline.timeouts, [97_703]);
        assert_eq!(acks_from(&timeline, 97_000)[..3], [97_211, 97_221, 98_054]);
        assert!(timeline.acks.iter().any(|(at, _)| *at == 98_405));
        assert_eq!(timeline.recovery_ms(), Some(98_405 - 96_651));
        let windows: Vec<_> =
            timeline.windows.iter().filter(|(at, _, _)| (97_703..98_100).contains(at)).collect();
        assert_eq!(windows, [&(97_703, MSS, 2 * MSS), &(98_054, 2 * MSS, 2 * MSS)]);
    }

    #[test]
    fn two_consecutive_segments_are_lost_after_nine_transmissions_each() {
        let timeline = replay("none");
        let in_burst: Vec<_> = timeline.corrupted.iter().filter(|(at, _)| *at >= 96_822).collect();
        assert_eq!(in_burst.len(), 19);
        assert_eq!((in_burst[0].0, in_burst[18].0), (96_822, 97_020));
        assert!(in_burst.windows(2).all(|pair| pair[1].0 - pair[0].0 == 11));
    }
}
