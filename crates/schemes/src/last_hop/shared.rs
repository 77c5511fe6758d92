//! How much may be on the hop where the connections of all hosts share one window.
//!
//! The rule is that of [`super::window`]: half of the way to where the round-trip time would be the
//! target. It is simpler in all else, because it has to keep a queue short for the sake of others, and
//! not to find out how much the hop carries:
//!
//! - `least` is the least sample of a minute or two, whichever host it is of. Many stations make the
//!   mean round-trip time long by sending themselves, and a window for that would fill the queue.
//! - The queue that is aimed at takes as long as four segments do at the rate of the last round:
//!   so the hop has work while acknowledgments wait for the medium. It takes `local-delay` at
//!   least, and what calls bear at most.
//! - Nothing is tried, and the queue is not drained.

use std::time::Duration;

use lasthop_packet::Instant;

use super::aims::Aims;
use super::round::Measured;
use super::window::{LARGEST_WINDOW, moved};
use crate::lately::LeastLately;

/// The least round-trip time counts for this long, up to twice as long.
const LASTS: Duration = Duration::from_secs(60);

/// The queue that is aimed at, in segments.
const SEGMENTS: u64 = 4;

/// The window, and what it follows from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedWindow {
    /// Octets of payload that may be on the hop.
    pub(super) octets: u64,
    /// It is never smaller.
    floor: u64,
    /// The largest segment.
    segment: u64,
    round_trips: LeastLately<Duration>,
}

impl SharedWindow {
    /// The window is never smaller than `least` segments of this size. Raising the floor raises the
    /// window to twice the new floor.
    pub(super) fn set_floor(&mut self, least: u32, segment: u32) {
        self.segment = u64::from(segment);
        let floor = u64::from(least) * self.segment;
        if floor > self.floor {
            self.octets = self.octets.max(2 * floor);
        }
        self.floor = floor;
    }

    /// The least round-trip time.
    pub(super) fn least(&self) -> Option<Duration> {
        self.round_trips.least()
    }

    /// Takes in a sample of the round-trip time, and what the round showed that it ends, if it does.
    pub(super) fn on_sample(&mut self, rtt: Duration, round: Option<Measured>, now: Instant, aims: &Aims) {
        self.round_trips.note(rtt, LASTS, now);
        let (Some(round), Some(least)) = (round, self.least()) else { return };
        let work = Duration::from_micros(SEGMENTS * self.segment * 1_000_000 / round.rate.max(1));
        let delay = work.max(aims.local_delay).min(aims.longest_delay);
        let target = least.saturating_add(delay);
        if round.is_limited {
            self.octets = moved(self.octets, (least, target), &round, round.lost);
        } else if round.rtt > target {
            // The senders limit, and still there is a queue.
            self.octets = self.octets.min(round.in_flight);
        }
        self.octets = self.octets.clamp(self.floor, LARGEST_WINDOW);
    }
}
