//! Measurements of a connection's hop at the gateway: losses on either side of it, and round-trip
//! times. They do not depend on a scheme: only the headers of received and sent packets count.
//!
//! ```text
//!   server ---- core ---->  arrivals -> [agent] -> departures  ---- hop ----> client
//!               wire        lost_before            lost_down
//! ```
//!
//! | measured | how |
//! |---|---|
//! | `lost_down` | segments sent to the radio side whose octets had been sent there before. Probes of a closed window and keepalives (RFC 9293, sections 3.8.6.1 and 3.8.4) do not count: they have at most one octet, which is acknowledged or outside the window |
//! | `needless` | the number of these that the client already had: it reported them (DSACK, RFC 2883), or had acknowledged them before they passed |
//! | `lost_before`, `lost_up` | segments that were missing when later ones arrived from the core or the radio side, and then arrived as retransmissions, not reordered |
//! | `rtt_hop`, `rtt_wire` | the time from a segment's departure to the arrival of its acknowledgment, smoothed with the gains of RFC 6298, section 2; one segment at a time, and none that was sent twice or that followed one that is retransmitted (Karn's algorithm, section 3) |
//!
//! Limits of the measurement:
//!
//! - *A loss with no later segment.* The last segments before a pause leave no gap: their losses
//!   are not in `lost_before` and `lost_up`. A segment that is lost twice before it reaches the
//!   gateway is one gap. `lost_down` has neither limit: each further copy counts.
//! - *Losses of acknowledgments*, and whether a further copy was needed if the client does not
//!   report it.
//! - *The client's delay*: a delayed acknowledgment (RFC 9293, section 3.8.6.3) is part of
//!   `rtt_hop`, as are its queue and its power save.
//! - *Round-trip times where that side acknowledges no data*: for a pure upload, `rtt_hop` is that
//!   of the handshake; for a pure download, `rtt_wire` is that of the request.
//! - *Packets that bypass the gateway*: nothing is counted for a connection that is set aside, or
//!   while the gateway is out. A gap from such a time is no loss; a copy of its octets counts in
//!   `lost_before`.
//!
//! The two legs of a split connection may have different sequence numbers, so packets to a side are
//! only compared with packets from that side. Every retransmission by a split is a repair.

mod arrivals;
mod passage;
mod round_trip;
mod segment;

use std::time::Duration;

use lasthop_agent::Side;
use lasthop_packet::{Instant, Packet, SackBlocks, Seq, TcpFlags};
use serde::{Deserialize, Serialize};

use arrivals::Arrivals;
use passage::Passage;
use round_trip::{Micros, RoundTrip, duration, micros};
use segment::Segment;

lasthop_agent::counters! {
    /// Segments over the hop, and their losses. A segment has data, a SYN or a FIN; a super-packet
    /// counts as its segments.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct HopCounters {
        /// Segments sent to the radio side, repeated ones included.
        segments_down: SEGMENTS_DOWN = "hop_segments_down",
        /// Of these, segments whose octets had been sent to the radio side before: they were lost on
        /// the hop, or are needless.
        lost_down: LOST_DOWN = "hop_lost_down",
        /// Of those, segments that the client had already, as far as it told.
        needless: NEEDLESS = "hop_needless",
        /// Of the repeated segments, those that an agent sent.
        repairs: REPAIRS = "hop_repairs",
        /// Segments that were lost between the server and this gateway: they were missing in what
        /// came from the core side, and came later.
        lost_before: LOST_BEFORE = "hop_lost_before",
        /// Segments that came from the radio side.
        segments_up: SEGMENTS_UP = "hop_segments_up",
        /// Segments that were lost between the client and this gateway: they were missing in what
        /// came from the radio side, and came later.
        lost_up: LOST_UP = "hop_lost_up",
    }
}

/// The measurements of one connection's hop. It has a fixed size and allocates nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopWatch {
    counters: HopCounters,
    /// The segments from the core side, and from the radio side.
    from_core: Arrivals,
    from_radio: Arrivals,
    /// The segments to the radio side.
    to_radio: Option<Passage>,
    /// The next sequence number to the core side.
    to_core: Option<Seq>,
    hop: RoundTrip,
    wire: RoundTrip,
    /// The client's highest acknowledgment.
    acknowledged: Option<Seq>,
    /// Octets of data in the largest segment to the radio side.
    largest: u16,
    /// Needless segments that are already counted, and that the client may still report.
    unreported: u8,
    /// Whether the client's window is closed.
    is_closed: bool,
}

impl HopWatch {
    /// The counters.
    pub const fn counters(&self) -> &HopCounters {
        &self.counters
    }

    /// The smoothed round-trip time over the hop; `None` until measured.
    pub fn rtt_hop(&self) -> Option<Duration> {
        self.hop.smoothed.map(duration)
    }

    /// The minimum round-trip time over the hop; `None` until measured.
    pub fn rtt_min_hop(&self) -> Option<Duration> {
        self.hop.smoothed.map(|_| duration(self.hop.minimum))
    }

    /// The smoothed round-trip time over the wire; `None` until measured.
    pub fn rtt_wire(&self) -> Option<Duration> {
        self.wire.smoothed.map(duration)
    }

