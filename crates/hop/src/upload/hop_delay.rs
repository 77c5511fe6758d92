//! The queueing delay on the way from the mobile host, from the timestamps of passing packets (RFC
//! 7323). Two signs show that a loss is due to congestion:
//!
//! - *A full queue.* A packet that entered a queue just before one that overflowed it waited as
//!   long as that queue can make a packet wait. So did the packet just after, unless the tail of a
//!   burst was lost. So a loss may be due to congestion if a neighbor of it waited nearly as long
//!   as any packet of the last seconds. It is if losses next to such packets are more frequent than
//!   other losses (`losses`): a hop that loses frames also loses some of those. (The Spike scheme
//!   treats all packets in the upper half of the delay alike: S. Cen, P. C. Cosman, G. M. Voelker,
//!   "End-to-end differentiation of congestion and wireless losses", IEEE/ACM Transactions on
//!   Networking 11(5), 2003. A sender whose window has just been restored sends a burst, which is
//!   half of a queue.)
//! - *A standing queue.* Every packet of a tenth of a second had to wait. `CoDel` (RFC 8289) and
//!   RED drop at such a queue long before it is full.
//!
//! The first sign is the lateness of packets against the clock of their own timestamps. The clock
//! is assumed to have ticks of 1 ms, as with Linux, Android, macOS and FreeBSD. While it looks like
//! another clock, every loss may be due to congestion. Clocks drift apart, so only differences
//! within seconds are seen. The second sign is the round trip over the hop, from an ACK to the
//! first data that echoes its timestamp, against the minimum ever seen. Where the delay of the hop
//! itself varies, consecutive round trips differ; up to twice their mean difference does not count
//! as a queue.

use std::time::Duration;

use lasthop_packet::{Instant, Seq};

use super::losses::Losses;

/// Microseconds after which data no longer counts as the answer to an ACK: a mobile host that has
/// sent no data for a while echoes late.
const MAX_ROUND_TRIP: u32 = 10_000_000;

/// How long the observed maximum and minimum count, in milliseconds, to within a factor of two. A
/// queue that overflows fills again within this time, or hardly matters.
const MEMORY: u64 = 5_000;
/// `CoDel`'s interval in milliseconds, and its target in microseconds (RFC 8289, section 4).
const INTERVAL: u64 = 100;
const TARGET: i32 = 5_000;
/// The difference between two measurements of the same delay, in microseconds: a tick of the
/// timestamps, a packet, and occasional scheduling delay of a host. It is limited to half of the
/// observed maximum.
const BLUR: i32 = 5_000;
/// The maximum that a queue may add to the time between two packets, in microseconds.
const MAX_QUEUEING: u32 = 200_000;
/// How long a clock has to look like one of milliseconds before it is treated as one again. By
/// chance, a clock of microseconds does for some tenths of every 4.3 s.
const PROBATION: Duration = Duration::from_secs(10);

/// The delay of one mobile host's hop, as one connection shows it. The state is constant; times are
/// in microseconds, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopDelay {
    /// Waiting time that counts as noise, in microseconds.
    floor: i32,
    /// The arrival of the first packet, by its own clock and by ours.
    first: Option<(u32, u32)>,
    /// When a timestamp last looked as if its clock had other ticks, or its queue were very long.
    /// If the clock is the reason, timestamps continue to look like that.
    looked_other: Option<Instant>,
    /// The lateness of the latest two packets relative to the first: the neighbors of a loss that
    /// shows now.
    neighbors: [i32; 2],
    maximum: Slots<MEMORY>,
    minimum: Slots<MEMORY>,
    /// The timestamp of the ACK that is timed, and when it left.
    timed: Option<(Seq, u32)>,
    /// The minimum round trip ever; the next field has the recent minimum.
    min_round_trip: Option<i32>,
    recent_round_trips: Slots<INTERVAL>,
    latest_round_trip: Option<i32>,
    /// The difference between consecutive round trips, smoothed.
    variation: i32,
    losses: Losses,
}

/// A value of the current period of time, and of the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Slots<const MILLIS: u64> {
    ends: Instant,
    now: Option<i32>,
    before: Option<i32>,
}

