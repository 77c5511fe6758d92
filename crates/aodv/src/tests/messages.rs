//! Encoding.

use proptest::prelude::*;

use super::support::{at, error, reply, request};
use crate::message::{Message, Rrep, Rreq};

#[test]
fn messages_have_the_octets_of_section_5() {
    let rreq = Rreq {
        gratuitous: true,
        destination_only: true,
        hop_count: 3,
        id: 0x0102_0304,
        destination: at(9),
        destination_sequence: None,
        originator: at(2),
        originator_sequence: 5,
        path: None,
    };
    let octets = [1, 0x38, 0, 3, 1, 2, 3, 4, 10, 0, 0, 9, 0, 0, 0, 0, 10, 0, 0, 2, 0, 0, 0, 5];
    assert_eq!(Message::Request(rreq).octets(), octets);
    let known = Rreq { destination_sequence: Some(258), ..request(2, 9, 0) };
    assert_eq!(Message::Request(known).octets()[1..16], [0, 0, 0, 0, 0, 0, 7, 10, 0, 0, 9, 0, 0, 1, 2]);
    let rrep = Rrep { ack_required: true, ..reply(2, 9, 4, 6) };
    let octets = [2, 0x40, 0, 4, 10, 0, 0, 9, 0, 0, 0, 6, 10, 0, 0, 2, 0, 0, 0x17, 0x70];
    assert_eq!(Message::Reply(rrep).octets(), octets);
    let octets = [3, 0, 0, 2, 10, 0, 0, 4, 0, 0, 0, 8, 10, 0, 0, 5, 0, 0, 0, 9];
    assert_eq!(error(&[(4, 8), (5, 9)]).octets(), octets);
    assert_eq!(Message::ReplyAck.octets(), [4, 0]);
}

#[test]
fn flags_of_multicast_and_extensions_are_ignored_and_truncated_messages_are_refused() {
    for message in [
        Message::Request(request(2, 9, 1)),
        Message::Reply(reply(2, 9, 4, 6)),
        error(&[(4, 8), (5, 9)]),
        Message::ReplyAck,
    ] {
        let mut octets = message.octets();
        for len in 0..octets.len() {
            assert_eq!(Message::parse(&octets[..len]), None, "{message:?} cut to {len}");
        }
        octets.extend([200, 2, 1, 1]);
        assert_eq!(Message::parse(&octets), Some(message));
    }
    let mut octets = Message::Request(request(2, 9, 1)).octets();
    octets[1] |= 0xc7;
    assert_eq!(Message::parse(&octets), Some(Message::Request(request(2, 9, 1))));
    assert_eq!(Message::parse(&[3, 0, 0, 0]), None, "an error without destinations");
    assert_eq!(Message::parse(&[5, 0, 0, 0]), None);
}

proptest! {
    #[test]
    fn any_octets_are_a_message_or_none_and_a_message_is_read_back_unchanged(
        octets in prop::collection::vec(any::<u8>(), 0..300),
        kind in 0u8..6,
    ) {
        let mut octets = octets;
        if let Some(first) = octets.first_mut() {
            *first = kind;
        }
        if let Some(message) = Message::parse(&octets) {
            prop_assert_eq!(Message::parse(&message.octets()), Some(message));
        }
    }
}
