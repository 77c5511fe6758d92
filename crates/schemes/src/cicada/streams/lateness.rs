//! Which packets of a source are given up.

use std::time::Duration;

use lasthop_packet::Instant;

use super::transit::Transit;
use crate::cicada::quality::Terms;

/// A source's packets by their delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lateness {
    transit: Transit,
    standing: Standing,
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    OnTime,
    /// All packets since then were late.
    LateSince(Instant),
    /// No packet is late until then.
    SparedUntil(Instant),
}

/// A packet of a source, with a timestamp that no packet before had.
pub(super) struct Sampled {
    /// The timestamp, counted on beyond 32 bits.
    pub(super) ticks: u64,
    /// The clock's rate, in hertz.
    pub(super) rate: u32,
    /// Packets that left later have come before it.
    pub(super) is_overtaken: bool,
    /// The sender says that a talkspurt begins (RFC 3551, section 4.1), and it was silent.
    pub(super) begins_talkspurt: bool,
}

impl Lateness {
    /// Nothing is late; this packet is the first.
    pub(super) fn new(packet: &Sampled, terms: &Terms, now: Instant) -> Self {
        Self {
            transit: Transit::new(packet.ticks, packet.rate, now + terms.queue),
            standing: Standing::OnTime,
        }
    }

    /// A packet came. Returns whether it is given up, and how much longer it took than the quickest one
    /// lately.
    pub(super) fn on_packet(&mut self, packet: &Sampled, terms: &Terms, now: Instant) -> (bool, Duration) {
        let arrives = now + terms.queue;
        let variation = if packet.is_overtaken {
            self.transit.of_overtaken(packet.ticks, packet.rate, arrives)
        } else {
            self.transit.on_packet(packet.ticks, packet.rate, arrives)
        };
        (self.is_given_up(variation, packet, terms, now), variation)
    }

    fn is_given_up(&mut self, variation: Duration, packet: &Sampled, terms: &Terms, now: Instant) -> bool {
        if matches!(self.standing, Standing::SparedUntil(end) if now < end) {
            return false;
        }
        if !terms.is_late(variation) {
            self.standing = Standing::OnTime;
            return false;
        }
        let since = if let Standing::LateSince(since) = self.standing { since } else { now };
        self.standing = Standing::LateSince(since);
        // A source may stop its clock in silence; and what has been late for a whole interval is
        // what the path is like now.
        if packet.begins_talkspurt || now.since(since) >= terms.interval {
            if !packet.is_overtaken {
                self.transit.start_over(now);
            }
            self.standing = Standing::SparedUntil(now + terms.interval);
        }
        matches!(self.standing, Standing::LateSince(_))
    }
}
