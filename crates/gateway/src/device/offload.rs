//! The header before each frame of a TUN or TAP device with `IFF_VNET_HDR`: `struct virtio_net_hdr`
//! in the machine's byte order.

use std::num::NonZeroU16;

use crate::frame::{Checksum, Frame, LinkHeader};

/// The length of the header, in octets.
pub(super) const LEN: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const SEGMENTS_NONE: u8 = 0;
const SEGMENTS_TCP_V4: u8 = 1;
const SEGMENTS_TCP_V6: u8 = 4;
const SEGMENTS_ECN: u8 = 0x80;

/// The metadata of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offload {
    pub(super) checksum: Checksum,
    pub(super) segment_size: Option<NonZeroU16>,
    pub(super) first_segment_cwr: bool,
}

impl Offload {
    /// Parses the header of a frame of `len` octets; `None` if it is invalid, or uses a feature
    /// that was not negotiated.
    pub(super) fn parse(header: [u8; LEN], len: usize) -> Option<Self> {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let (flags, kind, size, start, offset) = (header[0], header[1], word(4), word(6), word(8));
        let checksum = if flags & NEEDS_CHECKSUM != 0 {
            let field_end = usize::from(start) + usize::from(offset) + 2;
            (field_end <= len).then_some(Checksum::Partial { start, offset })?
        } else if flags & DATA_VALID != 0 {
            Checksum::Right
        } else {
            Checksum::Unchecked
        };
        let segment_size = match kind & !SEGMENTS_ECN {
            SEGMENTS_NONE => None,
            SEGMENTS_TCP_V4 | SEGMENTS_TCP_V6 => Some(NonZeroU16::new(size)?),
            _ => return None,
        };
        let first_segment_cwr = kind & SEGMENTS_ECN != 0 && segment_size.is_some();
        Some(Self { checksum, segment_size, first_segment_cwr })
    }

    /// The header of a frame to be written; `None` for a super-packet that does not contain IP.
    pub(super) fn header(frame: &Frame, ethernet: bool) -> Option<[u8; LEN]> {
        let mut header = [0; LEN];
        let mut put = |at: usize, word: u16| header[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        let flags = match frame.checksum {
            Checksum::Unchecked => 0,
            Checksum::Right => DATA_VALID,
            Checksum::Partial { start, offset } => {
                // The length of the headers, which the kernel needs contiguous. Without it, the
                // kernel would put all octets into pages and copy the headers later.
                put(2, start.saturating_add(tcp_header_len(frame, start, offset)));
                put(6, start);
                put(8, offset);
                NEEDS_CHECKSUM
            }
        };
        let mut kind = SEGMENTS_NONE;
        if let Some(size) = frame.segment_size {
            put(4, size.get());
            let at = if ethernet { LinkHeader::ethernet(&frame.octets)?.len() } else { 0 };
            kind = match frame.octets.get(at)? >> 4 {
                4 => SEGMENTS_TCP_V4,
                6 => SEGMENTS_TCP_V6,
                _ => return None,
            };
            if frame.first_segment_cwr {
                kind |= SEGMENTS_ECN;
            }
        }
        header[..2].copy_from_slice(&[flags, kind]);
        Some(header)
    }
}

/// The length in octets of the transport header at `start`: TCP's data offset if it is valid,
/// otherwise the octets up to the end of the checksum.
fn tcp_header_len(frame: &Frame, start: u16, offset: u16) -> u16 {
    let stated = frame.octets.get(usize::from(start) + 12).map_or(0, |octet| u16::from(octet >> 4) * 4);
    let is_whole = frame.octets.len() >= usize::from(start) + usize::from(stated);
    if offset == 16 && stated >= 20 && is_whole { stated } else { offset.saturating_add(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(checksum: Checksum, segment_size: Option<NonZeroU16>, first_segment_cwr: bool) -> Frame {
        let mut octets = vec![0; 3000];
        octets[..2].copy_from_slice(&[0x60, 0]);
        octets[40 + 12] = 0x80;
        Frame { octets: octets.into(), checksum, segment_size, first_segment_cwr }
    }

    #[test]
    fn a_written_header_parses_to_the_same_metadata() {
        let partial = Checksum::Partial { start: 40, offset: 16 };
        for (checksum, size, cwr) in [
            (Checksum::Unchecked, None, false),
            (Checksum::Right, None, false),
            (partial, None, false),
            (partial, NonZeroU16::new(1440), false),
            (partial, NonZeroU16::new(1440), true),
        ] {
            let header = Offload::header(&frame(checksum, size, cwr), false).expect("IPv6");
            let expected = Offload { checksum, segment_size: size, first_segment_cwr: cwr };
            assert_eq!(Offload::parse(header, 3000), Some(expected));
        }
        let header = Offload::header(&frame(partial, None, false), false).expect("IPv6");
        assert_eq!(u16::from_ne_bytes([header[2], header[3]]), 40 + 32, "all headers");
    }

    #[test]
    fn invalid_headers_are_refused() {
        let good = Offload::header(&frame(Checksum::Partial { start: 40, offset: 16 }, None, false), false);
        let good = good.expect("IPv6");
        assert_eq!(Offload::parse(good, 57), None, "the checksum would stand behind the end");
        assert!(Offload::parse(good, 58).is_some());
        let with_kind = |kind: u8| {
            let mut header = good;
            header[1] = kind;
            Offload::parse(header, 3000)
        };
        assert_eq!(with_kind(SEGMENTS_TCP_V4), None, "segments of no octets");
        assert_eq!(with_kind(3), None, "UDP");
        let super_packet = frame(Checksum::Right, NonZeroU16::new(1), false);
        assert_eq!(Offload::header(&super_packet, true), None, "not IP behind this Ethernet header");
    }
}
