//! Packets: parsed and owned, with their original octets.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::num::NonZeroU16;

use bytes::Bytes;

use crate::buffer::buffer_of;
use crate::header::{Ecn, Icmp, Ip, Tcp, Udp, is_informational};
use crate::link_options::LinkOptions;
use crate::mark;
use crate::payload::Payload;
use crate::readdress::{self, End};

/// Octets of the largest frame of an ordinary packet, rounded up to a buffer.
const ORDINARY: usize = 2048;

/// The reserved bits of a TCP header as the low bits, without that of accurate ECN.
const RESERVED: u8 = 0b111;

/// The content after the IP header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Tcp),
    /// A UDP datagram.
    Udp(Udp),
    /// An ICMP or `ICMPv6` message.
    Icmp(Icmp),
    /// Everything else: another protocol, a fragment, a header with IP options, a segment that does
    /// not parse. The payload is everything after the IP header; such a packet is only ever
    /// forwarded unchanged.
    Opaque {
        /// Protocol number (IPv4) or next header (IPv6).
        protocol: u8,
    },
}

/// An IP packet. An unedited packet leaves with exactly its original octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    ip: Ip,
    transport: Transport,
    payload: Payload,
    /// Header fields of the original that are not in `ip` and `transport`; an edit must not lose
    /// them.
    carried: Carried,
    /// The original octets; `None` for a packet created here, or after an edit.
    original: Option<Bytes>,
    /// Payload octets of each segment, if this is a super-packet.
    segment_size: Option<NonZeroU16>,
    buffer: Buffer,
    /// The options of the frame that carries it, or carried it; they are not part of the packet's
    /// octets.
    link_options: Option<Box<LinkOptions>>,
}

/// Octets of the buffer that contains real octets; 0 if they have an allocation of their own.
///
/// The buffer is not part of a packet's value: two packets that differ only in it are equal.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer(u32);

impl PartialEq for Buffer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Buffer {}

/// The size of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Octets on the wire, including the IP header.
    pub octets: usize,
    /// Octets of memory of a stored packet, in addition to the struct.
    pub buffer: usize,
}

/// Header fields that are not in the headers' structs, kept so that an edited packet still has
/// them. The default is that of a packet created here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// IPv6 flow label (RFC 8200, section 3): multipath routers would reorder a flow whose label
    /// changes.
    pub flow_label: u32,
    /// The IPv4 "don't fragment" flag was clear: setting it would black-hole the packets of a host
    /// without path MTU discovery.
    pub may_fragment: bool,
    /// The four bits between data offset and CWR, as the low bits: accurate ECN uses one of them
    /// for negotiation (RFC 9768).
    pub tcp_reserved: u8,
}

impl Packet {
    /// Creates a packet.
    #[inline]
    pub const fn new(ip: Ip, transport: Transport, payload: Payload) -> Self {
        let carried = Carried { flow_label: 0, may_fragment: false, tcp_reserved: 0 };
        Self {
            ip,
            transport,
            payload,
            carried,
            original: None,
            segment_size: None,
            buffer: Buffer(0),
            link_options: None,
        }
    }

    /// Creates a TCP segment.
    #[inline]
    pub const fn tcp_segment(ip: Ip, tcp: Tcp, payload: Payload) -> Self {
        Self::new(ip, Transport::Tcp(tcp), payload)
    }

    /// A parsed packet whose payload is not available.
    pub(crate) const fn shown_in_part(
        ip: Ip,
        transport: Transport,
        payload: Payload,
        carried: Carried,
    ) -> Self {
        let mut packet = Self::new(ip, transport, payload);
        packet.carried = carried;
        packet
    }

    /// A parsed packet with its original octets.
    pub(crate) const fn parsed(
        ip: Ip,
        transport: Transport,
        payload: Payload,
        carried: Carried,
        original: Bytes,
    ) -> Self {
        Self {
            ip,
            transport,
            payload,
            carried,
            original: Some(original),
            segment_size: None,
            buffer: Buffer(0),
            link_options: None,
        }
    }

