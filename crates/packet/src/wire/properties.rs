//! Properties of reading and writing, for any packet.

use bytes::Bytes;
use proptest::prelude::*;

use super::checksum::{header_and_body, transport_checksum};
use super::samples::{self, V4};
use super::*;
use crate::header::{Ecn, Ip, SackBlocks, Tcp, TcpOptions};
use crate::packet::{Packet, Transport};
use crate::payload::Payload;

/// Compares two packets, except for their original octets.
fn assert_same_fields(one: &Packet, other: &Packet) {
    assert_eq!(one.ip(), other.ip());
    assert_eq!(one.transport(), other.transport());
    assert_eq!(one.payload(), other.payload());
    assert_eq!(one.carried(), other.carried());
}

proptest! {
    #[test]
    fn a_written_packet_reads_back_with_the_same_fields(packet in samples::packet()) {
        let octets = emit(&packet);
        prop_assert_eq!(octets.len(), packet.len());
        prop_assert!(checksums_are_right(&octets));
        let read = parse(octets).unwrap();
        assert_same_fields(&read, &packet);
    }

    #[test]
    fn headers_alone_give_everything_but_the_payload(packet in samples::packet(), beyond in 0..40_usize) {
        let octets = emit(&packet);
        let headers = packet.len() - packet.payload().len();
        let shown = &octets[..(headers + beyond).min(octets.len())];
        let whole = parse(octets.clone()).unwrap();
        let read = parse_headers(shown, octets.len()).unwrap();
        if whole.tcp().is_some() {
            prop_assert_eq!((read.ip(), read.transport(), read.carried()), (whole.ip(), whole.transport(), whole.carried()));
            prop_assert_eq!((read.len(), read.payload().len()), (whole.len(), whole.payload().len()));
            prop_assert!(read.payload().is_unseen());
        }
    }

    #[test]
    fn any_octets_are_headers_or_an_error(octets in proptest::collection::vec(any::<u8>(), 0..120), len in 0..70_000_usize) {
        if let Ok(packet) = parse_headers(&octets, len) {
            prop_assert!(packet.len() <= len);
        }
    }

    #[test]
    fn a_damaged_packet_keeps_its_ip_header_and_fails_its_checksum(packet in samples::packet(), bit: u64) {
        let (octets, broken) = (emit(&packet), damaged(&packet, bit));
        prop_assert_eq!((broken.ip(), broken.len()), (packet.ip(), packet.len()));
        let (header, body) = header_and_body(&octets);
        let came = emit(&broken);
        let (came_header, came_body) = header_and_body(&came);
        prop_assert_eq!(came_header, header);
        if let (Transport::Opaque { protocol }, false) = (broken.transport(), body.is_empty()) {
            let bits: u32 = came_body.iter().zip(body).map(|(came, sent)| (came ^ sent).count_ones()).sum();
            prop_assert_eq!(bits, 1);
            if !matches!(packet.transport(), Transport::Opaque { .. }) {
                prop_assert_eq!(transport_checksum(packet.ip(), *protocol, body), 0);
                prop_assert_ne!(transport_checksum(packet.ip(), *protocol, came_body), 0);
            }
        }
    }

    #[test]
    fn an_untouched_packet_leaves_verbatim(
        packet in samples::packet(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        padding in 0..20_usize,
    ) {
        let mut octets = emit(&packet).to_vec();
        for (at, octet) in changes {
            let at = at.index(octets.len());
            octets[at] = octet;
        }
        octets.resize(octets.len() + padding, 0);
        let octets = Bytes::from(octets);
        if let Ok(read) = parse(octets.clone()) {
            prop_assert_eq!(emit(&read), octets.slice(..read.len()));
            prop_assert_eq!(&octets[..beginning(&read).len()], &beginning(&read)[..]);
        }
    }

    #[test]
    fn a_mark_changes_two_bits_and_the_checksum_of_a_packet_that_came_in(
        packet in samples::packet(), fragment_offset in 0..3_u8, was_right: bool,
    ) {
        let mut octets = emit(&packet).to_vec();
        if packet.ip().source.is_ipv4() {
            // A fragment other than the first: it cannot be parsed and written again.
            octets[7] = fragment_offset;
            let sum = u16::from_be_bytes([octets[10], octets[11]]);
            let right = if sum > u16::from(fragment_offset) { sum - u16::from(fragment_offset) } else { 0 };
            prop_assume!(right != 0);
            let written = if was_right { right } else { right ^ 1 };
            octets[10..12].copy_from_slice(&written.to_be_bytes());
        }
        let read = parse(Bytes::from(octets.clone())).unwrap();
        let mut marked = read.clone();
        marked.set_ecn(Ecn::Ce);
        prop_assert_eq!(marked.ip().traffic_class, read.ip().traffic_class | 0b11);
        let again = parse(emit(&marked)).unwrap();
        prop_assert_eq!(again.ip(), marked.ip());
        prop_assert_eq!(again.payload(), read.payload());
        prop_assert_eq!(marked.payload(), read.payload());
        prop_assert_eq!(header_checksum_is_right(&again), header_checksum_is_right(&read));
        let changed = emit(&marked).iter().zip(&octets).filter(|(new, old)| new != old).count();
        prop_assert!(changed <= 3, "{} octets", changed);
        // Marked back, the packet is the same again.
        marked.set_ecn(read.ip().ecn());
        prop_assert_eq!(emit(&marked), emit(&read));
    }

    #[test]
    fn an_edited_packet_has_right_checksums_and_everything_else_as_it_was(
        packet in samples::segment(), flow_label in 0..1_u32 << 20, dont_fragment: bool, reserved in 0..16_u8,
    ) {
        let mut octets = emit(&packet).to_vec();
        let header_len = packet.ip().len();
        if packet.ip().source.is_ipv4() {
            octets[6] = if dont_fragment { 0x40 } else { 0 };
        } else {
            octets[1] |= (flow_label >> 16) as u8;
            octets[2..4].copy_from_slice(&(flow_label as u16).to_be_bytes());
        }
        octets[header_len + 12] |= reserved;
        let came = parse(octets.into()).unwrap();
        let mut edited = came.clone();
        let tcp = edited.tcp_mut().unwrap();
        tcp.window ^= 0x5555;
        let expected = tcp.clone();

        let octets = emit(&edited);
        prop_assert!(checksums_are_right(&octets));
        let read = parse(octets).unwrap();
        prop_assert_eq!(read.tcp(), Some(&expected));
        prop_assert_eq!(read.carried(), came.carried());
        prop_assert_eq!(read.ip(), came.ip());
        prop_assert_eq!(read.payload(), came.payload());
    }

    #[test]
    fn reserved_bits_reach_the_other_end_and_accurate_ecn_keeps_its_own(
        packet in samples::segment(), reserved in 0..16_u8, bits: u8,
    ) {
        let mut octets = emit(&packet).to_vec();
        octets[packet.ip().len() + 12] |= reserved;
        let came = parse(octets.into()).unwrap();
        prop_assert_eq!(came.tcp_reserved_bits(), reserved >> 1);

        let mut marked = came.clone();
        marked.set_tcp_reserved_bits(bits);
        let octets = emit(&marked);
        if bits & 7 != reserved >> 1 {
            prop_assert!(checksums_are_right(&octets));
        }
        let read = parse(octets).unwrap();
        prop_assert_eq!(read.tcp_reserved_bits(), bits & 7);
        prop_assert_eq!(read.carried().tcp_reserved & 1, reserved & 1);
        prop_assert_eq!((read.ip(), read.tcp(), read.payload()), (came.ip(), came.tcp(), came.payload()));

        marked = read.clone();
        marked.set_tcp_reserved_bits(bits);
        prop_assert_eq!(marked.original(), read.original(), "nothing changes what is so already");
    }

    #[test]
    fn no_octets_make_the_parser_panic(octets in proptest::collection::vec(any::<u8>(), 0..200), version in 0..3_usize) {
        let mut octets = octets;
        if let (Some(first), Some(start)) = (octets.first_mut(), [None, Some(0x45), Some(0x60)][version]) {
            *first = start;
        }
        checksums_are_right(&octets);
        let _ = parse(octets.into());
    }

    #[test]
    fn no_part_of_a_packet_makes_the_parser_panic(packet in samples::packet(), end: prop::sample::Index) {
        let octets = emit(&packet);
        let end = end.index(octets.len());
        prop_assert!(parse(octets.slice(..end)).is_err());
    }

    #[test]
    fn options_take_as_many_octets_as_their_length_says(options in samples::options()) {
        let tcp = Tcp { options: options.clone(), ..Tcp::default() };
        let packet = Packet::tcp_segment(Ip::new(V4.0, V4.1), tcp, Payload::EMPTY);
        let octets = emit(&packet);
        prop_assert_eq!(octets.len(), 40 + options.len());
        prop_assert_eq!(packet.len(), octets.len());
        prop_assert!(options.len() <= 40 && options.len() % 4 == 0);
        prop_assert_eq!(options.is_empty(), options == TcpOptions::default());

        let read = parse(octets).unwrap();
        let read = &read.tcp().unwrap().options;
        if samples::fits(&options) {
            prop_assert_eq!(read, &options);
        } else {
            prop_assert_eq!(&read.unknown, &None);
            prop_assert!(options.sack.as_slice().starts_with(read.sack.as_slice()));
            let rest = |options: &TcpOptions| TcpOptions { sack: SackBlocks::NONE, unknown: None, ..options.clone() };
            prop_assert_eq!(rest(read), rest(&options));
        }
    }
}
