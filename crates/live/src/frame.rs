//! What crosses a port: the octets of a frame, and what the kernel says about them that is not in the octets.

use std::num::NonZeroU16;

use bytes::Bytes;

/// A frame as it came from a port, or as it is to leave by one.
///
/// A frame that nobody edited leaves with exactly these octets and this meta data, so that a super-packet stays one and a checksum
/// that the network card is to fill in stays undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The link header (Ethernet with VLAN tags; nothing on a TUN device) and the IP packet behind it.
    pub octets: Bytes,
    /// How far the transport checksum is.
    pub checksum: Checksum,
    /// Payload octets of each segment, for a super-packet of TCP.
    pub segment_size: Option<NonZeroU16>,
    /// The super-packet has CWR set in its first segment only (`VIRTIO_NET_HDR_GSO_ECN`).
    pub first_segment_cwr: bool,
}

/// What the kernel says of a transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Nothing: it stands in the octets and has to be checked by whoever relies on it.
    Unchecked,
    /// Somebody checked it: it is right.
    Right,
    /// Only the pseudo header is summed so far; the rest is left to whoever sends it on (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    Partial {
        /// Where summing starts: the offset of the transport header in the octets.
        start: u16,
        /// Where the sum belongs, from `start`.
        offset: u16,
    },
}
