//! Examples of reading and writing packets.

use bytes::Bytes;

use super::samples::{V4, V6, stream};
use super::*;
use crate::header::{Ip, TcpOptions};
use crate::packet::{Packet, Transport};
use crate::payload::Payload;
use crate::{SackBlocks, Seq, Tcp, Timestamps, Udp};

fn segment(options: TcpOptions) -> Packet {
    let tcp = Tcp { source_port: 80, destination_port: 5555, options, ..Tcp::default() };
    Packet::tcp_segment(Ip::new(V4.0, V4.1), tcp, stream(10))
}

fn written_options(options: TcpOptions) -> Vec<u8> {
    let octets = emit(&segment(options));
    octets[40..octets.len() - 10].to_vec()
}

fn blocks(count: u32) -> SackBlocks {
    let mut sack = SackBlocks::NONE;
    (0..count).for_each(|i| sack.push(Seq(i), Seq(i + 1)));
    sack
}

/// A TCP segment with these octets as its options.
fn with_options(options: &[u8]) -> Packet {
    assert_eq!(options.len() % 4, 0);
    let mut octets = emit(&segment(TcpOptions::default())).to_vec();
    octets.splice(40..40, options.iter().copied());
    let len = octets.len() as u16;
    octets[2..4].copy_from_slice(&len.to_be_bytes());
    octets[32] = ((20 + options.len()) as u8 / 4) << 4;
    parse(octets.into()).unwrap()
}

fn is_opaque(packet: &Packet) -> bool {
    matches!(packet.transport(), Transport::Opaque { .. })
}

#[test]
fn options_are_laid_out_as_linux_does() {
    let timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
    let syn = TcpOptions {
        maximum_segment_size: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps,
        ..TcpOptions::default()
    };
    assert_eq!(written_options(syn), [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7]);
    let ack = TcpOptions { timestamps, sack: blocks(1), ..TcpOptions::default() };
    let expected = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(written_options(ack), expected);
}

#[test]
fn too_many_options_lose_the_unknown_ones_first_then_the_last_sack_blocks() {
    let unknown = Some(vec![99, 10, 1, 2, 3, 4, 5, 6, 7, 8].into_boxed_slice());
    let timestamps = Some(Timestamps { value: 1, echo_reply: 2 });
    let options = TcpOptions { timestamps, sack: blocks(4), unknown, ..TcpOptions::default() };
    let read = parse(emit(&segment(options))).unwrap();
    let read = read.tcp().unwrap().options.clone();
    assert_eq!(read, TcpOptions { timestamps, sack: blocks(3), ..TcpOptions::default() });
}

#[test]
fn irregular_options_are_kept_as_unknown() {
    let odd = [3, 4, 1, 1, 2, 4, 5, 180, 5, 2, 1, 2, 4, 1, 1, 1];
    // A window scale of two octets, SACK without blocks, a second maximum segment size.
    let came = with_options(&[&odd[..11], &[2, 4, 1, 1, 0]].concat());
    let options = &came.tcp().unwrap().options;
    assert_eq!(options.maximum_segment_size, Some(1460));
    assert_eq!(options.window_scale, None);
    assert!(options.sack.is_empty());
    assert_eq!(options.unknown.as_deref(), Some(&[3, 4, 1, 1, 5, 2, 2, 4, 1, 1][..]));
}

#[test]
fn malformed_options_make_a_packet_opaque() {
    for malformed in [[99, 0, 0, 0], [99, 1, 0, 0], [99, 5, 0, 0], [1, 1, 1, 99], [2, 40, 0, 0]] {
        assert!(is_opaque(&with_options(&malformed)), "{malformed:?}");
    }
    assert!(!is_opaque(&with_options(&[1, 0, 99, 0])), "nothing is read behind the end of options");
}

