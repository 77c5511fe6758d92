//! The local window: how much may be on the hop towards one mobile host, all its connections
//! together; or towards all hosts.
//!
//! The queue behind the agent is not seen, but the round-trip time over the hop tells how long it
//! is. From that the window follows (`window`, `shared`), once a round trip or two (`round`). What it
//! has no room for waits here, and connections that share it take turns.

mod control_law;
mod drain;
mod losses;
mod pace;
mod progress;
mod round;
mod sent_back;
mod shared;
mod targets;
mod trust;
mod turns;
mod way_back;
mod window;

#[cfg(test)]
mod tests;

use std::hint::black_box;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::Slab;
use lasthop_packet::{Instant, LARGEST_WINDOW as LARGEST_WINDOW_OF_TCP};
use serde::{Deserialize, Serialize};

use control_law::ControlLaw;
use losses::Losses;
pub use pace::Pace;
pub use progress::Progress;
use round::Round;
use sent_back::SentBack;
use shared::SharedWindow;
pub use targets::Targets;
pub use trust::Trust;
pub use turns::Turns;
pub use way_back::{TIMESTAMP_RATES, WayBack};
use window::{LARGEST_WINDOW, Window};

/// A connection may always have this much waiting here: the largest window without scaling. So no
/// packet is dropped of a connection that its receiver's window limits, even on a slow hop.
const LEAST_PATIENCE: u64 = 65_535;

/// Octets a second, 1 Gbit/s: from there on the queue is not kept short. A megabyte of it takes less
/// than 8 ms, and to hold packets back costs the processor more than it is worth.
const FAST: u64 = 125_000_000;

/// No segment is larger than a packet.
const LARGEST_SEGMENT: u32 = 65_535;

/// The hops by the mobile host's address, each in a slot that its connections know.
pub type Hops = Slab<LastHop, (), 1, IpAddr>;

/// The hop to one mobile host, or to all.
#[derive(Debug)]
pub struct LastHop {
    window: ControlLaw,
    round: Round,
    /// Octets that are taken to be there.
    in_flight: u64,
    /// Connections that go over it.
    flows: usize,
    /// Those with packets that wait.
    pub turns: Turns,
    /// The largest segment of any of them.
    segment: u32,
    /// Octets a second that the hop delivered lately; 0 before it is known.
    rate: u64,
    /// What the last round showed of the queue; `None` before there was one.
    queue: Option<Queue>,
    trust: Trust,
    losses: Losses,
    /// The last ACK that timed a round trip waited on the way back for longer than all else took.
    acks_wait: bool,
    sent_back: SentBack,
    /// Octets of memory, as they were counted last.
    charged: usize,
}

/// What a round showed of the queue on a hop.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// How much longer than the least round trip its mean round trip was.
    delay: Duration,
    round_trip: Duration,
    seen: Instant,
}

/// What is known of a hop beside its connections.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopEstimate {
    window: u64,
    segment: u32,
    rate: u64,
}

impl LastHop {
    /// A hop that nothing is known of.
    pub fn new(now: Instant) -> Self {
        Self::with(ControlLaw::Own(Window::new()), now)
    }

    /// The hop of all hosts together. Nothing is known of it.
    pub fn shared(now: Instant) -> Self {
        Self::with(ControlLaw::Shared(SharedWindow::new()), now)
    }

    fn with(window: ControlLaw, now: Instant) -> Self {
        Self {
            window,
            round: Round::new(now),
            in_flight: 0,
            flows: 0,
            turns: Turns::default(),
            segment: 0,
            rate: 0,
            queue: None,
            trust: Trust::default(),
            losses: Losses::default(),
            acks_wait: false,
            sent_back: SentBack::default(),
            charged: 0,
        }
    }

    /// What is known of it beside its connections.
    pub const fn estimate(&self) -> HopEstimate {
        HopEstimate { window: self.window.usual(), segment: self.segment, rate: self.rate }
    }

    /// Resumes from what was known of a host's hop elsewhere.
    pub fn resume_from(&mut self, estimate: HopEstimate, now: Instant) {
        let ControlLaw::Own(window) = &mut self.window else { return };
        *window = Window::known(estimate.window);
        self.round = Round::new(now);
        self.segment = estimate.segment.min(LARGEST_SEGMENT);
        self.rate = estimate.rate.min(LARGEST_WINDOW);
    }

    /// One more connection goes over it.
    pub const fn join(&mut self) {
        self.flows += 1;
    }

    /// A connection with this many octets on the hop is over. Returns whether it was the last.
    pub const fn leave(&mut self, in_flight: u64) -> bool {
        self.in_flight -= in_flight;
        self.flows -= 1;
        self.flows == 0
    }

    /// Connections that go over it.
    pub const fn flows(&self) -> usize {
        self.flows
    }

