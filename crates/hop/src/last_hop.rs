//! The local window: the limit of data on the hop towards one mobile host, over all its
//! connections, or towards all hosts.
//!
//! The agent cannot see the queue downstream of it, but the round-trip time over the hop shows how
//! long it is. The window follows from that (the private modules `window` and `shared`), once every
//! one or two round trips (`round`). Data that does not fit into the window waits at the agent, and
//! the connections that share the window take turns.
//!
//! An agent has a [`LastHop`] for each host, in a table of [`Hops`]. It calls [`LastHop::join`] for each
//! connection, [`LastHop::record_segment`] for each segment, and [`LastHop::on_progress`] with what
//! each ACK, or each event of the link, shows. Before it sends, it reads [`LastHop::room`], and
//! reports the octets that it sent with [`LastHop::change_in_flight`].

mod control_law;
mod drain;
mod loss_free_run;
mod losses;
mod pace;
mod progress;
mod round;
mod sent_back;
mod shared;
mod targets;
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
pub use loss_free_run::LossFreeRun;
use losses::Losses;
pub use pace::Pace;
pub use progress::Progress;
use round::Round;
use sent_back::SentBack;
use shared::SharedWindow;
pub use targets::Targets;
pub use turns::Turns;
pub use way_back::{TIMESTAMP_RATES, WayBack};
use window::{LARGEST_WINDOW, Window};

/// Every connection may have this much data waiting here: the largest window without scaling. So no
/// packet of a connection that its receiver's window limits is dropped, even on a slow hop.
const MIN_PATIENCE: u64 = 65_535;

/// Octets a second, 1 Gbit/s: above this rate the queue is not kept short. A megabyte of it takes
/// less than 8 ms, and holding packets back costs the processor more than it gains.
const FAST: u64 = 125_000_000;

/// No segment is larger than a packet.
const LARGEST_SEGMENT: u32 = 65_535;

/// The hops by the mobile host's address, each in a slot that its connections know.
pub type Hops = Slab<LastHop, (), 1, IpAddr>;

/// The hop to one mobile host, or to all hosts.
#[derive(Debug)]
pub struct LastHop {
    window: ControlLaw,
    round: Round,
    /// Octets that count as on the hop.
    in_flight: u64,
    /// The number of connections over the hop.
    flows: usize,
    /// The connections with waiting packets.
    pub turns: Turns,
    /// The largest segment of any connection.
    segment: u32,
    /// The hop's recent rate of delivery, in octets a second; 0 before it is known.
    rate: u64,
    /// The queue in the last round; `None` before the first round.
    queue: Option<Queue>,
    loss_free_run: LossFreeRun,
    losses: Losses,
    /// The last ACK that timed a round trip waited on the way back for longer than everything else
    /// took.
    acks_wait: bool,
    sent_back: SentBack,
    /// Octets of memory, as last counted.
    charged: usize,
}

/// The queue on a hop during a round.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The mean round trip less the minimum round trip.
    delay: Duration,
    round_trip: Duration,
    seen: Instant,
}

/// An estimate of a hop, apart from its connections.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HopEstimate {
    window: u64,
    segment: u32,
    rate: u64,
}

impl LastHop {
    /// A hop about which nothing is known.
    pub fn new(now: Instant) -> Self {
        Self::with(ControlLaw::Own(Window::new()), now)
    }