#[test]
fn a_header_that_was_packed_full_keeps_all_its_options() {
    // Timestamps, three SACK blocks and an unknown option take 40 octets without a NOP.
    let mut octets = vec![8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 5, 26];
    octets.extend_from_slice(&[9; 24]);
    octets.extend_from_slice(&[77, 4, 1, 2]);
    let mut packet = with_options(&octets);
    let before = packet.tcp().unwrap().options.clone();
    packet.tcp_mut().unwrap().window = 9;
    let after = parse(emit(&packet)).unwrap();
    assert_eq!(after.tcp().unwrap().options, before);
}

#[test]
fn unsupported_packets_are_opaque_and_are_written_verbatim() {
    let v4 = emit(&segment(TcpOptions::default()));
    let tcp = Tcp::default();
    let v6 = emit(&Packet::tcp_segment(Ip::new(V6.0, V6.1), tcp, stream(10)));
    let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
    let datagram = emit(&Packet::new(Ip::new(V4.0, V4.1), udp, stream(10)));
    let with = |octets: &Bytes, at: usize, octet: u8| {
        let mut octets = octets.to_vec();
        octets[at] = octet;
        octets
    };
    for (what, octets) in [
        ("more fragments", with(&v4, 6, 0x20)),
        ("a later fragment", with(&v4, 7, 1)),
        ("the reserved flag", with(&v4, 6, 0xc0)),
        ("IP options", with(&v4, 0, 0x46)),
        ("ESP", with(&v4, 9, 50)),
        ("ICMPv6 over IPv4", with(&v4, 9, PROTOCOL_ICMPV6)),
        ("a data offset below the header", with(&v4, 32, 0x40)),
        ("a data offset beyond the packet", with(&v4, 32, 0xf0)),
        ("an extension header", with(&v6, 6, 0)),
        ("a fragment header", with(&v6, 6, 44)),
        ("ICMP over IPv6", with(&v6, 6, PROTOCOL_ICMP)),
        ("a UDP length below the payload", with(&datagram, 25, 17)),
        ("a UDP length above the payload", with(&datagram, 25, 19)),
        ("a UDP length below the header", with(&datagram, 25, 7)),
    ] {
        let packet = parse(octets.clone().into()).unwrap();
        assert!(is_opaque(&packet), "{what}");
        assert_eq!(emit(&packet), octets, "{what}");
        let header_len = if octets[0] == 0x46 { 24 } else { packet.ip().len() };
        assert_eq!(packet.payload().octets(), octets[header_len..], "{what}");
    }
}

#[test]
fn octets_without_a_complete_ip_packet_are_refused_with_the_reason() {
    let v4 = emit(&segment(TcpOptions::default()));
    let v6 = emit(&Packet::tcp_segment(Ip::new(V6.0, V6.1), Tcp::default(), stream(10)));
    let with = |octets: &Bytes, changes: &[(usize, u8)]| {
        let mut octets = octets.to_vec();
        for &(at, octet) in changes {
            octets[at] = octet;
        }
        Bytes::from(octets)
    };
    for (octets, reason) in [
        (Bytes::new(), ParseError::Empty),
        (with(&v4, &[(0, 0x55)]), ParseError::Version(5)),
        (v4.slice(..19), ParseError::HeaderTruncated { version: 4, need: 20, have: 19 }),
        (with(&v4.slice(..20), &[(0, 0x4f)]), ParseError::HeaderTruncated { version: 4, need: 60, have: 20 }),
        (v6.slice(..39), ParseError::HeaderTruncated { version: 6, need: 40, have: 39 }),
        (with(&v4, &[(0, 0x44)]), ParseError::HeaderLength { header: 16, total: 50 }),
        (with(&v4, &[(3, 19)]), ParseError::HeaderLength { header: 20, total: 19 }),
        (with(&v4, &[(3, 0)]), ParseError::LengthUnstated { version: 4 }),
        (with(&v6, &[(5, 0)]), ParseError::LengthUnstated { version: 6 }),
        (v4.slice(..49), ParseError::Truncated { stated: 50, have: 49 }),
        (v6.slice(..69), ParseError::Truncated { stated: 70, have: 69 }),
    ] {
        assert_eq!(parse(octets), Err(reason));
    }
}

