//! How much may be on the hop where the connections of all hosts share one window.
//!
//! The rule is that of [`super::window`]: half of the way to where the round-trip time would be the
//! target. It is simpler in all else, because it has to keep a queue short for the sake of others, and
//! not to find out how much the hop carries:
//!
//! - `least` is each host's least sample of a minute or two, and of a round the mean of those of its
//!   samples' hosts. Where many stations send, they make the mean round trip long, and a window for
//!   that would fill the queue.
//! - The queue that is aimed at takes as long as four segments do at the rate of the last round:
//!   so the hop has work while acknowledgments wait for the medium. It takes `local-delay` at
//!   least. Two standard deviations of the round-trip time come on top, `least` at most: the least
//!   sample is as far below the mean without a queue. In all it is what calls bear at most.
//! - A new window doubles in each round until a queue shows, or a loss.
//! - Nothing is tried, and the queue is not drained.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Lookup;
use lasthop_packet::Instant;

use super::round::Measured;
use super::targets::Targets;
use super::window::{LARGEST_WINDOW, moved};
use crate::windowed_min::WindowedMin;

/// The least round-trip time counts for this long, up to twice as long.
const LASTS: Duration = Duration::from_secs(60);

/// The queue that is aimed at, in segments.
const SEGMENTS: u64 = 4;

/// Hosts of which the least round-trip time is known.
const MOST_HOSTS: usize = 1024;

/// The window, and what it follows from.
#[derive(Debug)]
pub(super) struct SharedWindow {
    /// Octets of payload that may be on the hop.
    pub(super) octets: u64,
    /// It is never smaller.
    floor: u64,
    /// The largest segment.
    segment: u64,
    /// No queue has shown yet.
    is_new: bool,
    round_trips: Lookup<IpAddr, WindowedMin<Duration>>,
    /// The least round-trip times of this round's samples: their sum, and how many.
    least: (Duration, u32),
}

impl SharedWindow {
    pub(super) fn new() -> Self {
        let round_trips = Lookup::new();
        Self { octets: 0, floor: 0, segment: 0, is_new: true, round_trips, least: (Duration::ZERO, 0) }
    }

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

    /// Octets of memory that it has taken.
    pub(super) fn memory(&self) -> usize {
        self.round_trips.octets()
    }

    /// The least round-trip time of a host lately.
    pub(super) fn least_of(&self, host: IpAddr) -> Option<Duration> {
        self.round_trips.get(&host)?.least()
    }

    /// Takes in a sample of a host's round-trip time, and what the round showed that it ends, if it
    /// does.
    pub(super) fn on_sample(
        &mut self,
        (host, rtt): (IpAddr, Duration),
        round: Option<Measured>,
        now: Instant,
        targets: &Targets,
    ) {
        if self.round_trips.len() >= MOST_HOSTS && self.round_trips.get(&host).is_none() {
            self.round_trips = Lookup::new();
        }
        let of_host = self.round_trips.get_or_insert_with(host, WindowedMin::new);
        of_host.update(rtt, LASTS, now);
        let least = of_host.least().unwrap_or(rtt);
        self.least = (self.least.0.saturating_add(least), self.least.1 + 1);
        if let Some(round) = round {
            let (sum, count) = std::mem::take(&mut self.least);
            self.on_round(&round, sum / count, targets);
        }
    }

    fn on_round(&mut self, round: &Measured, least: Duration, targets: &Targets) {
        let work = Duration::from_micros(SEGMENTS * self.segment * 1_000_000 / round.rate.max(1));
        let varies = least.min(2 * round.deviation);
        let delay = (work.max(targets.local_delay) + varies).min(targets.longest_delay);
        let target = least.saturating_add(delay);
        if self.is_new && round.rtt <= target && round.lost == 0 {
            self.octets = self.octets.max(2 * round.in_flight);
        } else if round.is_limited {
            self.is_new = false;
            self.octets = moved(self.octets, (least, target), round, round.lost);
        } else if round.rtt > target {
            // The senders limit, and still there is a queue.
            self.is_new = false;
            self.octets = self.octets.min(round.in_flight);
        }
        self.octets = self.octets.clamp(self.floor, LARGEST_WINDOW);
    }
}
