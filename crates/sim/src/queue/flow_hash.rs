//! Which flow a packet belongs to.

use std::net::IpAddr;

use lasthop_packet::{Packet, Transport};

/// A hash of a packet's 5-tuple, the ports of what has none being zero. `perturbation` makes the
/// collisions of one run other than those of the next (RFC 8290, section 4.1.1).
pub(crate) fn flow_hash(packet: &Packet, perturbation: u64) -> u64 {
    let ip = packet.ip();
    let (protocol, ports) = match packet.transport() {
        Transport::Tcp(tcp) => (6, (tcp.source_port, tcp.destination_port)),
        Transport::Udp(udp) => (17, (udp.source_port, udp.destination_port)),
        Transport::Icmp(_) => (1, (0, 0)),
        Transport::Opaque { protocol } => (*protocol, (0, 0)),
    };
    let rest = u64::from(protocol) << 32 | u64::from(ports.0) << 16 | u64::from(ports.1);
    let hash = match (ip.source, ip.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            mix(perturbation, u64::from(source.to_bits()) << 32 | u64::from(destination.to_bits()))
        }
        (source, destination) => [source, destination].into_iter().fold(perturbation, |hash, address| {
            let bits = match address {
                IpAddr::V4(address) => u128::from(address.to_bits()),
                IpAddr::V6(address) => address.to_bits(),
            };
            mix(mix(hash, (bits >> 64) as u64), bits as u64)
        }),
    };
    mix(hash, rest)
}

/// Takes a word into a hash: the two halves of a product, so that every bit reaches every other.
const fn mix(hash: u64, word: u64) -> u64 {
    let product = (hash ^ word ^ 0x9e37_79b9_7f4a_7c15) as u128 * 0xd6e8_feb8_6659_fd93;
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use lasthop_packet::{Ip, Payload, Tcp, Udp};

    use super::*;

    fn packet(source: [u8; 4], transport: Transport, len: u32) -> Packet {
        let ip = Ip::new(source.into(), [10, 0, 0, 9].into());
        Packet::new(ip, transport, Payload::Stream { stream: 1, offset: 0, len })
    }

    fn tcp(source_port: u16) -> Transport {
        Transport::Tcp(Tcp { source_port, destination_port: 5001, ..Tcp::default() })
    }

    #[test]
    fn packets_of_a_flow_have_one_hash_and_each_part_of_the_tuple_tells_flows_apart() {
        let of = |packet: Packet| flow_hash(&packet, 7);
        let one = of(packet([10, 0, 0, 1], tcp(1), 1000));
        assert_eq!(of(packet([10, 0, 0, 1], tcp(1), 40)), one);
        let udp = Transport::Udp(Udp { source_port: 1, destination_port: 5001 });
        let others = [
            packet([10, 0, 0, 2], tcp(1), 1000),
            packet([10, 0, 0, 1], tcp(2), 1000),
            packet([10, 0, 0, 1], udp, 1000),
            packet([10, 0, 0, 1], Transport::Opaque { protocol: 6 }, 1000),
        ];
        assert!(others.into_iter().all(|other| of(other) != one));
        assert_ne!(flow_hash(&packet([10, 0, 0, 1], tcp(1), 1000), 8), one);
    }

    #[test]
    fn flows_of_neighbouring_ports_spread_evenly_whatever_the_perturbation() {
        for perturbation in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            let mut queues = [0_u32; 64];
            for port in 0..6400 {
                let hash = flow_hash(&packet([10, 0, 0, 1], tcp(port), 1000), perturbation);
                queues[((u128::from(hash) * 64) >> 64) as usize] += 1;
            }
            // 100 in each, with a deviation of 10.
            assert!(queues.iter().all(|flows| (50..=150).contains(flows)), "{queues:?}");
        }
    }
}