    /// The header fields that are not in `ip` and `transport`.
    pub(crate) const fn carried(&self) -> Carried {
        self.carried
    }

    /// The IP header.
    #[inline]
    pub const fn ip(&self) -> &Ip {
        &self.ip
    }

    /// Sets the ECN field. Otherwise the original octets stay: an IPv4 header checksum is updated,
    /// so that a wrong one stays wrong, as in a router.
    pub fn set_ecn(&mut self, ecn: Ecn) {
        if self.ip.ecn() == ecn {
            return;
        }
        self.ip.set_ecn(ecn);
        if let Some(original) = &self.original {
            self.replace_octets(mark::with_traffic_class(original, self.ip.traffic_class));
        }
    }

    /// Sets the IPv4 identification; an edit.
    pub(crate) fn set_identification(&mut self, identification: u16) {
        self.ip.identification = identification;
        self.original = None;
    }

    /// Replaces the IPv4 address and the port of one end; the "port" of an ICMP query or its answer
    /// is its identifier, which both ends share. The original octets otherwise stay, and checksums
    /// are updated, so that wrong ones stay wrong; a UDP datagram without a checksum stays so.
    ///
    /// Returns whether it did: only TCP, UDP, and ICMP queries and answers over IPv4 have such ends.
    pub fn readdress(&mut self, end: End, to: SocketAddrV4) -> bool {
        let (replaced, is_source) = match end {
            End::Source => (&mut self.ip.source, true),
            End::Destination => (&mut self.ip.destination, false),
        };
        let has_ends = match &mut self.transport {
            _ if replaced.is_ipv6() => false,
            Transport::Tcp(Tcp { source_port: source, destination_port: destination, .. })
            | Transport::Udp(Udp { source_port: source, destination_port: destination }) => {
                *(if is_source { source } else { destination }) = to.port();
                true
            }
            Transport::Icmp(icmp) if is_informational(icmp.kind, true) => {
                icmp.rest_of_header[..2].copy_from_slice(&to.port().to_be_bytes());
                true
            }
            Transport::Icmp(_) | Transport::Opaque { .. } => false,
        };
        if !has_ends {
            return false;
        }
        *replaced = IpAddr::V4(*to.ip());
        if let Some(original) = &self.original {
            self.replace_octets(readdress::with_end(original, end, to));
        }
        true
    }

    /// As [`Self::readdress`], for the packet that an ICMP error message over IPv4 quotes. The
    /// quoted checksums are updated as far as they are quoted; the message is written with a new
    /// checksum, so the caller has verified the old one.
    pub fn readdress_quoted(&mut self, end: End, to: SocketAddrV4) -> bool {
        let Transport::Icmp(icmp) = &self.transport else { return false };
        if self.ip.source.is_ipv6() || is_informational(icmp.kind, true) {
            return false;
        }
        let quoted = self.payload.octets();
        if quoted.len() < 28 || quoted[0] >> 4 != 4 {
            return false;
        }
        self.set_payload(Payload::Bytes(readdress::with_end(&quoted, end, to)));
        true
    }

    /// Replaces the address of one end of an ICMP message over IPv4, whose checksum covers no
    /// addresses. Returns whether it did.
    pub fn set_icmp_address(&mut self, end: End, to: Ipv4Addr) -> bool {
        let replaced = match end {
            End::Source => &mut self.ip.source,
            End::Destination => &mut self.ip.destination,
        };
        if replaced.is_ipv6() || !matches!(self.transport, Transport::Icmp(_)) {
            return false;
        }
        *replaced = IpAddr::V4(to);
        if let Some(original) = &self.original {
            self.replace_octets(readdress::with_address(original, end, to));
        }
        true
    }

    /// Its original octets with other header fields, as many as before.
    fn replace_octets(&mut self, octets: Bytes) {
        // The payload is the end of the packet: nothing refers to the old octets any more.
        self.payload = Payload::Bytes(octets.slice(octets.len() - self.payload.len()..));
        self.original = Some(octets);
        self.buffer = Buffer(0);
    }

