//! The window over a hop that the connections of all hosts share.
//!
//! The rule is that of [`super::window`]: half of the way to where the round-trip time would be the
//! target. Everything else is simpler, because this window keeps a queue short for the sake of
//! others, and does not have to find out how much the hop carries:
//!
//! - The minimum is each host's smallest sample of a minute or two; for a round it is the mean of
//!   the minima of its samples' hosts. Where many stations send, they make the mean round trip
//!   long, and a window for that would fill the queue.
//! - The target for the queueing delay is the time of four segments at the rate of the last round,
//!   so that the hop has work while acknowledgments wait for the medium; it is at least
//!   `local-delay`. Two standard deviations of the round-trip time are added, at most the minimum:
//!   without a queue, the smallest sample is that far below the mean. The sum is limited to the
//!   delay that calls tolerate.
//! - A new window doubles in each round until a queue shows, or a loss.
//! - There are no trials, and the queue is not drained.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Lookup;
use lasthop_packet::Instant;

use super::round::Measured;
use super::targets::Targets;
use super::window::{LARGEST_WINDOW, moved};
use crate::windowed_min::WindowedMin;

/// The minimum round-trip time counts for at least this time and at most twice as long.
const LASTS: Duration = Duration::from_secs(60);

/// The target for the queue, in segments.
const QUEUE_SEGMENTS: u64 = 4;

/// Maximum number of hosts whose minimum round-trip time is known.
const MAX_HOSTS: usize = 1024;

/// The window, and the values that it follows from.
#[derive(Debug)]
pub(super) struct SharedWindow {
    /// Octets of payload that may be on the hop.
    pub(super) octets: u64,
    /// The minimum of the window.
    floor: u64,
    /// The largest segment.
    segment: u64,
    /// No queue has shown yet.
    is_new: bool,
    round_trips: Lookup<IpAddr, WindowedMin<Duration>>,
    /// The minimum round-trip times of the hosts of this round's samples: sum and count.
    min_rtts: (Duration, u32),
}

impl SharedWindow {
    pub(super) fn new() -> Self {
        let round_trips = Lookup::new();
        Self { octets: 0, floor: 0, segment: 0, is_new: true, round_trips, min_rtts: (Duration::ZERO, 0) }
    }

    /// Sets the minimum window, in segments of this size. Raising the floor raises the window to
    /// twice the new floor.
    pub(super) fn set_floor(&mut self, segments: u32, segment: u32) {
        self.segment = u64::from(segment);
        let floor = u64::from(segments) * self.segment;
        if floor > self.floor {
            self.octets = self.octets.max(2 * floor);
        }
        self.floor = floor;
    }

    /// Octets of allocated memory.
    pub(super) fn memory(&self) -> usize {
        self.round_trips.octets()
    }

    /// The recent minimum of a host's round-trip time.
    pub(super) fn min_rtt_of(&self, host: IpAddr) -> Option<Duration> {
        self.round_trips.get(&host)?.min()
    }

    /// Records a sample of a host's round-trip time, and the results of the round that it ends, if
    /// it ends one.
    pub(super) fn on_sample(
        &mut self,
        (host, rtt): (IpAddr, Duration),
        round: Option<Measured>,
        now: Instant,
        targets: &Targets,
    ) {
        if self.round_trips.len() >= MAX_HOSTS && self.round_trips.get(&host).is_none() {
            self.round_trips = Lookup::new();
        }
        let of_host = self.round_trips.get_or_insert_with(host, WindowedMin::new);
        of_host.update(rtt, LASTS, now);
        let min_rtt = of_host.min().unwrap_or(rtt);
        self.min_rtts = (self.min_rtts.0.saturating_add(min_rtt), self.min_rtts.1 + 1);
        if let Some(round) = round {
            let (sum, count) = std::mem::take(&mut self.min_rtts);
            self.on_round(&round, sum / count, targets);
        }
    }

    fn on_round(&mut self, round: &Measured, min_rtt: Duration, targets: &Targets) {
        let busy = Duration::from_micros(QUEUE_SEGMENTS * self.segment * 1_000_000 / round.rate.max(1));
        let varies = min_rtt.min(2 * round.deviation);
        let delay = (busy.max(targets.local_delay) + varies).min(targets.longest_delay);
        let target = min_rtt.saturating_add(delay);
        if self.is_new && round.rtt <= target && round.lost == 0 {
            self.octets = self.octets.max(2 * round.in_flight);
        } else if round.is_limited {
            self.is_new = false;
            self.octets = moved(self.octets, (min_rtt, target), round, round.lost);
        } else if round.rtt > target {
            // The senders limit the rate, and there is still a queue.
            self.is_new = false;
            self.octets = self.octets.min(round.in_flight);
        }
        self.octets = self.octets.clamp(self.floor, LARGEST_WINDOW);
    }
}
