//! Acknowledgments and answers in the name of an end that may be gone.
//!
//! A leg acknowledges what an end sends before the other end has it. Said in the name of a host that
//! is gone, that would hide it: the sender's user time-out (RFC 9293, section 3.8.3) and its keepalives
//! (section 3.8.4) would never find out, and what it takes for delivered would grow. RFC 3135, section
//! 4.1, names what a proxy breaks there.
//!
//! So a leg speaks for an end only while that end was heard from lately. If it was not, nothing of what
//! comes for it is acknowledged, and no question answered, until it is heard from: the sender's own
//! timers run as if there were no agent. What comes goes on all the same, and asks for an answer. Where
//! nothing goes on, but the sender waits, the end is asked.

use std::time::Duration;

use lasthop_agent::{Context, Side};
use lasthop_packet::{Instant, Packet};
use lasthop_tcp::State;

use super::pair::Pair;

/// An end that was heard from within this time, and a round trip of at most as much, is there. No sender
/// takes silence of less than a second for a loss (RFC 6298, section 2.4), so it need not hear of outages
/// of a hop that end sooner.
const RECENT: Duration = Duration::from_secs(1);

impl Pair {
    /// An end was heard from.
    pub(super) fn on_heard(&mut self, from: Side, now: Instant) {
        self.inquiry.on_heard(from);
        self.presence.on_heard(from, now);
    }

    /// A leg sends a packet.
    pub(super) fn note_sent(&mut self, packet: &Packet, to: Side, now: Instant) {
        if packet.segment_len() > 0 {
            self.presence.on_asked(to, now);
        }
    }

    /// Has each leg speak, or not, for the other end.
    pub(super) fn speak_for_who_is_there(&mut self, now: Instant) {
        for side in [Side::Core, Side::Radio] {
            let is_silent = self.is_silent(side.opposite(), now);
            self.leg_mut(side).withhold_acks(is_silent);
        }
    }

    /// Whether an end may be gone.
    fn is_silent(&self, side: Side, now: Instant) -> bool {
        let leg = self.leg(side);
        let round_trip = leg.rtt().estimate().map_or(Duration::ZERO, |(smoothed, _)| smoothed.min(RECENT));
        let is_over = matches!(leg.state(), State::Closed | State::TimeWait);
        !is_over && !self.presence.was_heard_within(side, RECENT + round_trip, now)
    }

    /// Asks an end that may be gone, where the other end waits for what is withheld and nothing else asks.
    pub(super) fn ask_for(&mut self, side: Side, cx: &mut Context<'_>) {
        let now = cx.now();
        if self.presence.is_asked(side, now) || !self.leg(side.opposite()).withholds_an_ack() {
            return;
        }
        if let Some(question) = self.leg_mut(side).keep_alive(now) {
            self.presence.on_asked(side, now);
            cx.send(side, question);
        }
    }
}
