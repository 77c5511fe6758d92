//! Targets of the crate `lasthop-gateway`.

use std::num::NonZeroU16;

use bytes::Bytes;
use lasthop_gateway::frame::{Checksum, Frame};
use lasthop_packet::Payload;
use lasthop_packet::wire::checksums_are_right;

/// Octets before a frame's own: flags, start and offset of the checksum, segment size.
const HEAD: usize = 7;

/// A frame that nobody edited leaves verbatim; an edited one leaves whole and with right checksums,
/// as does one that was kept.
pub fn frames(data: &[u8]) {
    let Some((head, octets)) = data.split_first_chunk::<HEAD>() else { return };
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let ethernet = head[0] & 1 != 0;
    let checksum = match head[0] >> 1 & 3 {
        0 => Checksum::Unchecked,
        1 => Checksum::Right,
        _ => Checksum::Partial { start: word(1), offset: word(3) },
    };
    let segment_size = if head[0] & 8 != 0 { NonZeroU16::new(word(5)) } else { None };
    let octets = Bytes::copy_from_slice(octets);
    let frame = Frame { octets, checksum, segment_size, first_segment_cwr: head[0] & 16 != 0 };
    let Ok((link, packet)) = frame.parse(ethernet) else { return };

    assert_eq!(Frame::from_packet(&packet, &link, Some(&frame)).expect("it was a frame"), frame);
    if packet.tcp().is_none() || packet.len() > 65_000 {
        return;
    }
    let kept = Frame::from_packet(&packet, &link, None).expect("it is no larger than it came");
    assert_is_right(&kept, ethernet, link.len());

    let mut edited = packet;
    if let Some(tcp) = edited.tcp_mut() {
        tcp.window = !tcp.window;
    }
    let written =
        Frame::from_packet(&edited, &link, Some(&frame)).expect("it has grown by no more than padding");
    assert_is_right(&written, ethernet, link.len());
    let (again_link, again) = written.parse(ethernet).expect("what we write can be read");
    assert_eq!((again_link, again.ip(), again.tcp()), (link, edited.ip(), edited.tcp()));
    assert_eq!(again.payload(), edited.payload());

    edited.set_payload(Payload::Stream { stream: 1, offset: 0, len: 70_000 });
    assert!(Frame::from_packet(&edited, &link, Some(&frame)).is_err(), "more than IP's length field holds");
}

/// Completes the checksum as a network card does, and looks at the result.
fn assert_is_right(frame: &Frame, ethernet: bool, link_len: usize) {
    let Checksum::Partial { start, offset } = frame.checksum else { panic!("it is left to the card") };
    let mut octets = frame.octets.to_vec();
    let (start, at) = (usize::from(start), usize::from(start + offset));
    let mut sum = 0_u64;
    for word in octets[start..].chunks(2) {
        sum += u64::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    octets[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    assert!(checksums_are_right(&octets[link_len..]));
    let complete = Frame { checksum: Checksum::Unchecked, octets: octets.into(), ..frame.clone() };
    assert!(complete.parse(ethernet).is_ok());
}