    /// The transport header.
    #[inline]
    pub const fn transport(&self) -> &Transport {
        &self.transport
    }

    /// The TCP header, if this is a TCP segment.
    #[inline]
    pub const fn tcp(&self) -> Option<&Tcp> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }

    /// The TCP header for editing. The packet is then written with new octets and checksums.
    pub fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        match &mut self.transport {
            Transport::Tcp(tcp) => {
                self.original = None;
                Some(tcp)
            }
            _ => None,
        }
    }

    /// The three reserved bits of a TCP header (RFC 9293, section 3.1), as the low bits, 0 to 7; 0
    /// for a packet that is no TCP segment. The fourth one, next to CWR, is not included: accurate
    /// ECN uses it (RFC 9768, section 3.1).
    #[inline]
    pub const fn tcp_reserved_bits(&self) -> u8 {
        self.carried.tcp_reserved >> 1 & RESERVED
    }

    /// The bit of a TCP header between the reserved ones and CWR: AE of accurate ECN (RFC 9768,
    /// section 3.1); false for a packet that is no TCP segment.
    #[inline]
    pub const fn tcp_accurate_ecn(&self) -> bool {
        self.carried.tcp_reserved & 1 != 0
    }

    /// Sets these bits of a TCP segment; only the low three are used. The packet is then written
    /// with new octets and checksums, unless the bits are already set so.
    ///
    /// By RFC 9293 receivers ignore them, and middleboxes may clear them: a protocol that uses them
    /// must also work without.
    #[inline]
    pub fn set_tcp_reserved_bits(&mut self, bits: u8) {
        if self.tcp().is_some() && self.tcp_reserved_bits() != bits & RESERVED {
            self.carried.tcp_reserved = self.carried.tcp_reserved & 1 | (bits & RESERVED) << 1;
            self.original = None;
        }
    }

    /// Lets routers fragment an IPv4 packet: clears "don't fragment". The packet is then written
    /// with new octets and checksums.
    pub fn let_fragment(&mut self) {
        if !self.carried.may_fragment {
            self.carried.may_fragment = true;
            self.original = None;
        }
    }

    /// The octets after the transport header.
    #[inline]
    pub const fn payload(&self) -> &Payload {
        &self.payload
    }

    /// Replaces the payload. The packet is then written with new octets and checksums.
    pub fn set_payload(&mut self, payload: Payload) {
        self.payload = payload;
        self.original = None;
    }

    /// The original octets of a packet that was parsed and not edited.
    pub const fn original(&self) -> Option<&Bytes> {
        self.original.as_ref()
    }

    /// The options of the frame that carries it, or has just carried it.
    #[inline]
    pub fn link_options(&self) -> Option<&LinkOptions> {
        self.link_options.as_deref()
    }

    /// Sets or removes the options of the frame that carries it.
    pub fn set_link_options(&mut self, options: Option<LinkOptions>) {
        match (&mut self.link_options, options) {
            (Some(place), Some(options)) => **place = options,
            (place, options) => *place = options.map(Box::new),
        }
    }

    /// The payload octets of each TCP segment but the last, if this is a super-packet: one that
    /// segmentation offload (GSO) has not split yet, or that receive offload (GRO) has joined.
    /// `None` for an ordinary packet. The headers are those of the first segment.
    #[inline]
    pub const fn segment_size(&self) -> Option<NonZeroU16> {
        self.segment_size
    }

    /// Makes it a super-packet of segments of this size, or an ordinary packet.
    pub const fn set_segment_size(&mut self, size: Option<NonZeroU16>) {
        self.segment_size = size;
    }

    /// Sets the size of the buffer of its octets: see [`crate::buffer`].
    pub const fn set_buffer(&mut self, octets: u32) {
        self.buffer = Buffer(octets);
    }

    /// Octets of memory of a stored packet, in addition to the struct: the complete buffer of its
    /// octets. A simulated payload counts as in a gateway.
    #[inline]
    pub fn buffer_octets(&self) -> usize {
        self.sizes().buffer
    }

    /// Both [`Self::len`] and [`Self::buffer_octets`].
    #[inline]
    pub fn sizes(&self) -> Sizes {
        let octets = self.len();
        let buffer = if self.buffer.0 == 0 { buffer_of(octets) } else { self.buffer.0 as usize };
        Sizes { octets, buffer }
    }

    /// Moves the packet out. What remains belongs to no connection.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let nothing = Self::new(self.ip, Transport::Opaque { protocol: 0 }, Payload::EMPTY);
        std::mem::replace(self, nothing)
    }

    /// Copies a piece of a super-packet into a buffer of its own, so that storing it does not keep
    /// the super-packet's buffer: if that is larger than an ordinary frame's, and more than four
    /// times as large as the piece. Returns whether it was copied.
    #[inline]
    pub fn compact(&mut self) -> bool {
        self.buffer.0 as usize > buffer_of(ORDINARY) && self.compact_large()
    }

    fn compact_large(&mut self) -> bool {
        if self.buffer.0 as usize <= 4 * self.len() {
            return false;
        }
        let Payload::Bytes(octets) = &self.payload else { return false };
        self.payload = Payload::Bytes(Bytes::copy_from_slice(octets));
        self.original = None;
        self.buffer = Buffer(0);
        true
    }

    /// Copies the payload into a buffer of its own if the present one is more than half as large
    /// again, because a buffer is kept as long as any octet in it is.
    pub fn fit_buffer(&mut self) {
        if self.buffer_octets() > self.payload.len() + self.payload.len() / 2
            && let Payload::Bytes(octets) = &self.payload
        {
            self.payload = Payload::Bytes(Bytes::copy_from_slice(octets));
            self.original = None;
            self.buffer = Buffer(0);
        }
    }

    /// The number of packets on the wire; 1 or more.
    #[inline]
    pub fn segments(&self) -> u32 {
        match self.segment_size {
            Some(size) => (self.payload.len() as u32).div_ceil(u32::from(size.get())).max(1),
            None => 1,
        }
    }

    /// Payload octets of each of its segments but the last, or of the packet if it is an ordinary
    /// one.
    #[inline]
    pub fn segment_payload(&self) -> u32 {
        self.segment_size.map_or(self.payload.len() as u32, |size| u32::from(size.get()))
    }

    /// Octets on the wire, including the IP header; a super-packet's headers count once.
    #[inline]
    pub fn len(&self) -> usize {
        if let Some(original) = &self.original {
            return original.len();
        }
        let transport = match &self.transport {
            Transport::Tcp(tcp) => tcp.len(),
            Transport::Udp(_) | Transport::Icmp(_) => 8,
            Transport::Opaque { .. } => 0,
        };
        self.ip.len() + transport + self.payload.len()
    }

    /// Always false: a packet has a header.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The sequence space of a TCP segment: its payload, and one each for SYN and FIN (RFC 9293,
    /// section 3.4).
    #[inline]
    pub fn segment_len(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(tcp) => {
                let control = (tcp.flags.0 & 1) + (tcp.flags.0 >> 1 & 1);
                self.payload.len() as u32 + u32::from(control)
            }
            _ => 0,
        }
    }

    /// The direction of the packet's connection; `None` unless it is a TCP segment or a UDP
    /// datagram.
    #[inline]
    pub fn flow_key(&self) -> Option<FlowKey> {
        let (protocol, source, destination) = match &self.transport {
            Transport::Tcp(tcp) => (Protocol::Tcp, tcp.source_port, tcp.destination_port),
            Transport::Udp(udp) => (Protocol::Udp, udp.source_port, udp.destination_port),
            Transport::Icmp(_) | Transport::Opaque { .. } => return None,
        };
        let (source, destination) = ((self.ip.source, source), (self.ip.destination, destination));
        Some(FlowKey { protocol, source, destination })
    }
}