    /// Octets that are taken to be there.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// A connection that had `before` octets on the hop has `now`.
    pub const fn recount(&mut self, before: u64, now: u64) {
        self.in_flight = self.in_flight - before + now;
    }

    /// Octets of memory that it takes beside itself, as they were counted last.
    pub const fn charged(&self) -> usize {
        self.charged
    }

    /// Octets of memory that a new one takes beside itself: room for the first connections that wait.
    pub fn least_memory() -> usize {
        Turns::default().memory()
    }

    /// Brings the account of memory, `in_all` for all hops, up to date with what this one takes now beside
    /// itself.
    pub fn charge(&mut self, in_all: &mut usize) {
        let takes = self.turns.memory() + self.window.memory();
        *in_all = *in_all - self.charged + takes;
        self.charged = takes;
    }

    /// Reads something of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn look(&self) {
        black_box((self.window.usual(), self.window.is_draining(), self.round, self.turns.len()));
    }

    /// A segment of so many octets is to pass.
    pub fn note_segment(&mut self, octets: u32, targets: &Targets) {
        self.segment = self.segment.max(octets);
        self.window.set_floor(targets.least_window.max(2), self.segment);
    }

    /// How many octets one connection may send before it is another's turn.
    pub fn turn(&self) -> u64 {
        if self.turns.is_empty() { u64::MAX } else { (self.window.usual() / 4).max(self.least_turn()) }
    }

    /// How many octets may be on the hop, whatever is there now.
    pub const fn octets(&self) -> u64 {
        self.window.usual()
    }

    /// Whether all hosts share it.
    pub(crate) const fn is_shared(&self) -> bool {
        self.window.is_shared()
    }

    /// Whether an agent has nothing to do on it but watch. It has lost nothing for a long run, or never
    /// while `all` hops together have such a run; and it has shown no queue, or is too fast for a long
    /// one.
    pub fn is_only_watched(&self, all: &Trust) -> bool {
        let is_believed = self.trust.is_unbroken() && all.is_earned();
        (is_believed || self.trust.is_earned()) && (self.window.is_new() || self.rate >= FAST)
    }

    /// A segment came from the host, with this much data, in octets.
    pub fn note_data_back(&mut self, octets: usize, now: Instant) {
        self.sent_back.on_data(octets, now);
    }

    /// Whether only the delay of the data counts, and not that of the ACKs. Without losses there are no repairs,
    /// for which ACKs that queue would be late; and the queue of the ACKs delays no data. Behind an upload they
    /// are late, however little is on the hop.
    fn bears_late_acks(&self) -> bool {
        let loses_nothing = self.trust.is_unbroken() || self.trust.is_earned();
        !self.window.is_shared() && (loses_nothing || self.is_beside_upload())
    }

    /// Whether its host sends mostly data, behind which its ACKs wait.
    pub(crate) const fn is_beside_upload(&self) -> bool {
        self.sent_back.is_mostly_data()
    }

    /// Whether a sender that slows down at each loss on this hop keeps twice this window, in octets.
    pub fn leaves_twice(&self, window: f64) -> bool {
        self.losses.leave_twice(window, self.segment)
    }

    /// How long a packet waits on the hop, if a round has shown that within this time, or within two round
    /// trips if they are longer; else nothing.
    pub fn queueing(&self, within: Duration, now: Instant) -> Duration {
        let is_recent = |queue: &Queue| now.since(queue.seen) <= within.max(2 * queue.round_trip);
        self.queue.filter(is_recent).map_or(Duration::ZERO, |queue| queue.delay)
    }

    /// The mean round trip over it, as the last round showed.
    pub fn round_trip(&self) -> Option<Duration> {
        self.queue.map(|queue| queue.round_trip)
    }

    /// The round trip that its window aims at; `None` before one is known, and where all hosts share it.
    fn target(&self, targets: &Targets) -> Option<Duration> {
        self.window.target(targets)
    }

    /// Octets of the largest segment of any connection.
    pub const fn segment(&self) -> u32 {
        self.segment
    }

    /// Whether there is room for a turn, or nothing on the hop.
    pub fn has_room(&self) -> bool {
        self.in_flight == 0 || self.room() >= self.least_turn()
    }

    /// Where many share a small window each sends two segments at a time: a receiver acknowledges two at
    /// once, and waits with the acknowledgment of one.
    fn least_turn(&self) -> u64 {
        let segments = if self.window.is_shared() { 2 } else { 1 };
        segments * u64::from(self.segment.max(1))
    }

    /// How many octets may be sent now.
    pub fn room(&self) -> u64 {
        self.window.octets().saturating_sub(self.in_flight)
    }

    /// How many octets may be sent now by an agent in the path of a sender that has a window of its own. There
    /// is no limit where the agent only watches, and where ACKs come so late that most of what is counted as in
    /// flight has left the hop.
    pub fn room_to_pass(&self, all: &Trust) -> u64 {
        let is_without_limit = self.is_only_watched(all) || (self.acks_wait && self.bears_late_acks());
        if is_without_limit { LARGEST_WINDOW_OF_TCP.into() } else { self.room() }
    }

    /// How many of `octets` are worth sending with this much room: not a segment at a time where
    /// the window is large.
    pub fn portion(&self, octets: u32, segment: u32, room: u64) -> Option<u32> {
        let at_least_one = |octets: u64| octets.max(u64::from(segment));
        let window = self.window.usual();
        let least = u64::from(octets).min(at_least_one(window / 8));
        let share = if self.turns.len() > 1 { at_least_one(window / 4) } else { u64::MAX };
        if room < least && self.in_flight > 0 {
            return None;
        }
        let room = room.max(least).min(share) as u32 / segment.max(1) * segment.max(1);
        Some(octets.min(room.max(segment)))
    }

    /// The octets of one connection that may wait before its sender is signalled to slow down: at least one hop
    /// round trip's worth; otherwise a sender that halves its window leaves the hop idle.
    pub fn patience(&self, targets: &Targets) -> usize {
        let delay = targets.held_delay.max(self.window.least().unwrap_or_default());
        let octets = if self.rate == 0 || self.window.is_new() {
            u64::MAX
        } else {
            let shared = self.rate / (self.turns.len().max(1) as u64);
            (octets_in(shared, delay) as u64).max(LEAST_PATIENCE)
        };
        octets.min(targets.held_octets as u64) as usize
    }

    /// The octets of one connection that keep its share of the hop busy if they come from an end
    /// that is this far away: what the hop delivers in that time and a quarter more, so that a hop
    /// that has become faster shows, and twice what is on the hop. Of a new hop: what a window
    /// without scaling has room for.
    pub fn demand(&self, host: IpAddr, round_trip: Option<Duration>) -> u64 {
        if self.rate == 0 || self.window.is_new() {
            return LEAST_PATIENCE;
        }
        let shared = self.rate / self.turns.sharers(host) as u64;
        let under_way = shared as u128 * round_trip.unwrap_or_default().as_micros() / 800_000;
        (under_way as u64).saturating_add(2 * self.window.usual())
    }

    /// Whether the window kept packets back until now: of several connections to a host, each may wait because
    /// it has its share already ([`Pace`]).
    fn is_limited(&self, progress: &Progress) -> bool {
        if self.turns.len() < 2 || self.window.is_shared() {
            return !self.turns.is_empty();
        }
        let had = self.in_flight + progress.delivered + progress.lost;
        had + self.least_turn() > self.window.octets()
    }

    /// Takes note of what an ACK from this host showed.
    pub fn on_progress(&mut self, progress: Progress, host: IpAddr, now: Instant, targets: &Targets) {
        self.sent_back.on_ack(now);
        self.losses.on_progress(&progress, self.segment);
        self.trust.on_progress(&progress, self.segment);
        let is_limited = self.is_limited(&progress);
        self.round.on_progress(&progress, self.in_flight, is_limited, now);
        self.window.on_progress(&progress);
        let Some(sent) = progress.sent.filter(|sent| *sent < now) else { return };
        let late = if self.bears_late_acks() { progress.late } else { Duration::ZERO };
        let rtt = now.since(sent).saturating_sub(late);
        self.acks_wait = late > rtt;
        let round = self.round.on_sample(rtt, sent, now);
        if let Some(round) = round {
            let least = self.window.least_of(host).unwrap_or(round.rtt);
            let delay = round.rtt.saturating_sub(least);
            self.queue = Some(Queue { delay, round_trip: round.rtt, seen: now });
            let rate = round.rate.min(LARGEST_WINDOW);
            self.rate = match self.rate {
                // The sender limits: the hop may be faster than that.
                known if !round.is_limited => known.max(rate),
                0 => rate,
                known => (3 * known + rate) / 4,
            };
        }
        let was_draining = self.window.is_draining();
        self.window.on_sample(host, (rtt, sent), round, self.in_flight, now, targets);
        if self.window.is_draining() != was_draining {
            // A round is of one state. What leaves at once when the drain ends is neither.
            self.round = Round::new(now + self.window.least().unwrap_or_default());
        }
    }
}

/// The octets that a rate, in octets per second, gives in a time.
fn octets_in(rate: u64, time: Duration) -> u128 {
    let micros = time.as_micros();
    // Mostly it fits into one word, which is much quicker to divide.
    match u64::try_from(micros).ok().and_then(|micros| micros.checked_mul(rate)) {
        Some(product) => u128::from(product / 1_000_000),
        None => u128::from(rate) * micros / 1_000_000,
    }
}
