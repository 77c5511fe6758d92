//! Targets of the crate `lasthop-packet`.

use bytes::Bytes;
use lasthop_packet::link_options::{LinkOptions, LinkOptionsError, MAX_OCTETS};
use lasthop_packet::quote::error_about;
use lasthop_packet::rtp::{Compound, Control, ReportBlock, Reports, RtpPacket};
use lasthop_packet::wire::{checksums_are_right, emit, parse};
use lasthop_packet::{Packet, Payload, Quotation, Seq, Transport};

/// An untouched packet leaves verbatim; an edited one leaves whole, with right checksums.
pub fn packet_parse(data: &[u8]) {
    checksums_are_right(data);
    let Ok(packet) = parse(Bytes::copy_from_slice(data)) else { return };
    assert!(packet.len() <= data.len());
    assert_eq!(emit(&packet), data[..packet.len()]);
    if matches!(packet.transport(), Transport::Opaque { .. }) {
        return;
    }

    let mut edited = packet.clone();
    if let Some(tcp) = edited.tcp_mut() {
        tcp.window = !tcp.window;
    }
    edited.set_payload(edited.payload().slice(1, usize::MAX));
    assert_survives(&edited);

    let mut with_more_options = edited;
    if let Some(tcp) = with_more_options.tcp_mut() {
        tcp.options.sack.push(Seq(1), Seq(2));
        tcp.options.unknown = None;
    }
    with_more_options.set_payload(Payload::Stream { stream: 1, offset: 2, len: 3 });
    let octets = emit(&with_more_options);
    assert_eq!(octets.len(), with_more_options.len());
    assert!(checksums_are_right(&octets));
    assert!(parse(octets).is_ok());
}

/// Written and read again, a packet has the same fields and right checksums.
fn assert_survives(packet: &Packet) {
    let octets = emit(packet);
    assert_eq!(octets.len(), packet.len());
    assert!(checksums_are_right(&octets));
    let again = parse(octets).expect("what we write is a packet");
    assert_eq!(again.ip(), packet.ip());
    assert_eq!(again.transport(), packet.transport());
    assert_eq!(again.payload(), packet.payload());
}

/// A quotation is of a segment that the message's receiver sent; an error message about a segment
/// quotes that segment.
pub fn quotation(data: &[u8]) {
    let Ok(packet) = parse(Bytes::copy_from_slice(data)) else { return };
    if let Some(quotation) = Quotation::from_message(&packet) {
        assert!(matches!(packet.transport(), Transport::Icmp(_)));
        assert_eq!(quotation.flow.source.0, packet.ip().destination);
    }
    let reporter = packet.ip().destination;
    if let Some(message) = error_about(&packet, reporter, 3, 0) {
        let expected = packet.tcp().zip(packet.flow_key());
        let is_v4 = packet.ip().source.is_ipv4();
        let counted = packet.len() - if is_v4 { 0 } else { packet.ip().len() };
        let len = if counted > usize::from(u16::MAX) { u32::from(u16::MAX) } else { packet.len() as u32 };
        let expected = expected.map(|(tcp, flow)| Quotation { flow, seq: tcp.seq, len });
        assert_eq!(Quotation::from_message(&message), expected);
        let received = parse(emit(&message)).expect("what we write is a packet");
        assert_eq!(Quotation::from_message(&received), expected);
    }
}

/// A UDP payload is RTP, or RTCP, or neither, and never both; what it says lies within it.
pub fn rtp(data: &[u8]) {
    let packet = RtpPacket::parse(data);
    if let Some(packet) = &packet {
        assert!(packet.payload.start <= packet.payload.end && packet.payload.end <= data.len());
        let whole = [&packet.header.octets()[..], &data[packet.payload.clone()]].concat();
        let again = RtpPacket::parse(&whole).expect("what we write is a packet");
        assert_eq!(again.header, packet.header);
        assert_eq!(whole[again.payload], data[packet.payload.clone()]);
    }
    let Some(compound) = Compound::parse(data) else { return };
    assert!(packet.is_none());
    let mut reported = 0;
    for control in compound {
        let (ssrc, sender, blocks) = match control {
            Control::Sender { ssrc, info, blocks } => (ssrc, Some(info), blocks),
            Control::Receiver { ssrc, blocks } => (ssrc, None, blocks),
            Control::Other { .. } => continue,
        };
        let blocks: Vec<ReportBlock> = blocks.collect();
        reported += blocks.len();
        let mut written = Vec::new();
        Reports { ssrc, sender, blocks: &blocks, cname: b"fuzz" }.write(&mut written);
        let again = Compound::parse(&written).and_then(|mut compound| compound.next());
        let (again_from, sent, received) = match again.expect("what we write is a report") {
            Control::Sender { ssrc, info, blocks } => (ssrc, Some(info), blocks),
            Control::Receiver { ssrc, blocks } => (ssrc, None, blocks),
            other @ Control::Other { .. } => panic!("a report became {other:?}"),
        };
        assert_eq!((again_from, sent, received.collect()), (ssrc, sender, blocks));
    }
    assert!(reported * 24 < data.len());
}

/// Options of a frame lie within their header length, are bounded, and are written as they were read.
pub fn link_options(data: &[u8]) {
    let Ok((options, length)) = LinkOptions::parse(data) else { return };
    assert!(length <= data.len() && length <= 1 + MAX_OCTETS);
    let octets: usize = options.iter().map(|option| 2 + option.data.len()).sum();
    assert_eq!(octets + 1, length);
    if options.is_empty() {
        assert!(options.emit().is_empty());
        return;
    }
    assert_eq!(options.emit(), &data[..length]);
    let mut again = LinkOptions::NONE;
    for option in options.iter() {
        if again.find(option.kind).is_none() {
            assert_eq!(options.find(option.kind), Some(option.data), "the first of its type");
        }
        again = again.with(option.kind, option.data).expect("there was room for it");
    }
    assert_eq!(again, options);
    let room = MAX_OCTETS - octets;
    assert_eq!(again.with(1, &vec![0; room.saturating_sub(1)]), Err(LinkOptionsError::TooLong));
    if let Some(rest) = room.checked_sub(2) {
        let full = again.with(1, &vec![0; rest]).expect("it fits exactly");
        assert_eq!(LinkOptions::parse(&full.emit()), Ok((full, 1 + MAX_OCTETS)));
    }
}
