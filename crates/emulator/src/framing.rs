//! The frames of a host's device, and the packets in them.

use std::net::Ipv4Addr;

use bytes::Bytes;
use lasthop_packet::{Ip, Packet, Payload, Transport, Udp, wire};

/// The header of frames to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Of a device without frames: none.
    Bare,
    /// All frames go to the device's own Ethernet address.
    ToHost([u8; 6]),
    /// Frames have the Ethernet addresses of both hosts of the packet ([`ethernet_address`]). The frame by which an access
    /// point announces a station to bridges is a packet of that station to all.
    BetweenHosts,
}

/// A frame from a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// An IP packet according to its Ethernet type, or any packet from a device without frames; not
    /// validated.
    Packet(Bytes),
    /// A frame of another protocol.
    NotIp,
}

/// The octets of an Ethernet header.
const HEADER: usize = 14;
/// The longest IP packet, and an Ethernet header.
pub(super) const LONGEST_FRAME: usize = 65_535 + HEADER;

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The source address of frames from the model, locally administered. No host has it or resolves
/// it.
const FAR_END: [u8; 6] = [0x02, 0x6c, 0x68, 0x6f, 0x70, 0x01];

impl Framing {
    /// The packet in a frame.
    pub fn open(self, frame: &[u8]) -> Received {
        match (self, frame.get(12..HEADER)) {
            (Self::Bare, _) => Received::Packet(Bytes::copy_from_slice(frame)),
            (_, Some(kind)) if kind == IPV4 || kind == IPV6 => {
                Received::Packet(Bytes::copy_from_slice(&frame[HEADER..]))
            }
            (Self::BetweenHosts, _) => announcement(frame).map_or(Received::NotIp, Received::Packet),
            _ => Received::NotIp,
        }
    }

    /// The header of a frame with this packet: empty without frames; `None` if the packet cannot be in one.
    pub fn header(self, packet: &[u8]) -> Option<Header> {
        match self {
            Self::Bare => Some(Header::EMPTY),
            Self::ToHost(address) => {
                let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
                Some(Header::new(address, FAR_END, if is_v6 { IPV6 } else { IPV4 }))
            }
            Self::BetweenHosts => {
                let (source, destination) = hosts_of(packet)?;
                Some(Header::new(ethernet_address(destination), ethernet_address(source), IPV4))
            }
        }
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    octets: [u8; HEADER],
    len: usize,
}

impl Header {
    const EMPTY: Self = Self { octets: [0; HEADER], len: 0 };

    fn new(to: [u8; 6], from: [u8; 6], kind: [u8; 2]) -> Self {
        let mut octets = [0; HEADER];
        octets[..6].copy_from_slice(&to);
        octets[6..12].copy_from_slice(&from);
        octets[12..].copy_from_slice(&kind);
        Self { octets, len: HEADER }
    }

