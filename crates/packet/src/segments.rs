//! Super-packets, segment by segment.

use crate::header::TcpFlags;
use crate::packet::Packet;

impl Packet {
    /// The segments of a super-packet, as a network card makes them (`tcp_gso_segment` in Linux): each with its own sequence
    /// number and IPv4 identification, FIN and PSH only in the last. CWR is in all of them. An ordinary packet is its own
    /// only segment.
    pub fn into_segments(self) -> impl Iterator<Item = Self> {
        let (number, size) = (self.segments() as usize, self.segment_payload() as usize);
        (0..number)
            .map(move |index| if number == 1 { self.clone() } else { self.segment(index, number, size) })
    }

    fn segment(&self, index: usize, number: usize, size: usize) -> Self {
        let mut segment = self.clone();
        let from = index * size;
        segment.set_segment_size(None);
        segment.set_payload(self.payload().slice(from, self.payload().len().min(from + size)));
        segment.set_identification(self.ip().identification.wrapping_add(index as u16));
        if let Some(tcp) = segment.tcp_mut() {
            tcp.seq += from as u32;
            if index + 1 < number {
                tcp.flags.0 &= !(TcpFlags::FIN.0 | TcpFlags::PSH.0);
            }
        }
        segment
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use crate::header::{Ip, Tcp, TcpFlags};
    use crate::packet::Packet;
    use crate::payload::Payload;
    use crate::seq::Seq;

    fn super_packet(len: u32, size: u16) -> Packet {
        let ip = Ip { identification: u16::MAX, ..Ip::new([192, 0, 2, 1].into(), [192, 0, 2, 2].into()) };
        let flags = TcpFlags::ACK.with(TcpFlags::PSH).with(TcpFlags::FIN);
        let tcp = Tcp { seq: Seq(u32::MAX - 999), flags, ..Tcp::default() };
        let mut packet = Packet::tcp_segment(ip, tcp, Payload::Stream { stream: 1, offset: 0, len });
        packet.set_segment_size(NonZeroU16::new(size));
        packet
    }

    #[test]
    fn segments_follow_each_other_and_only_the_last_pushes_and_ends() {
        let segments: Vec<Packet> = super_packet(2500, 1000).into_segments().collect();
        let tcp = |packet: &Packet| packet.tcp().expect("a segment").clone();
        let of = |packet: &Packet| (tcp(packet).seq.0, packet.payload().len(), packet.ip().identification);
        let found: Vec<_> = segments.iter().map(of).collect();
        assert_eq!(found, [(u32::MAX - 999, 1000, u16::MAX), (0, 1000, 0), (1000, 500, 1)]);
        let flags: Vec<u8> = segments.iter().map(|packet| tcp(packet).flags.0).collect();
        assert_eq!(flags, [0x10, 0x10, 0x19]);
        assert!(segments.iter().all(|packet| packet.segment_size().is_none()));
        let octets: Vec<u8> = segments.iter().flat_map(|packet| packet.payload().octets().to_vec()).collect();
        assert_eq!(octets, super_packet(2500, 1000).payload().octets());
    }

    #[test]
    fn an_ordinary_packet_is_its_own_segment() {
        let mut packet = super_packet(800, 1000);
        packet.set_segment_size(None);
        assert_eq!(packet.clone().into_segments().collect::<Vec<_>>(), [packet]);
    }
}