#[test]
fn padding_after_the_packet_is_removed() {
    let octets = emit(&segment(TcpOptions::default()));
    let padded = [&octets[..], &[0; 6]].concat();
    assert_eq!(emit(&parse(padded.into()).unwrap()), octets);
}

#[test]
fn a_payload_shares_the_memory_of_the_received_octets() {
    let octets = emit(&segment(TcpOptions::default()));
    let packet = parse(octets.clone()).unwrap();
    let Payload::Bytes(payload) = packet.payload() else { panic!("parsed payloads are octets") };
    assert_eq!(payload.as_ptr(), octets[40..].as_ptr());
}

#[test]
fn a_udp_checksum_of_zero_is_written_as_ffff() {
    let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
    let of = |payload: [u8; 2]| {
        let payload = Payload::Bytes(Bytes::copy_from_slice(&payload));
        emit(&Packet::new(Ip::new(V4.0, V4.1), udp.clone(), payload))
    };
    // The sum of everything else, added, makes the checksum zero.
    let plain = of([0, 0]);
    let zero = of([plain[26], plain[27]]);
    assert_eq!(zero[26..28], [0xff, 0xff]);
    assert!(checksums_are_right(&zero));
}

#[test]
fn one_wrong_octet_is_a_wrong_checksum() {
    for addresses in [V4, V6] {
        let octets = emit(&Packet::tcp_segment(Ip::new(addresses.0, addresses.1), Tcp::default(), stream(9)));
        // In IPv6, no checksum covers the hop limit, the class and the flow label.
        for at in octets.len() - 29..octets.len() {
            let mut wrong = octets.to_vec();
            wrong[at] ^= 0x01;
            assert!(!checksums_are_right(&wrong), "octet {at}");
        }
    }
    assert!(!checksums_are_right(&[]));
}

#[test]
fn an_ipv4_header_is_written_like_the_published_example() {
    // The example of Wikipedia's article "Internet checksum".
    let ip = Ip::new([192, 168, 0, 1].into(), [192, 168, 0, 199].into());
    let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
    let octets = emit(&Packet::new(ip, udp, stream(87)));
    let expected = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 192, 168, 0, 1, 192, 168, 0,
        199,
    ];
    assert_eq!(octets[..20], expected);
}

#[test]
fn a_super_packet_has_a_length_field_of_zero() {
    for addresses in [V4, V6] {
        let packet = Packet::tcp_segment(Ip::new(addresses.0, addresses.1), Tcp::default(), stream(70_000));
        let octets = emit(&packet);
        assert_eq!(octets.len(), packet.len());
        assert!(matches!(parse(octets), Err(ParseError::LengthUnstated { .. })));
    }
}

#[test]
fn a_segment_for_a_network_card_has_only_the_pseudo_header_summed() {
    for (addresses, ip_len) in [(V4, 20), (V6, 40)] {
        let made = Packet::tcp_segment(Ip::new(addresses.0, addresses.1), Tcp::default(), stream(9));
        let complete = emit(&made);
        let came = parse(complete.clone()).unwrap();
        for packet in [made, came] {
            let mut octets = emit_for_offload(&packet, &[1, 2, 3]).expect("it is small");
            assert_eq!(octets[..3], [1, 2, 3]);
            let sum = checksum::internet_checksum(&octets[3 + ip_len..]);
            octets[3 + ip_len + 16..][..2].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(octets[3..], complete[..]);
        }
    }
    let too_large = Packet::tcp_segment(Ip::new(V4.0, V4.1), Tcp::default(), stream(65_496));
    assert_eq!(emit_for_offload(&too_large, &[]), None);
}
