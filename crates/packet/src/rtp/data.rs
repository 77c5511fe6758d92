//! RTP data packets: RFC 3550, section 5.1.

use std::ops::Range;

use super::VERSION;

/// The fixed header of an RTP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtp {
    /// Defined by a profile: for audio, the first packet of a talkspurt (RFC 3551, section 4.1);
    /// for video, the last of a frame.
    pub marker: bool,
    /// The format of the payload, 0 to 127: 0 is G.711 (mu-law), 18 is G.729 (RFC 3551, table 4).
    pub payload_type: u8,
    /// Increases by one with each packet.
    pub sequence: u16,
    /// The sampling time of the payload's first octet, by the payload's clock.
    pub timestamp: u32,
    /// The source.
    pub ssrc: u32,
}

/// An RTP packet: its fixed header, and the layout of the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtpPacket {
    /// The fixed header.
    pub header: Rtp,
    /// Number of contributing sources after the fixed header, 0 to 15.
    pub contributors: u8,
    /// Whether there is a header extension.
    pub has_extension: bool,
    /// The position of the payload, without padding.
    pub payload: Range<usize>,
}

impl Rtp {
    /// Octets of the fixed header.
    pub const LEN: usize = 12;

    /// The header of a packet without contributing sources, extension and padding.
    pub const fn octets(&self) -> [u8; Self::LEN] {
        let [s0, s1] = self.sequence.to_be_bytes();
        let [t0, t1, t2, t3] = self.timestamp.to_be_bytes();
        let [r0, r1, r2, r3] = self.ssrc.to_be_bytes();
        let second = (self.marker as u8) << 7 | self.payload_type & 0x7f;
        [VERSION << 6, second, s0, s1, t0, t1, t2, t3, r0, r1, r2, r3]
    }
}

impl RtpPacket {
    /// Reads the payload of a UDP datagram; `None` if it is no RTP packet by the checks of RFC
    /// 3550, appendix A.1. The caller checks whether the payload type is known; only those of RTCP
    /// packets, such as sender and receiver reports, are refused here.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        let fixed: &[u8; Rtp::LEN] = octets.first_chunk()?;
        let [first, second, s0, s1, t0, t1, t2, t3, r0, r1, r2, r3] = *fixed;
        // RTCP's packet types 200 to 204 without the marker bit.
        if first >> 6 != VERSION || (200..=204).contains(&second) {
            return None;
        }
        let (has_padding, has_extension, contributors) = (first & 0x20 != 0, first & 0x10 != 0, first & 0x0f);
        let mut from = Rtp::LEN + 4 * usize::from(contributors);
        if has_extension {
            let [_, _, high, low] = *octets.get(from..)?.first_chunk()?;
            from += 4 + 4 * usize::from(u16::from_be_bytes([high, low]));
        }
        let padding = if has_padding { usize::from(*octets.last()?) } else { 0 };
        let to = octets.len().checked_sub(padding)?;
        if from > to || (has_padding && padding == 0) {
            return None;
        }
        let header = Rtp {
            marker: second & 0x80 != 0,
            payload_type: second & 0x7f,
            sequence: u16::from_be_bytes([s0, s1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            ssrc: u32::from_be_bytes([r0, r1, r2, r3]),
        };
        Some(Self { header, contributors, has_extension, payload: from..to })
    }
}
