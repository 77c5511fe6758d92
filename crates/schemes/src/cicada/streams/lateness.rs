//! Which packets of a source are discarded.

use std::time::Duration;

use lasthop_packet::Instant;

use super::transit::Transit;
use crate::cicada::quality::Terms;

/// The delays of a source's packets.
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
    /// No packet counts as late until then.
    SparedUntil(Instant),
}

/// A packet of a source with a new timestamp.
pub(super) struct Sampled {
    /// The timestamp, extended beyond 32 bits.
    pub(super) ticks: u64,
    /// The clock's rate, in hertz.
    pub(super) rate: u32,
    /// Whether later packets have arrived before it.
    pub(super) is_overtaken: bool,
    /// Whether its marker begins a talkspurt (RFC 3551, section 4.1), after silence.
    pub(super) begins_talkspurt: bool,
}

impl Lateness {
    /// The state after the first packet, which is not late.
    pub(super) fn new(packet: &Sampled, terms: &Terms, now: Instant) -> Self {
        Self {
            transit: Transit::new(packet.ticks, packet.rate, now + terms.queue),
            standing: Standing::OnTime,
        }
    }

    /// Records a packet. Returns whether it is discarded, and the excess of its delay over the
    /// recent minimum.
    pub(super) fn on_packet(&mut self, packet: &Sampled, terms: &Terms, now: Instant) -> (bool, Duration) {
        let arrives = now + terms.queue;
        let variation = if packet.is_overtaken {
            self.transit.of_overtaken(packet.ticks, packet.rate, arrives)
        } else {
            self.transit.on_packet(packet.ticks, packet.rate, arrives)
        };
        (self.is_given_up(variation, packet, terms, now), variation)
    }

    /// The excess of the delay of a packet with this timestamp over the recent minimum, if it arrives at that time. It is
    /// not recorded.
    pub(super) fn of_another(&self, ticks: u64, rate: u32, arrives: Instant) -> Duration {
        self.transit.of_overtaken(ticks, rate, arrives)
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
        // A source may stop its clock in silence; and a delay that persists for a whole interval is
        // the current delay of the path.
        if packet.begins_talkspurt || now.since(since) >= terms.interval {
            if !packet.is_overtaken {
                self.transit.start_over(now);
            }
            self.standing = Standing::SparedUntil(now + terms.interval);
        }
        matches!(self.standing, Standing::LateSince(_))
    }
}
