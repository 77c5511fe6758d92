//! The sequence space that a packet occupies.

use lasthop_packet::{Packet, Seq, TcpFlags};

/// A segment or a super-packet with sequence space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) seq: Seq,
    /// Its length in octets of sequence space; not 0.
    pub(super) len: u32,
    /// The length of each segment but the last, in octets; not 0.
    pub(super) each: u32,
    pub(super) segments: u32,
    /// Whether it has a SYN.
    pub(super) is_first: bool,
}

impl Segment {
    /// `None` without sequence space.
    #[inline]
    pub(super) fn from_packet(packet: &Packet) -> Option<Self> {
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

    /// The number of segments that contain this number of its octets.
    pub(super) fn segments_in(self, octets: u32) -> u32 {
        if octets == self.len { self.segments } else { (octets + self.each / 2) / self.each }
    }
}
