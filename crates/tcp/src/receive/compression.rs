//! ACK compression: fewer ACKs while there is a gap.
//!
//! As in Linux 6.18 (`__tcp_ack_snd_check`, `tcp_compressed_ack_kick`, since 4.18): a receiver with SACK
//! need not send an ACK for each segment above a gap, after enough ACKs for the sender to begin recovery.

use std::time::Duration;

use lasthop_packet::Seq;

/// Number of segments above the same gap that are acknowledged at once.
const AT_ONCE: u32 = 3;
/// Maximum number of ACKs replaced by one (`tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// The maximum delay of an ACK (`tcp_comp_sack_delay_ns`).
const LONGEST: Duration = Duration::from_millis(1);
/// The maximum delay as a fraction of a round trip.
const PART_OF_ROUND_TRIP: u32 = 20;

/// The slack of the kernel's timer (`tcp_comp_sack_slack_ns`), which it uses if nothing else wakes the
/// processor.
const SLACK: Duration = Duration::from_micros(100);

/// Delayed ACKs.
#[derive(Debug)]
pub(super) struct Compression {
    /// RCV.NXT of the gap that [`Self::reports`] counts for.
    gap: Seq,
    /// ACKs sent at once for this gap, at most [`AT_ONCE`].
    reports: u32,
    held_back: u32,
}

impl Compression {
    pub(super) const fn new() -> Self {
        Self { gap: Seq(0), reports: AT_ONCE, held_back: 0 }
    }

    /// A segment arrived above the gap at `next`. Returns the delay of its ACK, if it may wait; `round_trip` is
    /// zero if unknown.
    pub(super) fn hold_back(&mut self, next: Seq, round_trip: Duration) -> Option<Duration> {
        if self.held_back >= MAX_COMPRESSED {
            return None;
        }
        if self.gap != next || self.reports < AT_ONCE {
            self.reports = if self.gap == next { self.reports + 1 } else { 1 };
            self.gap = next;
            return None;
        }
        let delay = LONGEST.min(round_trip / PART_OF_ROUND_TRIP);
        if delay.is_zero() {
            return None;
        }
        self.held_back += 1;
        Some(delay + SLACK)
    }

    /// Whether an ACK waits.
    pub(super) const fn is_holding_back(&self) -> bool {
        self.held_back > 0
    }

    pub(super) const fn on_ack_sent(&mut self) {
        self.held_back = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn three_acks_for_a_gap_are_sent_at_once_and_then_one_for_up_to_44() {
        let mut compression = Compression::new();
        for gap in [Seq(5000), Seq(7000)] {
            for _ in 0..AT_ONCE {
                assert_eq!(compression.hold_back(gap, RTT), None);
                compression.on_ack_sent();
            }
            for _ in 0..MAX_COMPRESSED {
                assert_eq!(compression.hold_back(gap, RTT), Some(LONGEST + SLACK));
            }
            assert_eq!(compression.hold_back(gap, RTT), None);
            compression.on_ack_sent();
            assert!(!compression.is_holding_back());
            assert_eq!(compression.hold_back(gap, RTT), Some(LONGEST + SLACK));
            compression.on_ack_sent();
        }
    }

    #[test]
    fn an_ack_waits_for_a_twentieth_of_a_round_trip_at_most() {
        let mut compression = Compression::new();
        (compression.gap, compression.reports) = (Seq(1), AT_ONCE);
        assert_eq!(compression.hold_back(Seq(1), Duration::from_millis(4)), Some(Duration::from_micros(300)));
        assert_eq!(compression.hold_back(Seq(1), Duration::ZERO), None);
    }
}