    /// Records a packet received from this side.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet, from: Side, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        let now = micros(now);
        let segment = Segment::from_packet(packet);
        let timestamp = tcp.options.timestamps.map(|timestamps| timestamps.value);
        match from {
            Side::Core => {
                if tcp.flags.has(TcpFlags::ACK) {
                    self.wire.acknowledged(tcp.ack, self.to_core, now);
                }
                if let Some(segment) = segment {
                    let lost = self.from_core.lost(segment, timestamp, self.wire.smoothed, now);
                    self.counters.lost_before += u64::from(lost);
                }
            }
            Side::Radio => {
                if tcp.flags.has(TcpFlags::ACK) {
                    self.is_closed = tcp.window == 0;
                    self.acknowledged_by_client(tcp.ack, &tcp.options.sack, now);
                }
                if let Some(segment) = segment {
                    self.counters.segments_up += u64::from(segment.segments);
                    let lost = self.from_radio.lost(segment, timestamp, self.hop.smoothed, now);
                    self.counters.lost_up += u64::from(lost);
                }
            }
        }
    }

    /// Records a packet sent to this side, either forwarded or, with `by_agent`, generated by an
    /// agent.
    #[inline]
    pub fn departed(&mut self, packet: &Packet, to: Side, by_agent: bool, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        if tcp.flags.has(TcpFlags::ACK) {
            // Acknowledgments always use the sequence numbers of that side's leg, unlike the data
            // that an agent may send.
            match to {
                Side::Core => self.from_core.is_complete(tcp.ack),
                Side::Radio => self.from_radio.is_complete(tcp.ack),
            }
        }
        let Some(segment) = Segment::from_packet(packet) else { return };
        let now = micros(now);
        match to {
            Side::Core => {
                let is_next = self.to_core.map_or(segment.is_first, |next| segment.seq == next);
                self.wire.sent(segment, is_next, now);
                let next = self.to_core.filter(|next| !segment.seq.is_out_of_reach(*next));
                self.to_core = Some(next.map_or(segment.end(), |next| next.later(segment.end())));
            }
            Side::Radio => {
                self.counters.segments_down += u64::from(segment.segments);
                let next = self.to_radio.map(|passage| passage.next);
                let is_next = next.map_or(segment.is_first, |next| segment.seq == next);
                self.hop.sent(segment, is_next, now);
                let passage = self.to_radio.get_or_insert(Passage::before(segment));
                let (old, _) = passage.pass(segment);
                self.largest = self.largest.max(segment.each.min(u32::from(u16::MAX)) as u16);
                if old.repeated > 0 {
                    self.repeated(segment, old.repeated, by_agent);
                }
            }
        }
    }

    /// Counts a segment to the radio side that repeats this number of octets.
    #[cold]
    fn repeated(&mut self, segment: Segment, octets: u32, by_agent: bool) {
        let is_acknowledged = self.acknowledged.is_some_and(|ack| !segment.end().after(ack));
        if segment.len <= 1 && (is_acknowledged || self.is_closed) {
            return;
        }
        let segments = segment.segments_in(octets);
        let counters = &mut self.counters;
        counters.lost_down += u64::from(segments);
        counters.repairs += if by_agent { u64::from(segments) } else { 0 };
        counters.needless += if is_acknowledged { u64::from(segments) } else { 0 };
        if is_acknowledged {
            let segments = u8::try_from(segments).unwrap_or(u8::MAX);
            self.unreported = self.unreported.saturating_add(segments);
        }
    }

    fn acknowledged_by_client(&mut self, ack: Seq, sack: &SackBlocks, now: Micros) {
        let Some(passage) = &mut self.to_radio else { return };
        // An acknowledgment of unsent data is invalid.
        if ack.after(passage.next) {
            return;
        }
        self.hop.acknowledged(ack, Some(passage.next), now);
        passage.is_complete(ack);
        self.acknowledged = Some(self.acknowledged.map_or(ack, |highest| highest.later(ack)));
        if !sack.is_empty() {
            self.on_sack_blocks(ack, sack);
        }
    }

    /// Counts a duplicate segment that the client reports, if this is a DSACK: its first block is
    /// below the acknowledgment, or is contained in the second block (RFC 2883, section 4).
    #[cold]
    fn on_sack_blocks(&mut self, ack: Seq, sack: &SackBlocks) {
        let blocks = sack.as_slice();
        // A single octet belongs to a keepalive or a window probe.
        let is_segment = |(left, right): &&(Seq, Seq)| right.offset_from(*left) > 1;
        let Some((left, right)) = blocks.first().filter(is_segment) else { return };
        let is_in_second =
            blocks.get(1).is_some_and(|second| !left.before(second.0) && !right.after(second.1));
        if right.after(ack) && !is_in_second {
            return;
        }
        let reported = (*right - *left).div_ceil(u32::from(self.largest.max(1)));
        let known = reported.min(u32::from(self.unreported));
        self.unreported -= known as u8;
        // Whatever the client reports, no more segments can be needless than were repeated.
        let rest = self.counters.lost_down - self.counters.needless;
        let needless = u64::from(reported - known).min(rest);
        self.counters.needless += needless;
    }
}
