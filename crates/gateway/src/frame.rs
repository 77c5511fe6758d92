//! Frames: their octets, and the kernel's metadata about them.

mod link_header;
mod mac_address;
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
pub use mac_address::{MacAddress, NotAnAddress};

/// A frame received from a port, or to be sent through one.
///
/// A frame that is not edited is sent with exactly these octets and metadata, so that a
/// super-packet stays one, and a checksum that the network card is to complete stays incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The link header (Ethernet with VLAN tags; empty on a TUN device), followed by the IP packet.
    pub octets: Bytes,
    /// The state of the transport checksum.
    pub checksum: Checksum,
    /// The payload size of each segment in octets, for a super-packet of TCP.
    pub segment_size: Option<NonZeroU16>,
    /// Whether the super-packet has CWR set in its first segment only (`VIRTIO_NET_HDR_GSO_ECN`).
    pub first_segment_cwr: bool,
}

/// The headers of a frame that the kernel forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// The link header, the IP header and the transport header.
    pub octets: &'a [u8],
    /// The length of the frame, in octets.
    pub len: usize,
    /// The payload size of each segment in octets, for a super-packet of TCP.
    pub segment_size: Option<NonZeroU16>,
}

impl Headers<'_> {
    /// Parses the headers. No checksum can be verified without the payload: the kernel forwarded
    /// the frame unchanged, and the receiver verifies it.
    pub fn parse(&self, ethernet: bool) -> Result<(LinkHeader, Packet), NotForAgents> {
        let link = link_header(self.octets, ethernet)?;
        let ip_octets = self.octets.get(link.len()..).unwrap_or_default();
        let mut packet = parse_headers(ip_octets, self.len.saturating_sub(link.len()))?;
        packet.set_segment_size(self.segment_size);
        Ok((link, packet))
    }
}

/// The state of a transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The checksum is complete and not verified.
    Unchecked,
    /// The checksum was verified and is right.
    Right,
    /// The checksum covers only the pseudo-header; the sender completes it
    /// (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    Partial {
        /// The offset in the octets at which summing starts: that of the transport header.
        start: u16,
        /// The offset of the checksum field from `start`.
        offset: u16,
    },
}

/// Why a frame is not for agents. It is forwarded unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotForAgents {
    /// Another protocol, or more VLAN tags than two.
    #[error("no IP packet follows the link header")]
    NotIp,
    /// The IP packet is incomplete, or longer than 65,535 octets.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// A packet with [`Transport::Opaque`].
    #[error("no agent understands this kind of packet")]
    Opaque,
    /// A checksum is wrong: an edit would hide the damage from the receiver.
    #[error("a checksum is wrong")]
    WrongChecksum,
    /// The kernel expects a checksum or segmentation at a position other than the packet's own
    /// transport header (a tunnel), or the frame is a super-packet of UDP.
    #[error("the packet has offloads other than those of plain TCP or UDP")]
    UnsupportedOffload,
}

/// Why a packet cannot become a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unsendable {
    /// The packet is longer than IP allows.
    #[error("a packet of {len} octets does not fit in the length field of IP")]
    TooLarge {
        /// The length of the packet, in octets.
        len: usize,
    },
    /// The payload is from a packet of which only the headers were seen.
    #[error("the payload of the packet is unknown")]
    Unseen,
}

/// The result of giving a frame to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// The kernel accepted it.
    Whole,
    /// The kernel had no room for it, or refused it.
    Lost,
}

/// The offset of the checksum in the TCP header.
const TCP_CHECKSUM: u16 = 16;
/// The offset of the checksum in the UDP header.
const UDP_CHECKSUM: u16 = 6;

impl Frame {
    /// Creates a frame of these octets, without metadata.
    pub const fn plain(octets: Bytes) -> Self {
        Self { octets, checksum: Checksum::Unchecked, segment_size: None, first_segment_cwr: false }
    }

    /// Parses the IP packet, after an Ethernet header if the port has one. The packet shares the
    /// octets' memory. Checksums that the kernel has not verified are verified here, so that an
    /// edited packet may be sent with a new one.
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
        // The stack verifies the IP header only after the gateway, whatever the network card has
        // verified.
        if !is_right || !header_checksum_is_right(&packet) {
            return Err(NotForAgents::WrongChecksum);
        }
        packet.set_segment_size(self.segment_size);
        packet.set_buffer(buffer_of(self.octets.len()) as u32);
        Ok((link, packet))
    }

    /// The flow key of the frame, without any validation.
    pub fn peek_flow_key(&self, ethernet: bool) -> Option<FlowKey> {
        let link = if ethernet { LinkHeader::ethernet(&self.octets)?.len() } else { 0 };
        peek_flow_key(self.octets.get(link..)?)
    }

    /// Creates the frame of a packet after a link header. `original` is the frame from which the
    /// packet was parsed, if it is available.
    ///
    /// A packet that was not edited returns its original frame, including padding. Every other TCP
    /// segment gets new octets, with a complete IPv4 header checksum and a TCP checksum that the
    /// kernel or a network card completes, and becomes a super-packet if its payload exceeds one
    /// segment. Other packets get complete checksums.
    pub fn from_packet(
        packet: &Packet,
        link: &LinkHeader,
        original: Option<&Self>,
    ) -> Result<Self, Unsendable> {
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

    /// The segments of a super-packet, as the kernel or a network card would make them; `None` for an ordinary frame, or
    /// one that is not for agents.
    pub fn segments(&self, ethernet: bool) -> Option<impl Iterator<Item = Self> + use<>> {
        self.segment_size?;
        let (link, packet) = self.parse(ethernet).ok()?;
        let first_only = self.first_segment_cwr;
        let segments = packet.into_segments().enumerate().map(move |(index, mut segment)| {
            if let Some(tcp) = segment.tcp_mut().filter(|_| first_only && index > 0) {
                tcp.flags.0 &= !TcpFlags::CWR.0;
            }
            segment
        });
        Some(segments.filter_map(move |segment| Self::from_packet(&segment, &link, None).ok()))
    }

    /// Whether the packet was parsed from this frame, after this link header, and not edited.
    fn is_of(&self, packet: &Packet, link: &LinkHeader) -> bool {
        let ip_octets = self.octets.get(link.len()..).unwrap_or_default();
        packet.original().is_some_and(|octets| octets.as_ptr() == ip_octets.as_ptr())
            && packet.segment_size() == self.segment_size
            && self.octets.starts_with(link.octets())
    }
}

/// The link header of a frame from a port with or without Ethernet headers.
fn link_header(octets: &[u8], ethernet: bool) -> Result<LinkHeader, NotForAgents> {
    if ethernet { LinkHeader::ethernet(octets).ok_or(NotForAgents::NotIp) } else { Ok(LinkHeader::NONE) }
}
