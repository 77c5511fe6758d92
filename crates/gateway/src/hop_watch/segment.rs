//! The part of a packet that its connection's sequence space has.

use lasthop_packet::{Packet, Seq, TcpFlags};

/// A segment or a super-packet with sequence space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) seq: Seq,
    /// Octets of sequence space; not 0.
    pub(super) len: u32,
    /// Octets of it in each segment but the last; not 0.
    pub(super) each: u32,
    pub(super) segments: u32,
    /// It begins the connection.
    pub(super) is_first: bool,
}

impl Segment {
    /// `None` without sequence space.
    #[inline]
    pub(super) fn of(packet: &Packet) -> Option<Self> {
        let (tcp, len) = (packet.tcp()?, packet.segment_len());
        if len == 0 {
            return None;
        }
        let segments = packet.segments();
        let each = if segments == 1 { len } else { packet.segment_payload().max(1) };
        Some(Self { seq: tcp.seq, len, each, segments, is_first: tcp.flags.has(TcpFlags::SYN) })
    }

    pub(super) fn end(self) -> Seq {
        self.seq + self.len
    }

    /// How many segments these of its octets are.
    pub(super) fn segments_in(self, octets: u32) -> u32 {
        if octets == self.len { self.segments } else { (octets + self.each / 2) / self.each }
    }
}
