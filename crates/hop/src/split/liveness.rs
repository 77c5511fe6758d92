//! Acknowledgments and answers in the name of an end that may be gone.
//!
//! A leg acknowledges an end's data before the other end has received it. In the name of a host
//! that is gone, such ACKs would hide the failure: the sender's user time-out (RFC 9293, section
//! 3.8.3) and its keepalives (section 3.8.4) would never detect it, and more and more data would
//! count as delivered. RFC 3135, section 4.1, names what a proxy breaks there.
//!
//! So a leg acknowledges in the name of an end only while packets from that end have come recently.
//! Otherwise no data for it is acknowledged, and no keepalive answered, until a packet from it
//! comes: the sender's own timers run as if there were no agent. Data for it is still forwarded,
//! and so elicits an answer. If none is waiting, but the sender waits, the end is probed.

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet};
use lasthop_tcp::{Connection, State};

/// An end is present if a packet from it came within this time plus a round trip of at most this
/// time. No sender treats silence of less than a second as a loss (RFC 6298, section 2.4), so it
/// need not notice outages of a hop that end sooner.
const RECENT: Duration = Duration::from_secs(1);
/// Minimum time between two probes of an end.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// When the last packet came from each end, on the core side and the radio side, and when the last
/// packet was sent to it that requires an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    received: [Option<Instant>; 2],
    probed: [Option<Instant>; 2],
}

impl Liveness {
    /// Packets from both ends have just come.
    pub(super) const fn new(now: Instant) -> Self {
        Self { received: [Some(now); 2], probed: [None; 2] }
    }

    /// Records a packet from an end.
    pub(super) const fn on_received(&mut self, from: Side, now: Instant) {
        self.received[from as usize] = Some(now);
    }

    /// Records a packet that a leg sends.
    pub(super) fn on_sent(&mut self, packet: &Packet, to: Side, now: Instant) {
        if packet.segment_len() > 0 {
            self.probed[to as usize] = Some(now);
        }
    }

    /// Whether the end on the side of this leg may be gone.
    pub(super) fn is_silent(&self, side: Side, leg: &Connection, now: Instant) -> bool {
        let round_trip = leg.rtt().estimate().map_or(Duration::ZERO, |(smoothed, _)| smoothed.min(RECENT));
        let is_over = matches!(leg.state(), State::Closed | State::TimeWait);
        let received = self.received[side as usize];
        !is_over && received.is_none_or(|at| now.since(at) > RECENT + round_trip)
    }

    /// A probe of the end on the side of this leg, unless an earlier one may still be answered.
    pub(super) fn probe(&mut self, side: Side, leg: &mut Connection, now: Instant) -> Option<Packet> {
        if self.probed[side as usize].is_some_and(|at| now.since(at) < PROBE_INTERVAL) {
            return None;
        }
        let probe = leg.keep_alive(now)?;
        self.probed[side as usize] = Some(now);
        Some(probe)
    }
}
