//! Written packets are read back, other payloads are refused, and nothing panics.

use proptest::prelude::*;

use super::*;

fn header() -> impl Strategy<Value = Rtp> {
    // With the marker bit, payload types 72 to 76 are RTCP's reports.
    let payload_type = any::<(bool, u8)>().prop_map(|(marker, kind)| (marker, kind & 0x7f));
    let payload_type =
        payload_type.prop_filter("RTCP", |(marker, kind)| !(*marker && (72..77).contains(kind)));
    (payload_type, any::<u16>(), any::<u32>(), any::<u32>()).prop_map(
        |((marker, payload_type), sequence, timestamp, ssrc)| Rtp {
            marker,
            payload_type,
            sequence,
            timestamp,
            ssrc,
        },
    )
}

fn block() -> impl Strategy<Value = ReportBlock> {
    (any::<(u32, u8)>(), -(1_i32 << 23)..1 << 23, any::<[u32; 4]>()).prop_map(
        |((ssrc, fraction_lost), lost, [highest, jitter, last_report, since_last_report])| ReportBlock {
            ssrc,
            fraction_lost,
            lost,
            highest,
            jitter,
            last_report,
            since_last_report,
        },
    )
}

proptest! {
    #[test]
    fn a_header_is_read_as_it_was_written(header in header(), payload in prop::collection::vec(any::<u8>(), 0..64)) {
        let octets = [&header.octets()[..], &payload].concat();
        let packet = RtpPacket::parse(&octets).expect("a packet of ours");
        prop_assert_eq!(packet.header, header);
        prop_assert_eq!(&octets[packet.payload], &payload[..]);
    }

    #[test]
    fn reports_are_read_as_they_were_written(
        ssrc: u32,
        sender in prop::option::of(any::<(u64, [u32; 3])>()),
        blocks in prop::collection::vec(block(), 0..=31),
        cname in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let sender = sender.map(|(ntp, [rtp_timestamp, packets, octets])| SenderInfo { ntp, rtp_timestamp, packets, octets });
        let mut octets = Vec::new();
        Reports { ssrc, sender, blocks: &blocks, cname: &cname }.write(&mut octets);
        let mut compound = Compound::parse(&octets).expect("a compound packet of ours");
        match compound.next() {
            Some(Control::Sender { ssrc: who, info, blocks: read }) => {
                prop_assert_eq!((who, Some(info)), (ssrc, sender));
                prop_assert_eq!(read.collect::<Vec<_>>(), blocks);
            }
            Some(Control::Receiver { ssrc: who, blocks: read }) => {
                prop_assert_eq!((who, None), (ssrc, sender));
                prop_assert_eq!(read.collect::<Vec<_>>(), blocks);
            }
            other => prop_assert!(false, "{:?}", other),
        }
        let is_description = matches!(compound.next(), Some(Control::Other { packet_type: 202 }));
        prop_assert!(is_description && compound.next().is_none());
        // No truncated packet is accepted.
        for len in 0..octets.len() {
            let is_first_packet = Compound::parse(&octets[..len]).is_some_and(|first| first.count() == 1);
            prop_assert!(is_first_packet || Compound::parse(&octets[..len]).is_none(), "{} octets", len);
        }
    }

    #[test]
    fn hostile_octets_are_refused_or_lie_within_the_datagram(
        first in prop_oneof![Just(0x80_u8), any::<u8>()],
        kind in prop_oneof![199_u8..206, any::<u8>()],
        rest in prop::collection::vec(prop_oneof![Just(0_u8), Just(1_u8), any::<u8>()], 0..120),
    ) {
        let octets = [&[first, kind][..], &rest].concat();
        if let Some(packet) = RtpPacket::parse(&octets) {
            prop_assert!(packet.payload.start >= Rtp::LEN && packet.payload.start <= packet.payload.end);
            prop_assert!(packet.payload.end <= octets.len());
        }
        if let Some(compound) = Compound::parse(&octets) {
            prop_assert!(compound.clone().count() >= 1);
            let blocks = compound.map(|control| match control {
                Control::Sender { blocks, .. } | Control::Receiver { blocks, .. } => blocks.count(),
                Control::Other { .. } => 0,
            });
            prop_assert!(blocks.sum::<usize>() * 24 <= octets.len());
        }
    }
}

#[test]
fn contributors_extension_and_padding_are_no_payload() {
    let mut octets = vec![0xb1, 0x80, 0, 7, 0, 0, 0, 160, 1, 2, 3, 4];
    octets.extend([9, 9, 9, 9]); // a contributing source
    octets.extend([0xbe, 0xde, 0, 1, 5, 5, 5, 5]); // an extension of one word
    octets.extend([42; 10]);
    octets.extend([0, 0, 3]);
    let packet = RtpPacket::parse(&octets).expect("a packet");
    assert_eq!((packet.contributors, packet.has_extension), (1, true));
    assert_eq!(&octets[packet.payload], [42; 10]);
    // Padding longer than the packet, or of no length.
    for last in [0, 200] {
        *octets.last_mut().expect("octets") = last;
        assert_eq!(RtpPacket::parse(&octets), None, "{last}");
    }
}

#[test]
fn a_malformed_compound_packet_is_refused() {
    let mut report = Vec::new();
    let block = ReportBlock { lost: -5, ..ReportBlock::default() };
    Reports { ssrc: 1, sender: None, blocks: &[block], cname: b"a@10.0.0.1" }.write(&mut report);
    assert!(Compound::parse(&report).is_some());
    let with = |at: usize, octet: u8| {
        let mut octets = report.clone();
        octets[at] = octet;
        Compound::parse(&octets).is_none()
    };
    assert!(with(0, 0x41), "version 1");
    assert!(with(0, 0xa1), "padding in the first of several");
    assert!(with(0, 0x82), "more blocks than there are");
    assert!(with(1, 202), "the first is no report");
    assert!(with(3, 6), "lengths that do not add up");
    assert!(Compound::parse(&[]).is_none());
    assert!(RtpPacket::parse(&report).is_none(), "a report is no data packet");
}