impl<const MILLIS: u64> Slots<MILLIS> {
    fn take(&mut self, value: i32, now: Instant, which: fn(i32, i32) -> i32) {
        let period = Duration::from_millis(MILLIS);
        if now >= self.ends {
            self.before = self.now.filter(|_| now.since(self.ends) < period);
            (self.now, self.ends) = (None, now + period);
        }
        self.now = Some(self.now.map_or(value, |known| which(known, value)));
    }

    fn of(&self, which: fn(i32, i32) -> i32) -> i32 {
        let now = self.now.unwrap_or(0);
        self.before.map_or(now, |before| which(before, now))
    }
}

impl HopDelay {
    /// A hop about which nothing is known. Waiting for no more than `floor` counts as noise.
    pub fn new(floor: Duration) -> Self {
        Self { floor: i32::try_from(floor.as_micros()).unwrap_or(i32::MAX), ..Self::default() }
    }

    /// Records an ACK that leaves towards the mobile host.
    pub fn on_ack(&mut self, timestamp: Seq, now: Instant) {
        let at = micros(now);
        if self.timed.is_none_or(|(_, left)| at.wrapping_sub(left) > MAX_ROUND_TRIP) {
            self.timed = Some((timestamp, at));
        }
    }

    /// Records data with its timestamp and echoed timestamp; `is_loss` if it leaves a hole.
    pub fn on_data(&mut self, timestamp: Seq, echo: Seq, is_loss: bool, now: Instant) {
        let (stamp, at) = (timestamp.0.wrapping_mul(1000), micros(now));
        let (first_stamp, first_at) = *self.first.get_or_insert((stamp, at));
        let (ticked, passed) = (stamp.wrapping_sub(first_stamp), at.wrapping_sub(first_at));
        let late = passed.wrapping_sub(ticked).cast_signed();
        if late.unsigned_abs() > passed / 8 + MAX_QUEUEING {
            self.looked_other = Some(now);
        }
        if passed > u32::MAX / 4 {
            // Before it wraps, the reference moves; the lateness stays the same.
            self.first = Some((stamp, at.wrapping_sub(late.cast_unsigned())));
        }
        self.neighbors = [late, self.neighbors[0]];
        self.maximum.take(late, now, i32::max);
        self.minimum.take(late, now, i32::min);
        // While a queue stands, nothing shows which packets are lost without one.
        if !self.stands() {
            self.losses.on_packet(self.is_long(), is_loss, now);
        }
        if let Some((_, left)) = self.timed.filter(|(timestamp, _)| !echo.before(*timestamp)) {
            self.timed = None;
            let round_trip = at.wrapping_sub(left);
            if round_trip <= MAX_ROUND_TRIP {
                let round_trip = round_trip.cast_signed();
                if let Some(latest) = self.latest_round_trip.replace(round_trip) {
                    self.variation += ((round_trip - latest).abs() - self.variation) / 8;
                }
                self.min_round_trip =
                    Some(self.min_round_trip.map_or(round_trip, |minimum| minimum.min(round_trip)));
                self.recent_round_trips.take(round_trip, now, i32::min);
            }
        }
    }

    /// The minimum round trip over the hop.
    pub fn round_trip(&self) -> Option<Duration> {
        let micros = u64::try_from(self.min_round_trip?).ok()?;
        Some(Duration::from_micros(micros))
    }

    /// Whether one of the latest two packets waited nearly as long as any, and longer than the
    /// floor.
    fn is_long(&self) -> bool {
        let minimum = self.minimum.of(i32::min);
        let maximum = self.maximum.of(i32::max).saturating_sub(minimum);
        let waited = self.neighbors[0].max(self.neighbors[1]).saturating_sub(minimum);
        waited > self.floor && waited.saturating_add((maximum / 10).max(BLUR.min(maximum / 2))) > maximum
    }

    /// Whether a loss that the latest data reveals may be due to congestion. Without measurements
    /// it may.
    pub fn is_congested(&self, now: Instant) -> bool {
        self.looked_other.is_some_and(|at| now.since(at) < PROBATION)
            || self.min_round_trip.is_none()
            || self.stands()
            || (self.is_long() && self.losses.are_of_waiting())
    }

