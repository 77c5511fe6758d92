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

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet};
use lasthop_tcp::{Connection, State};

/// An end that was heard from within this time, and a round trip of at most as much, is there. No sender
/// takes silence of less than a second for a loss (RFC 6298, section 2.4), so it need not hear of outages
/// of a hop that end sooner.
const RECENT: Duration = Duration::from_secs(1);
/// An end is asked no more often.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// When each end, on the core side and the radio side, was heard from last, and was last sent something
/// that it has to answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    heard: [Option<Instant>; 2],
    asked: [Option<Instant>; 2],
}

impl Liveness {
    /// Both ends were heard from.
    pub(super) const fn of_both(now: Instant) -> Self {
        Self { heard: [Some(now); 2], asked: [None; 2] }
    }

    /// An end was heard from.
    pub(super) const fn on_heard(&mut self, from: Side, now: Instant) {
        self.heard[from as usize] = Some(now);
    }

    /// A leg sends a packet.
    pub(super) fn note_sent(&mut self, packet: &Packet, to: Side, now: Instant) {
        if packet.segment_len() > 0 {
            self.asked[to as usize] = Some(now);
        }
    }

    /// Whether the end on the side of this leg may be gone.
    pub(super) fn is_silent(&self, side: Side, leg: &Connection, now: Instant) -> bool {
        let round_trip = leg.rtt().estimate().map_or(Duration::ZERO, |(smoothed, _)| smoothed.min(RECENT));
        let is_over = matches!(leg.state(), State::Closed | State::TimeWait);
        let heard = self.heard[side as usize];
        !is_over && heard.is_none_or(|at| now.since(at) > RECENT + round_trip)
    }

    /// A question to the end on the side of this leg, if none waits for its answer.
    pub(super) fn question(&mut self, side: Side, leg: &mut Connection, now: Instant) -> Option<Packet> {
        if self.asked[side as usize].is_some_and(|at| now.since(at) < ASKED_EVERY) {
            return None;
        }
        let question = leg.keep_alive(now)?;
        self.asked[side as usize] = Some(now);
        Some(question)
    }
}
