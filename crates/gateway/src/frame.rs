//! What crosses a port: the octets of a frame, and what the kernel says about them that is not in
//! the octets.

mod link_header;
#[cfg(test)]
mod tests;

use std::num::NonZeroU16;

use bytes::Bytes;
use lasthop_packet::buffer::buffer_of;
use lasthop_packet::wire::{
    ParseError, emit, emit_for_offload, header_checksum_is_right, parse, parse_headers, peek_flow_key,
    transport_checksum_is_right,
};
use lasthop_packet::{FlowKey, Packet, TcpFlags, Transport};
use thiserror::Error;

pub use link_header::LinkHeader;

/// A frame as it came from a port, or as it is to leave by one.
///
/// A frame that nobody edited leaves with exactly these octets and this meta data, so that a
/// super-packet stays one and a checksum that the network card is to fill in stays undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The link header (Ethernet with VLAN tags; nothing on a TUN device) and the IP packet behind
    /// it.
    pub octets: Bytes,
    /// How far the transport checksum is.
    pub checksum: Checksum,
    /// Payload octets of each segment, for a super-packet of TCP.
    pub segment_size: Option<NonZeroU16>,
    /// The super-packet has CWR set in its first segment only (`VIRTIO_NET_HDR_GSO_ECN`).
    pub first_segment_cwr: bool,
}

/// The headers of a frame that went on in the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// The link header, the IP header and the transport header.
    pub octets: &'a [u8],
    /// Octets of the whole frame.
    pub len: usize,
    /// Payload octets of each segment, for a super-packet of TCP.
    pub segment_size: Option<NonZeroU16>,
}

impl Headers<'_> {
    /// Reads them. No checksum can be verified without the payload: the kernel passed the frame on
    /// as it was, and the receiver looks.
    pub fn parse(&self, ethernet: bool) -> Result<(LinkHeader, Packet), NotForAgents> {
        let link = link_header(self.octets, ethernet)?;
        let behind_link = self.octets.get(link.len()..).unwrap_or_default();
        let mut packet = parse_headers(behind_link, self.len.saturating_sub(link.len()))?;
        packet.set_segment_size(self.segment_size);
        Ok((link, packet))
    }
}

/// What the kernel says of a transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Nothing: it stands in the octets and has to be checked by whoever relies on it.
    Unchecked,
    /// Somebody checked it: it is right.
    Right,
    /// Only the pseudo header is summed so far; the rest is left to whoever sends it on
    /// (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    Partial {
        /// Where summing starts: the offset of the transport header in the octets.
        start: u16,
        /// Where the sum belongs, from `start`.
        offset: u16,
    },
}

/// Why a frame is not for agents. It is sent on as it came.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotForAgents {
    /// Another protocol, or more VLAN tags than two.
    #[error("no IP packet follows the link header")]
    NotIp,
    /// The octets of the IP packet are not whole, or it is above 65,535 octets.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// [`Transport::Opaque`].
    #[error("no agent understands this kind of packet")]
    Opaque,
    /// An edit would hide the damage from the receiver.
    #[error("a checksum is wrong")]
    WrongChecksum,
    /// The kernel wants a checksum or segments in a place that is not the packet's own: a tunnel,
    /// or a super-packet of UDP.
    #[error("the packet has offloads other than those of plain TCP or UDP")]
    UnsupportedOffload,
}

/// Why a packet cannot become a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unsendable {
    /// An agent joined too much.
    #[error("a packet of {len} octets does not fit in the length field of IP")]
    TooLarge {
        /// Octets of the packet.
        len: usize,
    },
    /// Only the headers of its payload's packet were ever here.
    #[error("the payload of the packet is unknown")]
    Unseen,
}

/// What became of a frame given to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// It went on.
    Whole,
    /// The kernel had no room for it, or did not take it.
    Lost,
}

/// Where the TCP checksum stands in its header.
const TCP_CHECKSUM: u16 = 16;
/// Where the UDP checksum stands in its header.
const UDP_CHECKSUM: u16 = 6;

impl Frame {
    /// A frame of these octets about which nobody said anything.
    pub const fn plain(octets: Bytes) -> Self {
        Self { octets, checksum: Checksum::Unchecked, segment_size: None, first_segment_cwr: false }
    }

