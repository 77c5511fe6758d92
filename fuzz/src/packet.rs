//! Targets of the crate `lasthop-packet`.

use bytes::Bytes;
use lasthop_packet::link_options::{LinkOptions, MOST_OCTETS};
use lasthop_packet::quote::error_about;
use lasthop_packet::rtp::{Compound, Control, RtpPacket};
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
    if let Some(quotation) = Quotation::of(&packet) {
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
        assert_eq!(Quotation::of(&message), expected);
        let received = parse(emit(&message)).expect("what we write is a packet");
        assert_eq!(Quotation::of(&received), expected);
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
    let reported: usize = compound
        .map(|control| match control {
            Control::Sender { blocks, .. } | Control::Receiver { blocks, .. } => blocks.count(),
            Control::Other { .. } => 0,
        })
        .sum();
    assert!(reported * 24 < data.len());
}

/// Options of a frame lie within their header length, are bounded, and are written as they were read.
pub fn link_options(data: &[u8]) {
    let Ok((options, length)) = LinkOptions::parse(data) else { return };
    assert!(length <= data.len() && length <= 1 + MOST_OCTETS);
    let octets: usize = options.iter().map(|option| 2 + option.data.len()).sum();
    assert_eq!(octets + 1, length);
    if options.is_empty() {
        assert!(options.emit().is_empty());
        return;
    }
    assert_eq!(options.emit(), &data[..length]);
    for option in options.iter() {
        let first = options.find(option.kind).expect("it is there");
        assert!(first == option.data || options.iter().filter(|other| other.kind == option.kind).count() > 1);
    }
}