    /// Its octets.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

/// The Ethernet address of a host in a bridged network, locally administered, which follows from its IPv4 address; for a
/// broadcast or multicast address, that of all hosts or of the group (RFC 1112, section 6.4).
pub fn ethernet_address(host: Ipv4Addr) -> [u8; 6] {
    let [first, second, third, fourth] = host.octets();
    if host.is_broadcast() {
        [0xff; 6]
    } else if host.is_multicast() {
        [0x01, 0x00, 0x5e, second & 0x7f, third, fourth]
    } else {
        [0x02, 0x6c, first, second, third, fourth]
    }
}

/// The UDP port of packets that announce a station: discard.
const DISCARD: u16 = 9;

/// The packet that stands for a layer-2 update frame (IEEE 802.11F, 6.6: an XID response of LLC, from the address of a
/// station that has associated, to all): bridges learn the same from the source of its frame. `None` for other frames, and
/// for a station whose address does not follow from that of a host.
fn announcement(frame: &[u8]) -> Option<Bytes> {
    let (header, body) = frame.split_at_checked(HEADER)?;
    let [0x02, 0x6c, host @ ..] = header[6..12].first_chunk::<6>()? else { return None };
    // No service access point, a response; XID, with or without the final bit.
    let is_update = header[..6] == [0xff; 6] && matches!(body, [0, 1, 0xaf | 0xbf, ..]);
    if !is_update {
        return None;
    }
    let ip = Ip::new(Ipv4Addr::from(*host).into(), Ipv4Addr::BROADCAST.into());
    let udp = Udp { source_port: DISCARD, destination_port: DISCARD };
    Some(wire::emit(&Packet::new(ip, Transport::Udp(udp), Payload::EMPTY)))
}

/// The source and the destination of a packet of IPv4.
fn hosts_of(packet: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let address =
        |at: usize| packet.get(at..at + 4)?.first_chunk::<4>().map(|octets| Ipv4Addr::from(*octets));
    (packet.first()? >> 4 == 4).then_some((address(12)?, address(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_addresses_follow_from_those_of_ip() {
        let of = |host: [u8; 4]| ethernet_address(host.into());
        assert_eq!(of([10, 77, 0, 3]), [0x02, 0x6c, 10, 77, 0, 3]);
        assert_eq!(of([255; 4]), [0xff; 6]);
        assert_eq!(of([224, 128, 0, 22]), [0x01, 0x00, 0x5e, 0, 0, 22]);
    }

    #[test]
    fn a_layer_2_update_is_a_packet_of_its_station_to_all() {
        let mut frame = [0xff; 6].to_vec();
        frame.extend([0x02, 0x6c, 10, 77, 0, 5, 0, 6]);
        // As Linux 6.12 sends it (cfg80211_send_layer2_update).
        frame.extend([0x00, 0x01, 0xaf, 0x81, 0x01, 0x00]);
        let Received::Packet(packet) = Framing::BetweenHosts.open(&frame) else { panic!("it is one") };
        assert_eq!(hosts_of(&packet), Some(([10, 77, 0, 5].into(), Ipv4Addr::BROADCAST)));
        assert!(wire::parse(packet).is_ok(), "with right checksums");
        let made = Framing::BetweenHosts
            .header(&[0x45, 0, 0, 28, 0, 0, 0, 0, 1, 17, 0, 0, 10, 77, 0, 5, 255, 255, 255, 255]);
        assert_eq!(made.expect("it has one").octets()[..12], frame[..12]);
        assert_eq!(Framing::ToHost([2; 6]).open(&frame), Received::NotIp);
        for (at, octet) in [(0, 0), (6, 4), (14, 0xaa), (15, 0), (16, 3)] {
            let mut other = frame.clone();
            other[at] = octet;
            assert_eq!(Framing::BetweenHosts.open(&other), Received::NotIp, "{at}");
        }
        assert_eq!(Framing::BetweenHosts.open(&frame[..16]), Received::NotIp);
    }

    #[test]
    fn a_packet_of_ipv4_names_its_hosts_and_no_other_does() {
        let mut packet = [0; 20];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(hosts_of(&packet), Some(([10, 0, 0, 1].into(), [10, 0, 0, 2].into())));
        assert_eq!(hosts_of(&packet[..19]), None);
        assert_eq!(hosts_of(&[]), None);
        packet[0] = 0x60;
        assert_eq!(hosts_of(&packet), None);
    }

    #[test]
    fn a_frame_that_is_made_has_the_packet_that_is_found_in_it() {
        let mut packet = [7; 40];
        for (first, framing) in [
            (0x45, Framing::ToHost([2; 6])),
            (0x60, Framing::ToHost([2; 6])),
            (0x45, Framing::BetweenHosts),
            (0, Framing::Bare),
        ] {
            packet[0] = first;
            let header = framing.header(&packet).expect("it has one");
            let frame = [header.octets(), &packet].concat();
            assert_eq!(framing.open(&frame), Received::Packet(Bytes::copy_from_slice(&packet)));
        }
        let arp = Header::new([0xff; 6], [2; 6], [0x08, 0x06]);
        assert_eq!(Framing::ToHost([2; 6]).open(arp.octets()), Received::NotIp);
        assert_eq!(Framing::ToHost([2; 6]).open(&[0; 13]), Received::NotIp, "it is shorter than a header");
    }
}
