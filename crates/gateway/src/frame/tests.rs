//! Tests of frames.

use std::net::IpAddr;

use lasthop_packet::wire::checksums_are_right;
use lasthop_packet::{Icmp, Ip, Payload, SackBlocks, Seq, Tcp, TcpOptions, Udp};

use super::*;

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn addresses(v6: bool) -> Ip {
    let address = |text: &str| text.parse::<IpAddr>().expect("an address");
    if v6 {
        Ip::new(address("2001:db8::1"), address("2001:db8::2"))
    } else {
        Ip::new(address("192.0.2.1"), address("198.51.100.7"))
    }
}

fn segment(v6: bool, len: u32) -> Packet {
    let mut sack = SackBlocks::NONE;
    sack.push(Seq(1), Seq(2));
    let options = TcpOptions { sack, ..TcpOptions::default() };
    let tcp = Tcp { source_port: 80, destination_port: 5555, options, ..Tcp::default() };
    Packet::tcp_segment(addresses(v6), tcp, Payload::Stream { stream: 1, offset: 0, len })
}

fn framed(tags: &[u8], v6: bool, packet: &Packet) -> Bytes {
    let kind: [u8; 2] = if v6 { [0x86, 0xdd] } else { [8, 0] };
    [&ETHERNET[..], tags, &kind, &emit(packet)].concat().into()
}