    /// The hop of all hosts together, about which nothing is known.
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
            loss_free_run: LossFreeRun::default(),
            losses: Losses::default(),
            acks_wait: false,
            sent_back: SentBack::default(),
            charged: 0,
        }
    }

    /// The estimate of the hop, apart from its connections.
    pub const fn estimate(&self) -> HopEstimate {
        HopEstimate { window: self.window.usual(), segment: self.segment, rate: self.rate }
    }

    /// Resumes from another agent's estimate of a host's hop.
    pub fn resume_from(&mut self, estimate: HopEstimate, now: Instant) {
        let ControlLaw::Own(window) = &mut self.window else { return };
        *window = Window::known(estimate.window);
        self.round = Round::new(now);
        self.segment = estimate.segment.min(LARGEST_SEGMENT);
        self.rate = estimate.rate.min(LARGEST_WINDOW);
    }

    /// Adds a connection.
    pub const fn join(&mut self) {
        self.flows += 1;
    }

    /// Removes a connection with this many octets on the hop. Returns whether it was the last.
    pub const fn leave(&mut self, in_flight: u64) -> bool {
        self.in_flight -= in_flight;
        self.flows -= 1;
        self.flows == 0
    }

    /// The number of connections over the hop.
    pub const fn flows(&self) -> usize {
        self.flows
    }

    /// Octets that count as on the hop.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Changes the octets of a connection on the hop from `before` to `now`.
    pub const fn change_in_flight(&mut self, before: u64, now: u64) {
        self.in_flight = self.in_flight - before + now;
    }

    /// Octets of memory in addition to the struct, as last counted.
    pub const fn memory(&self) -> usize {
        self.charged
    }

    /// Octets of memory of a new hop in addition to the struct: room for the first waiting
    /// connections.
    pub fn min_memory() -> usize {
        Turns::default().memory()
    }

    /// Updates the account of memory of all hops, `in_all`, with the present memory of this hop in
    /// addition to the struct.
    pub fn update_memory(&mut self, in_all: &mut usize) {
        let takes = self.turns.memory() + self.window.memory();
        *in_all = *in_all - self.charged + takes;
        self.charged = takes;
    }

    /// Reads a part of every cache line: see [`lasthop_agent::Agent::prefetch`].
    pub fn prefetch(&self) {
        black_box((self.window.usual(), self.window.is_draining(), self.round, self.turns.len()));
    }

    /// Records the size of a segment that will pass, in octets.
    pub fn record_segment(&mut self, octets: u32, targets: &Targets) {
        self.segment = self.segment.max(octets);
        self.window.set_floor(targets.min_window.max(2), self.segment);
    }

    /// Octets that one connection may send before the next one's turn.
    pub fn max_turn(&self) -> u64 {
        if self.turns.is_empty() { u64::MAX } else { (self.window.usual() / 4).max(self.min_turn()) }
    }

    /// Octets that may be on the hop, independent of what is there now.
    pub const fn octets(&self) -> u64 {
        self.window.usual()
    }

    /// Whether all hosts share the hop.
    pub(crate) const fn is_shared(&self) -> bool {
        self.window.is_shared()
    }

    /// Whether an agent only has to observe the hop. Either the hop has delivered a long run without
    /// loss, or it has never lost anything and `all` hops together have delivered such a run; and
    /// it has shown no queue, or is too fast for a long one.
    pub fn is_only_watched(&self, all: &LossFreeRun) -> bool {
        let is_loss_free = self.loss_free_run.has_lost_nothing() && all.is_complete();
        (is_loss_free || self.loss_free_run.is_complete()) && (self.window.is_new() || self.rate >= FAST)
    }

    /// Records a segment from the host with this much data, in octets.
    pub fn record_data_back(&mut self, octets: usize, now: Instant) {
        self.sent_back.on_data(octets, now);
    }

    /// Whether only the delay of the data counts, and not that of the ACKs. Without losses there
    /// are no retransmissions that queueing ACKs would delay, and the queue of the ACKs delays no
    /// data. ACKs queued after an upload's data are late, however little is on the hop.
    fn tolerates_late_acks(&self) -> bool {
        let is_without_losses = self.loss_free_run.has_lost_nothing() || self.loss_free_run.is_complete();
        !self.window.is_shared() && (is_without_losses || self.has_upload())
    }

    /// Whether the host sends mostly data, after which its ACKs have to queue.
    pub(crate) const fn has_upload(&self) -> bool {
        self.sent_back.is_mostly_data()
    }

    /// Whether a sender that slows down at each loss on this hop keeps twice this window, in
    /// octets.
    pub fn allows_twice(&self, window: f64) -> bool {
        self.losses.allow_twice(window, self.segment)
    }

    /// The queueing delay on the hop, if a round has measured it within this time, or within two
    /// round trips if those are longer; otherwise zero.
    pub fn queueing(&self, within: Duration, now: Instant) -> Duration {
        let is_recent = |queue: &Queue| now.since(queue.seen) <= within.max(2 * queue.round_trip);
        self.queue.filter(is_recent).map_or(Duration::ZERO, |queue| queue.delay)
    }

    /// The mean round trip over the hop in the last round.
    pub fn round_trip(&self) -> Option<Duration> {
        self.queue.map(|queue| queue.round_trip)
    }

    /// The round trip that the window aims at; `None` before one is known, and where all hosts
    /// share the window.
    fn target(&self, targets: &Targets) -> Option<Duration> {
        self.window.target(targets)
    }

    /// The largest segment of any connection, in octets.
    pub const fn segment(&self) -> u32 {
        self.segment
    }

    /// Whether there is room for a turn, or the hop is empty.
    pub fn has_room(&self) -> bool {
        self.in_flight == 0 || self.room() >= self.min_turn()
    }

    /// The minimum octets of a turn. Where many share a small window, each sends two segments at a
    /// time: a receiver acknowledges two at once, and delays the acknowledgment of one.
    fn min_turn(&self) -> u64 {
        let segments = if self.window.is_shared() { 2 } else { 1 };
        segments * u64::from(self.segment.max(1))
    }

    /// Octets that may be sent now.
    pub fn room(&self) -> u64 {
        self.window.octets().saturating_sub(self.in_flight)
    }

    /// Octets that may be sent now by an agent in the path of a sender that has a window of its
    /// own. There is no limit where the agent only observes, or where ACKs come so late that most
    /// of the octets counted as in flight have left the hop.
    pub fn room_to_pass(&self, all: &LossFreeRun) -> u64 {
        let is_without_limit = self.is_only_watched(all) || (self.acks_wait && self.tolerates_late_acks());
        if is_without_limit { LARGEST_WINDOW_OF_TCP.into() } else { self.room() }
    }

    /// How many of `octets` are worth sending with this much room: not a single segment at a time
    /// where the window is large.
    pub fn portion(&self, octets: u32, segment: u32, room: u64) -> Option<u32> {
        let at_least_one = |octets: u64| octets.max(u64::from(segment));
        let window = self.window.usual();
        let minimum = u64::from(octets).min(at_least_one(window / 8));
        let share = if self.turns.len() > 1 { at_least_one(window / 4) } else { u64::MAX };
        if room < minimum && self.in_flight > 0 {
            return None;
        }
        let room = room.max(minimum).min(share) as u32 / segment.max(1) * segment.max(1);
        Some(octets.min(room.max(segment)))
    }

    /// The octets of one connection that may wait before its sender is signaled to slow down: at
    /// least one hop round trip's worth, because otherwise a sender that halves its window leaves
    /// the hop idle.
    pub fn max_waiting(&self, targets: &Targets) -> usize {
        let delay = targets.held_delay.max(self.window.min_rtt().unwrap_or_default());
        let octets = if self.rate == 0 || self.window.is_new() {
            u64::MAX
        } else {
            let shared = self.rate / (self.turns.len().max(1) as u64);
            (octets_in(shared, delay) as u64).max(MIN_PATIENCE)
        };
        octets.min(targets.held_octets as u64) as usize
    }

    /// The octets of one connection that keep its share of the hop busy if they come from a sender
    /// at this distance: what the hop delivers in that time and a quarter more, so that a faster
    /// hop shows, plus twice the hop's window. For a new hop: the largest window without scaling.
    pub fn useful_window(&self, host: IpAddr, round_trip: Option<Duration>) -> u64 {
        if self.rate == 0 || self.window.is_new() {
            return MIN_PATIENCE;
        }
        let shared = self.rate / self.turns.sharers(host) as u64;
        let under_way = shared as u128 * round_trip.unwrap_or_default().as_micros() / 800_000;
        (under_way as u64).saturating_add(2 * self.window.usual())
    }

    /// Whether the window held packets back until now. Of several connections to a host, each may
    /// wait because it already has its share ([`Pace`]).
    fn is_limited(&self, progress: &Progress) -> bool {
        if self.turns.len() < 2 || self.window.is_shared() {
            return !self.turns.is_empty();
        }
        let had = self.in_flight + progress.delivered + progress.lost;
        had + self.min_turn() > self.window.octets()
    }

    /// Records what an ACK from this host showed.
    pub fn on_progress(&mut self, progress: Progress, host: IpAddr, now: Instant, targets: &Targets) {
        self.sent_back.on_ack(now);
        self.losses.on_progress(&progress, self.segment);
        self.loss_free_run.on_progress(&progress, self.segment);
        let is_limited = self.is_limited(&progress);
        self.round.on_progress(&progress, self.in_flight, is_limited, now);
        self.window.on_progress(&progress);
        let Some(sent) = progress.sent.filter(|sent| *sent < now) else { return };
        let late = if self.tolerates_late_acks() { progress.late } else { Duration::ZERO };
        let rtt = now.since(sent).saturating_sub(late);
        self.acks_wait = late > rtt;
        let round = self.round.on_sample(rtt, sent, now);
        if let Some(round) = round {
            let min_rtt = self.window.min_rtt_of(host).unwrap_or(round.rtt);
            let delay = round.rtt.saturating_sub(min_rtt);
            self.queue = Some(Queue { delay, round_trip: round.rtt, seen: now });
            let rate = round.rate.min(LARGEST_WINDOW);
            self.rate = match self.rate {
                // The sender limits the rate: the hop may be faster.
                known if !round.is_limited => known.max(rate),
                0 => rate,
                known => (3 * known + rate) / 4,
            };
        }
        let was_draining = self.window.is_draining();
        self.window.on_sample(host, (rtt, sent), round, self.in_flight, now, targets);
        if self.window.is_draining() != was_draining {
            // A round has to be of one state. The burst that leaves when the drain ends is of
            // neither.
            self.round = Round::new(now + self.window.min_rtt().unwrap_or_default());
        }
    }
}

/// The octets that a rate, in octets per second, delivers in a time.
fn octets_in(rate: u64, time: Duration) -> u128 {
    let micros = time.as_micros();
    // The product usually fits into one word, which is much faster to divide.
    match u64::try_from(micros).ok().and_then(|micros| micros.checked_mul(rate)) {
        Some(product) => u128::from(product / 1_000_000),
        None => u128::from(rate) * micros / 1_000_000,
    }
}
