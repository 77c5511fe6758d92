//! The local window: how much may be on the hop towards one mobile host, all its connections
//! together.
//!
//! The queue behind the agent is not seen, but the round-trip time over the hop tells how long it
//! is. Once a round trip in which packets waited here, the window moves half of the way to where
//! the queue would be as long as it is meant to be:
//!
//! > window <- (window + window (least + delay) / rtt) / 2
//!
//! That is FAST TCP (Jin, Wei, Low, INFOCOM 2004, equation 3, with gamma = 1/2), its alpha being
//! rate times delay. It needs no estimate of the rate, and is stable where a rule that went all the
//! way would swing, since the round-trip time answers a round trip late. The round-trip time of a
//! round is that of the first packet that left in it, when the window was full.
//!
//! The delay aimed at is a quarter of the hop's own round-trip time, or the setting
//! (`local-delay`) if that is longer. In the simulator, over hops of 1 to 200 Mbit/s and 1 to 30
//! ms, the default loses nothing to 5 or 8 ms, and gains much where a fast hop's queue is shorter
//! than those.
//!
//! Where no packets wait, the sender or its application limits, and the window stays as it is.
//!
//! *The least round-trip time* is sought anew after 10 s without a sample as small: for about a
//! round trip the window is half of what the hop holds without a queue (as in BBR's `ProbeRTT`). So
//! it follows a path that has become longer, and cannot creep up.
//!
//! *A queue that is not ours* (an upload that delays the ACKs, another sender behind us) does not
//! go away when the window shrinks. If halving the window has left three quarters of the delay,
//! that is taken for the path's, and the window is restored: else it would shrink to nothing beside
//! whoever fills the queue.

use std::collections::VecDeque;
use std::hint::black_box;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Lookup;
use lasthop_packet::{FlowKey, Instant};
use serde::{Deserialize, Serialize};

use super::settings::Settings;

/// The least round-trip time is sought anew after this time (BBR, `ProbeRTTInterval`; Linux
/// `tcp_bbr.c`, `bbr_min_rtt_win_sec`).
const LEAST_RTT_LASTS: Duration = Duration::from_secs(10);

/// Samples that make a new least round-trip time: more than one, because the receiver may delay an
/// ACK.
const SAMPLES: u32 = 4;

/// So much of a connection may always wait: the largest window without scaling, so that a
/// connection which the receiver's window limits is left alone, also on a slow hop or one that
/// falls silent now and then.
const LEAST_PATIENCE: u64 = 65_535;

/// Larger than any hop's content; keeps arithmetic in bounds.
const LARGEST_WINDOW: u64 = 1 << 40;

/// No segment is larger than a packet.
const LARGEST_SEGMENT: u32 = 65_535;

/// No least round-trip time is longer.
const LONGEST_LEAST: Duration = Duration::from_secs(120);

/// The hops by the mobile host's address.
pub type Hops = Lookup<IpAddr, LastHop>;

/// The hop to one mobile host.
#[derive(Debug)]
pub struct LastHop {
    /// Octets of payload that may be on the hop.
    window: u64,
    /// Octets that are taken to be there.
    pub in_flight: u64,
    /// Connections to this host.
    pub flows: usize,
    /// Those with packets that wait, in the order of their turns.
    pub turns: VecDeque<FlowKey>,
    /// The largest segment of any connection to this host.
    segment: u32,
    least: Option<Duration>,
    least_since: Instant,
    /// Octets a second that the hop delivered lately; 0 before it is known.
    rate: u64,
    /// When it last delivered something.
    pub delivered_at: Instant,
    round: Round,
    drain: Option<Drain>,
    shrinking: Option<Shrinking>,
}

/// What is known of a hop beside its connections.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopEstimate {
    window: u64,
    segment: u32,
    least: Option<Duration>,
    rate: u64,
}

/// A round trip: from its start until something is acknowledged that left after it.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    start: Instant,
    delivered: u64,
    /// Packets waited here when it began and have waited since.
    is_limited: bool,
}

