//! Invariants of the scoreboard, over any sequence of events.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// Events, in segments.
#[derive(Clone, Copy, Debug)]
enum Event {
    Transmit(u32),
    RetransmittedBySender(u32, u32),
    Acknowledge(u32),
    Sack(u32, u32),
    MarkLost(u32),
    Probe(u32),
    EndReorderingWindow,
    /// Takes lost ranges, and repairs them or not.
    TakeLost(bool),
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1u32..30).prop_map(Event::Transmit),
        4 => (0u32..60, 1u32..40).prop_map(|(at, length)| Event::RetransmittedBySender(at, length)),
        2 => (0u32..40).prop_map(Event::Acknowledge),
        3 => (0u32..60, 1u32..20).prop_map(|(at, length)| Event::Sack(at, length)),
        2 => (0u32..60).prop_map(Event::MarkLost),
        2 => (0u32..60).prop_map(Event::Probe),
        1 => Just(Event::EndReorderingWindow),
        3 => any::<bool>().prop_map(Event::TakeLost),
    ]
}

/// A scoreboard and the numbers around it: octets in tens, so that parts of segments occur.
struct Run {
    scoreboard: Scoreboard,
    acked: Seq,
    sent: Seq,
    now: Instant,
}

const SEGMENT: u32 = 10;
const SPLITS: usize = 100;

impl Run {
    fn step(&mut self, event: Event) {
        self.now += Duration::from_millis(1);
        let (now, acked, sent) = (self.now, self.acked, self.sent);
        let at = |offset: u32| (acked + offset * SEGMENT / 2).earlier(sent);
        match event {
            Event::Transmit(count) => (0..count).for_each(|_| {
                self.scoreboard.transmit(self.sent, self.sent + SEGMENT, now, Departure::New);
                self.sent += SEGMENT;
            }),
            Event::RetransmittedBySender(from, length) => {
                self.scoreboard.retransmitted_by_sender(at(from), at(from + length), now, SPLITS);
            }
            Event::Acknowledge(by) => {
                self.acked = at(by);
                self.scoreboard.acknowledge(self.acked, &[], now, Duration::ZERO, SPLITS);
            }
            Event::Sack(from, length) => {
                self.scoreboard.sack_seen = true;
                let block = (at(from), at(from + length));
                self.scoreboard.acknowledge(acked, &[block], now, Duration::ZERO, SPLITS);
            }
            Event::MarkLost(from) => self.scoreboard.mark_lost(at(from), now),
            Event::Probe(from) => self.scoreboard.probed(at(from), at(from) + SEGMENT, now),
            Event::EndReorderingWindow => self.scoreboard.end_reordering_window(),
            Event::TakeLost(repairs) => {
                while let Some(range) = self.scoreboard.next_lost(now) {
                    assert_eq!(range.state, State::Lost);
                    if repairs {
                        self.scoreboard.repaired(range.seq, now);
                    }
                }
            }
        }
    }

    fn outstanding(&self) -> usize {
        (self.sent - self.acked).div_ceil(SEGMENT) as usize
    }

    fn check(&self) {
        let Scoreboard { ranges, log, .. } = &self.scoreboard;
        assert!(ranges.len() <= self.outstanding() + SPLITS);
        assert!(log.len() <= 2 * ranges.len() + 17, "{} of {} ranges", log.len(), ranges.len());
        let max = 64 * size_of::<Range>() + ranges.len() * (4 * size_of::<Range>() + 8 * 24);
        assert!(
            self.scoreboard.allocated() <= 4096 + max,
            "{} for {}",
            self.scoreboard.allocated(),
            ranges.len()
        );
        let octets = |counts: fn(State) -> bool| -> u64 {
            ranges.iter().filter(|range| counts(range.state)).map(Range::octets).sum()
        };
        assert_eq!(self.scoreboard.in_flight(), octets(|state| state == State::InFlight));
        assert_eq!(self.scoreboard.unsacked(), octets(|state| state != State::Sacked));
        let ends = ranges.iter().zip(ranges.iter().skip(1));
        assert!(ends.into_iter().all(|(a, b)| !a.end.after(b.seq)));
    }
}

proptest! {
    #[test]
    fn memory_is_bounded_by_the_outstanding_data(
        events in proptest::collection::vec(any_event(), 1..400),
        start in any::<u32>(),
    ) {
        let start = Seq(start);
        let mut run = Run { scoreboard: Scoreboard::new(1), acked: start, sent: start, now: Instant::from_secs(1) };
        for event in events {
            run.step(event);
            run.check();
        }
    }
}

fn scoreboard(segments: u32) -> Scoreboard {
    let mut scoreboard = Scoreboard::new(0);
    scoreboard.record_segment(SEGMENT);
    for segment in 0..segments {
        scoreboard.transmit(
            Seq(segment * SEGMENT),
            Seq((segment + 1) * SEGMENT),
            Instant::from_secs(1),
            Departure::New,
        );
    }
    scoreboard
}

#[test]
fn the_first_sack_block_after_a_long_time_is_cheap() {
    let mut scoreboard = scoreboard(0);
    let now = Instant::from_secs(1);
    for segment in 0..100_000u32 {
        scoreboard.transmit(Seq(segment * 10), Seq(segment * 10 + 10), now, Departure::New);
        if segment >= 20 {
            scoreboard.acknowledge(Seq((segment - 20) * 10), &[], now, Duration::ZERO, SPLITS);
        }
    }
    assert!(scoreboard.log.len() <= 2 * 21 + 17, "{}", scoreboard.log.len());
}

#[test]
fn needlessly_repeated_data_proves_nothing_about_later_segments() {
    let now = Instant::from_secs(1);
    let mut scoreboard = scoreboard(30);
    scoreboard.sack_seen = true;
    // The second was lost, and its copy left after all others: so it has the highest number, and
    // the block begins with it.
    scoreboard.acknowledge(Seq(10), &[(Seq(20), Seq(300))], now, Duration::ZERO, SPLITS);
    while let Some(range) = scoreboard.next_lost(now) {
        scoreboard.repaired(range.seq, now);
    }
    scoreboard.acknowledge(Seq(0), &[(Seq(10), Seq(300))], now, Duration::ZERO, SPLITS);
    scoreboard.retransmitted_by_sender(Seq(10), Seq(300), now, SPLITS);
    scoreboard.transmit(Seq(300), Seq(400), now, Departure::New);
    scoreboard.acknowledge(Seq(300), &[], now, Duration::ZERO, SPLITS);
    assert_eq!(scoreboard.next_lost(now).map(|range| range.seq), None, "all of it is on its way");
}

#[test]
fn data_above_a_filled_hole_gives_no_round_trip_time() {
    let (mut filled, mut intact) = (scoreboard(3), scoreboard(3));
    let late = Instant::from_secs(100);
    filled.probed(Seq(0), Seq(10), late);
    // The second and third arrived at once; the ACK of them was lost.
    let progress = filled.acknowledge(Seq(30), &[], late, Duration::ZERO, SPLITS);
    assert_eq!((progress.delivered, progress.sent), (30, None));
    let progress = intact.acknowledge(Seq(30), &[], late, Duration::ZERO, SPLITS);
    assert_eq!(progress.sent, Some(Instant::from_secs(1)));
}