    /// Finds the IP packet, behind an Ethernet header if the port has one. The packet shares the
    /// octets' memory. Checksums that nobody vouches for are verified here, so that an edited
    /// packet may leave with a right one.
    pub fn parse(&self, ethernet: bool) -> Result<(LinkHeader, Packet), NotForAgents> {
        let link = link_header(&self.octets, ethernet)?;
        let mut packet = parse(self.octets.slice(link.len()..))?;
        let checksum_at = match packet.transport() {
            Transport::Tcp(_) => Some(TCP_CHECKSUM),
            Transport::Udp(_) => Some(UDP_CHECKSUM),
            Transport::Icmp(_) => None,
            Transport::Opaque { .. } => return Err(NotForAgents::Opaque),
        };
        if self.segment_size.is_some() && packet.tcp().is_none() {
            return Err(NotForAgents::UnsupportedOffload);
        }
        let is_right = match self.checksum {
            Checksum::Right => true,
            Checksum::Unchecked => transport_checksum_is_right(&packet),
            Checksum::Partial { start, offset } => {
                let transport_at = link.len() + packet.ip().len();
                if usize::from(start) != transport_at || Some(offset) != checksum_at {
                    return Err(NotForAgents::UnsupportedOffload);
                }
                true
            }
        };
        // The stack looks at the IP header only behind us, whatever the network card checked.
        if !is_right || !header_checksum_is_right(&packet) {
            return Err(NotForAgents::WrongChecksum);
        }
        packet.set_segment_size(self.segment_size);
        packet.set_buffer(buffer_of(self.octets.len()) as u32);
        Ok((link, packet))
    }

    /// Whose frame it is, if it is what it looks like: nothing is checked.
    pub fn peek_flow_key(&self, ethernet: bool) -> Option<FlowKey> {
        let link = if ethernet { LinkHeader::ethernet(&self.octets)?.len() } else { 0 };
        peek_flow_key(self.octets.get(link..)?)
    }

    /// The frame of a packet behind a link header. `original` is the frame that the packet was
    /// parsed from, if it is at hand.
    ///
    /// A packet that nobody edited is its original frame again, padding and all. Every other TCP
    /// segment gets new octets with a right IPv4 header checksum and a TCP checksum that the kernel
    /// or a network card completes, and leaves as a super-packet if its payload is more than one
    /// segment. Other packets get complete checksums.
    pub fn of(packet: &Packet, link: &LinkHeader, original: Option<&Self>) -> Result<Self, Unsendable> {
        if let Some(frame) = original
            && frame.is_of(packet, link)
        {
            return Ok(frame.clone());
        }
        if packet.payload().is_unseen() {
            return Err(Unsendable::Unseen);
        }
        let too_large = Unsendable::TooLarge { len: packet.len() };
        let link = link.announcing(packet.ip().source.is_ipv4());
        let Some(tcp) = packet.tcp() else {
            if packet.len() > usize::from(u16::MAX) {
                return Err(too_large);
            }
            return Ok(Self::plain([link.octets(), &emit(packet)].concat().into()));
        };
        let octets = emit_for_offload(packet, link.octets()).ok_or(too_large)?;
        let segment_size =
            packet.segment_size().filter(|size| packet.payload().len() > usize::from(size.get()));
        let has_cwr = tcp.flags.has(TcpFlags::CWR);
        let first_only = original.is_none_or(|frame| frame.segment_size.is_none() || frame.first_segment_cwr);
        Ok(Self {
            octets: octets.into(),
            checksum: Checksum::Partial {
                start: (link.len() + packet.ip().len()) as u16,
                offset: TCP_CHECKSUM,
            },
            segment_size,
            first_segment_cwr: segment_size.is_some() && has_cwr && first_only,
        })
    }

    /// Whether the packet was parsed from this frame, behind this link header, and not edited.
    fn is_of(&self, packet: &Packet, link: &LinkHeader) -> bool {
        let behind_link = self.octets.get(link.len()..).unwrap_or_default();
        packet.original().is_some_and(|octets| octets.as_ptr() == behind_link.as_ptr())
            && packet.segment_size() == self.segment_size
            && self.octets.starts_with(link.octets())
    }
}

/// What is before the IP packet in a frame of a port with Ethernet headers, or without.
fn link_header(octets: &[u8], ethernet: bool) -> Result<LinkHeader, NotForAgents> {
    if ethernet { LinkHeader::ethernet(octets).ok_or(NotForAgents::NotIp) } else { Ok(LinkHeader::NONE) }
}