    /// Whether a queue stands, by the round trip over the hop.
    fn stands(&self) -> bool {
        let Some(min_round_trip) = self.min_round_trip else { return false };
        let borne = TARGET.max(2 * self.variation);
        let waits = |slot: Option<i32>| slot.is_some_and(|minimum| minimum - min_round_trip > borne);
        waits(self.recent_round_trips.now) && waits(self.recent_round_trips.before)
    }
}

/// Microseconds, modulo 2^32 (about 72 minutes).
const fn micros(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timestamps of 1 us (Linux, `tcp_usec_ts`).
    #[test]
    fn a_clock_of_microseconds_is_never_treated_as_one_of_milliseconds() {
        let mut delay = HopDelay::new(Duration::from_millis(2));
        let mut wrong = 0;
        let start = Instant::from_secs(1);
        for n in 0..180_000_u64 {
            let now = start + Duration::from_millis(10 * n);
            let stamp = Seq((now.as_nanos() / 1000) as u32);
            delay.on_ack(stamp, now);
            delay.on_data(stamp, stamp, n % 100 == 99, now);
            // After the first seconds.
            if n > 1000 && !delay.is_congested(now) {
                wrong += 1;
            }
        }
        assert_eq!(wrong, 0, "of 180000 packets");
    }

    /// How often a queue seemed to stand, for one round trip, in milliseconds, every 50 ms.
    fn stood(round_trips: impl Iterator<Item = u64>) -> usize {
        let mut delay = HopDelay::new(Duration::from_millis(2));
        let mut stood = 0;
        for (at, round_trip) in (50..).map(|n| 50 * n).zip(round_trips) {
            let stamp = Seq(at as u32);
            delay.on_ack(stamp, Instant::from_millis(at - round_trip));
            delay.on_data(stamp, stamp, false, Instant::from_millis(at));
            stood += usize::from(delay.stands());
        }
        stood
    }

    #[test]
    fn a_round_trip_that_varies_is_no_standing_queue_but_one_that_stays_long_is() {
        let varying = |n: u64| 4 + n * n * 7919 % 97 % 21;
        let stands = stood((0..1000).map(varying));
        assert!(stands < 20, "{stands}");
        assert!(stood((0..1000).map(|n| if n < 100 { 4 } else { 12 })) > 850);
        let stands = stood((0..1000).map(|n| varying(n) + if n < 100 { 0 } else { 60 }));
        assert!(stands > 850, "{stands}");
    }

    #[test]
    fn overflows_stay_congestion_after_another_sender_has_kept_the_queue_full() {
        let mut delay = HopDelay::new(Duration::from_millis(2));
        let (mut misjudged, mut losses) = (0, 0);
        let mut at = 1_000_u64;
        let mut packet = |delay: &mut HopDelay, at: u64, waits: u64, is_loss: bool| {
            let now = Instant::from_millis(at + waits);
            delay.on_ack(Seq(now.as_millis() as u32), Instant::from_millis(at - 2));
            delay.on_data(Seq(at as u32), Seq(now.as_millis() as u32), is_loss, now);
            if is_loss {
                losses += 1;
                if !delay.is_congested(now) {
                    misjudged += 1;
                }
            }
        };
        // Alone and idle.
        for _ in 0..300 {
            packet(&mut delay, at, 0, false);
            at += 5;
        }
        // The queue is full, 29 or 30 ms, for 30 s, and overflows.
        for n in 0..6000 {
            packet(&mut delay, at, 29 + n % 2, n % 25 == 24);
            at += 5;
        }
        // It is alone again: its window arrives as a burst every 200 ms, and the queue overflows at
        // its end.
        for _ in 0..50 {
            for n in 0..40_u64 {
                packet(&mut delay, at, n * 30 / 40, n == 39);
                at += 1;
            }
            at += 160;
        }
        assert_eq!(misjudged, 0, "of {losses} losses, all of a queue");
    }
}