/// A search for the least round-trip time.
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// It ends by then, whatever comes.
    until: Instant,
    /// Samples of what left after this count; `None` while the queue is being drained.
    since: Option<Instant>,
    samples: u32,
    least: Option<Duration>,
}

/// A window that shrinks: what it was at first, and the queueing delay.
#[derive(Clone, Copy, Debug)]
struct Shrinking {
    window: u64,
    queueing: Duration,
}

impl LastHop {
    /// A hop that nothing is known of. It starts with twice the least window, and that doubles with
    /// each round trip.
    pub fn new(now: Instant) -> Self {
        Self {
            window: 0,
            in_flight: 0,
            flows: 0,
            turns: VecDeque::new(),
            segment: 0,
            least: None,
            least_since: now,
            rate: 0,
            delivered_at: now,
            round: Round { start: now, ..Round::default() },
            drain: None,
            shrinking: None,
        }
    }

    /// What is known of it beside its connections.
    pub const fn estimate(&self) -> HopEstimate {
        HopEstimate { window: self.window, segment: self.segment, least: self.least, rate: self.rate }
    }

    /// Goes on from what was known of it elsewhere.
    pub fn go_on_from(&mut self, estimate: HopEstimate, now: Instant) {
        self.window = estimate.window.min(LARGEST_WINDOW);
        self.segment = estimate.segment.min(LARGEST_SEGMENT);
        self.least = estimate.least.map(|least| least.min(LONGEST_LEAST));
        self.rate = estimate.rate.min(LARGEST_WINDOW);
        (self.least_since, self.round) = (now, Round { start: now, ..Round::default() });
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn look(&self) {
        black_box((
            self.window,
            self.turns.len(),
            self.least,
            self.delivered_at,
            self.round.start,
            self.drain.map(|drain| drain.until),
            self.shrinking.map(|shrinking| shrinking.window),
        ));
    }

    /// A segment of so many octets is to pass.
    pub fn note_segment(&mut self, octets: u32, settings: &Settings) {
        if octets > self.segment {
            self.segment = octets;
            self.window = self.window.max(2 * self.least_window(settings));
        }
    }

    /// How many octets may be sent now.
    pub fn room(&self, settings: &Settings) -> u64 {
        self.window_now(settings).saturating_sub(self.in_flight)
    }

    /// How many of `octets` are worth sending with this much room: not a segment at a time where
    /// the window is large.
    pub fn portion(&self, octets: u32, segment: u32, room: u64) -> Option<u32> {
        let least = u64::from(octets).min((self.window / 8).max(u64::from(segment)));
        let share = if self.turns.len() > 1 { (self.window / 4).max(u64::from(segment)) } else { u64::MAX };
        if room < least && self.in_flight > 0 {
            return None;
        }
        let room = room.max(least).min(share) as u32 / segment.max(1) * segment.max(1);
        Some(octets.min(room.max(segment)))
    }

    /// The octets of one connection that may wait before it is told to slow down.
    pub fn patience(&self, settings: &Settings) -> usize {
        let shared = self.rate / (self.turns.len().max(1) as u64);
        let octets = shared as u128 * settings.held_delay.as_micros() / 1_000_000;
        let octets = if self.rate == 0 { u64::MAX } else { (octets as u64).max(LEAST_PATIENCE) };
        octets.min(settings.held_octets as u64) as usize
    }

    /// Takes note of what an ACK showed: octets delivered, when the latest of them left, and what
    /// that makes the round trip.
    pub fn on_delivery(&mut self, delivered: u64, sent: Option<Instant>, now: Instant, settings: &Settings) {
        self.round.delivered += delivered;
        if delivered > 0 {
            self.delivered_at = now;
        }
        self.round.is_limited &= !self.turns.is_empty();
        let Some(sent) = sent else { return };
        let rtt = now.since(sent);
        if rtt.is_zero() {
            return;
        }
        if self.least.is_none_or(|least| rtt <= least) {
            (self.least, self.least_since) = (Some(rtt), now);
        }
        if self.drain.is_some() {
            self.on_sample_while_draining(rtt, sent, now, settings);
        }
        if sent >= self.round.start {
            self.end_round(rtt, now, settings);
        }
    }

    /// A round ended with a sample of this round-trip time: it left when the window was full, if
    /// the round is limited.
    fn end_round(&mut self, rtt: Duration, now: Instant, settings: &Settings) {
        let Round { start, delivered, is_limited } = self.round;
        let waits = !self.turns.is_empty();
        self.round = Round { start: now, is_limited: waits, ..Round::default() };
        if self.drain.is_some() {
            return;
        }
        let nanos = now.since(start).as_nanos().max(1);
        let rate = (u128::from(delivered) * 1_000_000_000 / nanos).min(u128::from(LARGEST_WINDOW)) as u64;
        if !is_limited {
            // The sender limits: the hop may be faster than that.
            self.rate = self.rate.max(rate);
            return;
        }
        self.rate = if self.rate == 0 { rate } else { (3 * self.rate + rate) / 4 };
        if let Some(least) = self.least {
            self.adjust(rtt, least, now, settings);
        }
        if now.since(self.least_since) > LEAST_RTT_LASTS {
            let until = now + 4 * self.target(settings) + Duration::from_millis(100);
            self.drain = Some(Drain { until, since: None, samples: 0, least: None });
        }
    }

    /// Moves the window half of the way to where the round-trip time would be the target.
    fn adjust(&mut self, rtt: Duration, least: Duration, now: Instant, settings: &Settings) {
        let target = self.target(settings);
        let scaled = u128::from(self.window) * target.as_nanos() / rtt.as_nanos().max(1);
        let wanted = (scaled.min(u128::from(LARGEST_WINDOW)) as u64).min(4 * self.window);
        let window = u64::midpoint(self.window, wanted).max(self.least_window(settings));
        let queueing = rtt.saturating_sub(least);
        if rtt <= target + self.queueing(settings) / 4 {
            self.shrinking = None;
        } else {
            let first = *self.shrinking.get_or_insert(Shrinking { window: self.window, queueing });
            let is_small = window <= first.window / 2 || window <= self.least_window(settings);
            if is_small && queueing > first.queueing / 4 * 3 && first.window > window {
                // Not our queue.
                self.least = Some(rtt.saturating_sub(self.queueing(settings) / 2));
                self.least_since = now;
                self.window = first.window;
                self.shrinking = None;
                return;
            }
        }
        self.window = window;
    }

    fn on_sample_while_draining(&mut self, rtt: Duration, sent: Instant, now: Instant, settings: &Settings) {
        let is_drained = self.in_flight <= self.window_now(settings);
        let Some(drain) = &mut self.drain else { return };
        match drain.since {
            None if is_drained => drain.since = Some(now),
            Some(since) if sent >= since => {
                drain.samples += 1;
                drain.least = Some(drain.least.map_or(rtt, |least| least.min(rtt)));
            }
            _ => {}
        }
        if drain.samples >= SAMPLES || now >= drain.until {
            self.least = drain.least.or(self.least);
            self.least_since = now;
            self.drain = None;
        }
    }

    /// The window, and while the hop is being drained half of what it holds without a queue.
    fn window_now(&self, settings: &Settings) -> u64 {
        let Some(least) = self.least.filter(|_| self.drain.is_some()) else { return self.window };
        let without_queue =
            u128::from(self.window) * least.as_nanos() / self.target(settings).as_nanos().max(1);
        (without_queue as u64 / 2).max(4 * u64::from(self.segment))
    }

    /// The round-trip time that is aimed at.
    fn target(&self, settings: &Settings) -> Duration {
        self.least.unwrap_or_default().saturating_add(self.queueing(settings))
    }

    /// The queue that is aimed at, in time. A long hop answers late, and varies more: a quarter of
    /// its round trip.
    fn queueing(&self, settings: &Settings) -> Duration {
        settings.local_delay.max(self.least.unwrap_or_default() / 4)
    }

    fn least_window(&self, settings: &Settings) -> u64 {
        u64::from(settings.least_window.max(2)) * u64::from(self.segment)
    }
}