/// The transport protocols whose connections or streams are tracked.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// RFC 9293.
    #[default]
    Tcp,
    /// RFC 768.
    Udp,
}

/// One direction of a TCP connection, or of the datagrams between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct FlowKey {
    /// The protocol of the ports.
    pub protocol: Protocol,
    /// Address and port of the sender.
    pub source: (IpAddr, u16),
    /// Address and port of the receiver.
    pub destination: (IpAddr, u16),
}

impl FlowKey {
    /// A direction of a TCP connection.
    pub const fn tcp(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Self {
        Self { protocol: Protocol::Tcp, source, destination }
    }

    /// A direction of the datagrams between two ports.
    pub const fn udp(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Self {
        Self { protocol: Protocol::Udp, source, destination }
    }

    /// The other direction of the same connection.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

/// Uses few and wide words: every packet's key is hashed several times, and the derived hash
/// processes addresses octet by octet.
impl Hash for FlowKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let ports = u64::from(self.source.1) << 16 | u64::from(self.destination.1);
        let protocol = u64::from(self.protocol == Protocol::Udp) << 32;
        match (self.source.0, self.destination.0) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                state.write_u64(u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()));
            }
            (source, destination) => {
                for address in [source, destination] {
                    match address {
                        IpAddr::V4(address) => state.write_u32(address.to_bits()),
                        IpAddr::V6(address) => state.write_u128(address.to_bits()),
                    }
                }
            }
        }
        state.write_u64(protocol | ports);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_options_add_only_a_pointer_to_a_packet() {
        let options = size_of::<Option<Box<LinkOptions>>>();
        assert_eq!(options, size_of::<usize>());
        let ip = Ip::new(IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let mut packet = Packet::tcp_segment(ip, Tcp::default(), Payload::EMPTY);
        let len = packet.len();
        packet.set_link_options(LinkOptions::NONE.with(1, &[2]).ok());
        assert_eq!(packet.len(), len, "they are the frame's octets, not the packet's");
    }

    #[test]
    fn a_stored_piece_of_a_super_packet_gets_a_buffer_of_its_own() {
        let ip = Ip::new(IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let whole = Payload::Bytes(Bytes::from(vec![7; 60_000]));
        let mut packet = Packet::tcp_segment(ip, Tcp::default(), whole.clone());
        packet.set_buffer(buffer_of(60_054) as u32);
        packet.compact();
        assert_eq!(packet.buffer_octets(), buffer_of(60_054), "a whole one stays where it is");
        packet.set_payload(whole.slice(1448, 2896));
        packet.compact();
        assert_eq!(packet.buffer_octets(), buffer_of(1500));
        assert_eq!(packet.payload(), &whole.slice(1448, 2896));
    }

    #[test]
    fn a_packet_that_was_taken_leaves_nothing_of_its_connection() {
        let ip = Ip::new(IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let payload = Payload::Stream { stream: 1, offset: 0, len: 100 };
        let mut in_hand = Packet::tcp_segment(ip, Tcp::default(), payload);
        let packet = in_hand.clone();
        assert_eq!(in_hand.take(), packet);
        assert_eq!((in_hand.flow_key(), in_hand.payload().len()), (None, 0));
    }

    #[test]
    fn a_super_packet_counts_its_segments() {
        let ip = Ip::new(IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let payload = Payload::Stream { stream: 1, offset: 0, len: 2897 };
        let mut packet = Packet::tcp_segment(ip, Tcp::default(), payload);
        assert_eq!((packet.segments(), packet.segment_payload()), (1, 2897));
        packet.set_segment_size(NonZeroU16::new(1448));
        assert_eq!((packet.segments(), packet.segment_payload()), (3, 1448));
        packet.set_payload(Payload::EMPTY);
        assert_eq!(packet.segments(), 1);
    }
}