/// The frame as a network card completes it, without the link header.
fn completed(frame: &Frame, link: &LinkHeader) -> Vec<u8> {
    let mut octets = frame.octets.to_vec();
    if let Checksum::Partial { start, offset } = frame.checksum {
        let (start, at) = (usize::from(start), usize::from(start + offset));
        let words = octets[start..].chunks(2).map(|word| {
            let word = [word[0], word.get(1).copied().unwrap_or(0)];
            u64::from(u16::from_be_bytes(word))
        });
        let mut sum: u64 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        octets[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    octets.split_off(link.len())
}

const TAGS: [&[u8]; 3] = [&[], &[0x81, 0, 0, 5], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5]];

#[test]
fn a_packet_after_vlan_tags_is_found_and_sent_verbatim_with_its_padding() {
    for v6 in [false, true] {
        for tags in TAGS {
            let octets = [&framed(tags, v6, &segment(v6, 3))[..], &[0; 6]].concat();
            let frame = Frame::plain(octets.into());
            let (link, packet) = frame.parse(true).expect("a segment");
            assert_eq!(link.len(), 14 + tags.len());
            assert_eq!(packet.payload().len(), 3);
            let again = Frame::from_packet(&packet, &link, Some(&frame)).expect("small");
            assert_eq!(again, frame);
            assert_eq!(again.octets.as_ptr(), frame.octets.as_ptr(), "nothing is copied");
        }
    }
    let three = [0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3];
    let frame = Frame::plain(framed(&three, false, &segment(false, 3)));
    assert_eq!(frame.parse(true), Err(NotForAgents::NotIp));
}

#[test]
fn an_edited_segment_has_right_checksums_after_completion() {
    for v6 in [false, true] {
        for tags in TAGS {
            let frame = Frame::plain(framed(tags, v6, &segment(v6, 301)));
            let (link, mut packet) = frame.parse(true).expect("a segment");
            packet.tcp_mut().expect("TCP").options.sack = SackBlocks::NONE;
            let edited = Frame::from_packet(&packet, &link, Some(&frame)).expect("small");
            assert_eq!(edited.octets[..link.len()], frame.octets[..link.len()]);
            let start = (link.len() + packet.ip().len()) as u16;
            assert_eq!(edited.checksum, Checksum::Partial { start, offset: 16 });
            assert!(checksums_are_right(&completed(&edited, &link)));
            assert_eq!(edited.octets.len(), frame.octets.len() - 12);
        }
    }
}

#[test]
fn a_super_packet_stays_one_unless_it_is_shortened_to_one_segment() {
    let size = NonZeroU16::new(1000);
    let octets = framed(&[], false, &segment(false, 2500));
    let checksum = Checksum::Right;
    let frame = Frame { octets, checksum, segment_size: size, first_segment_cwr: false };
    let (link, mut packet) = frame.parse(true).expect("a segment");
    assert_eq!(packet.segments(), 3);

    packet.set_payload(packet.payload().slice(0, 1500));
    assert_eq!(Frame::from_packet(&packet, &link, Some(&frame)).expect("small").segment_size, size);
    packet.set_payload(packet.payload().slice(0, 1000));
    assert_eq!(Frame::from_packet(&packet, &link, Some(&frame)).expect("small").segment_size, None);
}

#[test]
fn the_segments_of_a_super_packet_are_complete_frames_and_only_the_first_has_cwr() {
    for v6 in [false, true] {
        let mut whole = segment(v6, 2500);
        whole.tcp_mut().expect("a segment").flags = TcpFlags::ACK.with(TcpFlags::CWR);
        let (octets, segment_size) = (framed(TAGS[1], v6, &whole), NonZeroU16::new(1000));
        let frame = Frame { octets, checksum: Checksum::Right, segment_size, first_segment_cwr: true };
        let (link, _) = frame.parse(true).expect("a segment");
        let segments: Vec<Frame> = frame.segments(true).expect("a super-packet").collect();
        assert_eq!(segments.len(), 3);
        for (index, segment) in segments.iter().enumerate() {
            assert!(checksums_are_right(&completed(segment, &link)) && segment.segment_size.is_none());
            let (_, packet) = segment.parse(true).expect("a segment");
            assert_eq!(
                packet.payload().octets(),
                whole.payload().slice(index * 1000, 2500.min(index * 1000 + 1000)).octets()
            );
            assert_eq!(packet.tcp().expect("a segment").flags.has(TcpFlags::CWR), index == 0);
        }
        assert!(segments[0].segments(true).is_none());
    }
}

#[test]
fn a_packet_that_an_agent_kept_is_sent_without_its_original_frame() {
    // Its checksum was partial, and the original frame with that information no longer exists.
    let whole = segment(false, 100);
    let mut octets = framed(&[], false, &whole).to_vec();
    octets[14 + 20 + 16] ^= 0x55;
    let checksum = Checksum::Partial { start: 34, offset: 16 };
    let frame = Frame { octets: octets.into(), checksum, segment_size: None, first_segment_cwr: false };
    let (link, packet) = frame.parse(true).expect("a segment");
    let copy = Frame::from_packet(&packet, &link, None).expect("small");
    assert_eq!(completed(&copy, &link), emit(&whole));
    let other = Frame::plain(framed(&[], false, &segment(false, 9)));
    assert_eq!(
        Frame::from_packet(&packet, &link, Some(&other)).expect("small"),
        copy,
        "a frame of another packet"
    );
}

#[test]
fn frames_that_agents_cannot_edit_safely_are_not_parsed() {
    let good = framed(&[], false, &segment(false, 20));
    let with = |at: usize, octet: u8| {
        let mut octets = good.to_vec();
        octets[at] = octet;
        Frame::plain(octets.into())
    };
    assert_eq!(with(13, 6).parse(true), Err(NotForAgents::NotIp), "ARP");
    assert_eq!(with(20, 0x20).parse(true), Err(NotForAgents::Opaque), "a fragment");
    assert_eq!(with(23, 50).parse(true), Err(NotForAgents::Opaque), "ESP");
    assert_eq!(with(70, 0xee).parse(true), Err(NotForAgents::WrongChecksum));
    assert_eq!(with(22, 0xee).parse(true), Err(NotForAgents::WrongChecksum), "the IP header");
    let vouched = Frame { checksum: Checksum::Right, ..with(70, 0xee) };
    assert!(vouched.parse(true).is_ok());
    let vouched = Frame { checksum: Checksum::Right, ..with(22, 0xee) };
    assert_eq!(vouched.parse(true), Err(NotForAgents::WrongChecksum), "nobody vouches for the IP header");
    let tunnel =
        Frame { checksum: Checksum::Partial { start: 84, offset: 16 }, ..Frame::plain(good.clone()) };
    assert_eq!(tunnel.parse(true), Err(NotForAgents::UnsupportedOffload));
    for len in 0..good.len() {
        assert!(Frame::plain(good.slice(..len)).parse(true).is_err(), "{len}");
    }
    let udp = Transport::Udp(Udp { source_port: 1, destination_port: 2 });
    let datagram = Packet::new(addresses(false), udp, Payload::Stream { stream: 1, offset: 0, len: 3000 });
    let octets = framed(&[], false, &datagram);
    let super_packet = Frame { segment_size: NonZeroU16::new(1000), ..Frame::plain(octets) };
    assert_eq!(super_packet.parse(true), Err(NotForAgents::UnsupportedOffload));
}

#[test]
fn an_icmp_message_has_complete_checksums_and_the_type_of_its_ip_version() {
    let icmp = Icmp { kind: 3, code: 0, rest_of_header: [0; 4] };
    let link = LinkHeader::ethernet(&framed(&[], true, &segment(true, 0))).expect("IP");
    let message = Packet::new(addresses(false), Transport::Icmp(icmp), Payload::EMPTY);
    let frame = Frame::from_packet(&message, &link, None).expect("small");
    assert_eq!(frame.octets[12..14], [8, 0]);
    assert_eq!(frame.checksum, Checksum::Unchecked);
    assert!(checksums_are_right(&frame.octets[14..]));
}

#[test]
fn a_packet_that_is_too_large_is_refused() {
    let packet = segment(true, 65_500);
    assert_eq!(
        Frame::from_packet(&packet, &LinkHeader::NONE, None),
        Err(Unsendable::TooLarge { len: packet.len() })
    );
}

#[test]
fn a_packet_of_which_only_headers_were_seen_cannot_be_sent() {
    let mut packet = segment(false, 3000);
    packet.set_segment_size(NonZeroU16::new(1000));
    let link = LinkHeader::ethernet(&framed(&[], false, &packet)).expect("IP");
    let whole = Frame::from_packet(&packet, &link, None).expect("it fits");
    let (link, seen) = whole.parse(true).expect("it is TCP");
    let len = whole.octets.len();
    let octets = &whole.octets[..len - seen.payload().len()];
    let headers = Headers { octets, len, segment_size: whole.segment_size };
    let (same_link, packet) = headers.parse(true).expect("it is TCP");
    assert_eq!((same_link, packet.transport(), packet.len()), (link, seen.transport(), seen.len()));
    assert_eq!((packet.segments(), packet.segment_payload()), (seen.segments(), seen.segment_payload()));
    assert_eq!(Frame::from_packet(&packet, &link, None), Err(Unsendable::Unseen));
}
