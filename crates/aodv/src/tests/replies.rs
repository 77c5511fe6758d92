//! 6.6 and 6.7: RREPs.

use std::time::Duration;

use super::support::{Did, at, ms, quiet, reply, request, script};
use crate::message::{Message, Rrep, Rreq};
use crate::{AodvConfig, RouteLookup};

#[test]
fn the_destination_replies_with_the_larger_of_its_own_and_the_requested_number() {
    let mut node = script(quiet());
    let sent = node.receive_request(4, 5, Rreq { destination_sequence: Some(11), ..request(9, 1, 2) });
    let expected = Rrep { lifetime: Duration::from_secs(6), ..reply(9, 1, 0, 11) };
    assert_eq!(sent, [Did::Send(at(4), 35, Message::Reply(expected))]);
    let sent = node.receive_request(4, 5, Rreq { id: 8, destination_sequence: Some(3), ..request(9, 1, 2) });
    assert_eq!(sent, [Did::Send(at(4), 35, Message::Reply(expected))], "11 is its own now");
}

#[test]
fn a_node_with_a_fresh_route_replies_with_its_lifetime_and_ends_the_request() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(7, 5, 0));
    node.receive_reply(4, reply(7, 8, 2, 30));
    node.until(ms(1_000));
    let rreq = Rreq { destination_sequence: Some(30), ..request(9, 8, 0) };
    let sent = node.receive_request(5, 9, rreq);
    let expected = Rrep { lifetime: Duration::from_secs(5), ..reply(9, 8, 3, 30) };
    assert_eq!(sent, [Did::Send(at(5), 35, Message::Reply(expected))]);
    let precursors = &node.aodv.active_route(at(8)).expect("it is active").precursors;
    assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(3), at(5)]);
    let precursors = &node.aodv.active_route(at(9)).expect("it is active").precursors;
    assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(4)]);
}

#[test]
fn no_node_replies_with_an_older_number_or_where_only_the_destination_may() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(7, 5, 0));
    node.receive_reply(4, reply(7, 8, 2, 30));
    let fresher = Rreq { id: 1, destination_sequence: Some(31), ..request(9, 8, 0) };
    let only = Rreq { id: 2, destination_only: true, ..request(9, 8, 0) };
    // A neighbor whose sequence number is unknown.
    let nameless = Rreq { id: 3, ..request(9, 4, 0) };
    for rreq in [fresher, only, nameless] {
        let sent = node.receive_request(5, 9, rreq);
        assert!(matches!(sent[..], [Did::Send(_, 8, Message::Request(_))]), "{sent:?}");
    }
}

#[test]
fn a_gratuitous_reply_gives_the_destination_the_reverse_route() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(7, 5, 0));
    node.receive_reply(4, reply(7, 8, 2, 30));
    let sent = node.receive_request(5, 9, Rreq { gratuitous: true, ..request(9, 8, 1) });
    let lifetime = Duration::from_millis(5_600 - 160);
    let gratuitous = Rrep { lifetime, ..reply(8, 9, 2, 20) };
    assert_eq!(
        sent,
        [
            Did::Send(at(5), 35, Message::Reply(reply(9, 8, 3, 30))),
            Did::Send(at(4), 35, Message::Reply(gratuitous)),
        ]
    );
}

#[test]
fn a_reply_creates_the_route_and_precursors_and_is_forwarded_to_the_originator() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(9, 8, 0));
    let sent = node.receive_reply(4, reply(9, 8, 2, 30));
    assert_eq!(sent, [Did::Send(at(3), 29, Message::Reply(reply(9, 8, 3, 30)))]);
    assert_eq!(node.knows(8), Some((at(4), 3, Some(30))));
    for far in [8, 4] {
        let precursors = &node.aodv.active_route(at(far)).expect("it is active").precursors;
        assert_eq!(precursors.iter().copied().collect::<Vec<_>>(), [at(3)]);
    }
}

#[test]
fn a_reply_without_a_better_route_is_not_forwarded_unless_it_repeats_the_known_one() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(9, 8, 0));
    node.receive_reply(4, reply(9, 8, 2, 30));
    assert_eq!(node.receive_reply(5, reply(9, 8, 2, 30)), [], "as long");
    assert_eq!(node.receive_reply(5, reply(9, 8, 0, 29)), [], "older");
    assert_eq!(node.receive_reply(4, reply(9, 8, 2, 30)).len(), 1, "the same again");
    assert_eq!(node.receive_reply(5, reply(9, 8, 1, 30)).len(), 1, "shorter");
    assert_eq!(node.receive_reply(4, reply(9, 8, 7, 31)).len(), 1, "fresher");
    assert_eq!(node.knows(8), Some((at(4), 8, Some(31))));
}

#[test]
fn a_reply_to_the_originator_ends_its_search() {
    let mut node = script(quiet());
    assert_eq!(node.send(8), RouteLookup::Wait);
    node.did();
    assert_eq!(node.receive_reply(4, reply(1, 8, 2, 30)), [Did::Find(at(8))]);
    assert_eq!(node.send(8), RouteLookup::Next(at(4)));
    assert_eq!(node.until(ms(60_000)), [], "the search is over");
}

#[test]
fn a_request_of_the_destination_also_ends_the_search() {
    let mut node = script(quiet());
    node.send(8);
    node.did();
    let did = node.receive_request(4, 1, request(8, 7, 1));
    assert_eq!(did, [Did::Find(at(8))]);
    assert_eq!(node.send(8), RouteLookup::Next(at(4)));
}

#[test]
fn a_reply_that_requires_an_acknowledgment_gets_one() {
    let mut node = script(quiet());
    let sent = node.receive_reply(4, Rrep { ack_required: true, ..reply(1, 8, 2, 30) });
    assert_eq!(sent, [Did::Send(at(4), 1, Message::ReplyAck)]);
}

#[test]
fn a_route_and_its_reverse_route_last_as_long_as_they_are_used() {
    let config = AodvConfig { my_route_timeout: Some(Duration::from_secs(1)), ..quiet() };
    let mut node = script(config);
    node.receive_request(3, 1, request(9, 8, 0));
    node.receive_reply(4, Rrep { lifetime: Duration::from_secs(1), ..reply(9, 8, 2, 30) });
    for second in 1..20 {
        node.until(ms(second * 1_000 - 1));
        assert_eq!(node.forward(9, 8), RouteLookup::Next(at(4)), "{second}");
    }
    assert_eq!(node.forward(8, 9), RouteLookup::Next(at(3)), "nothing went back so far");
    node.until(ms(18_999 + 2_999));
    assert_eq!(
        (node.forward(9, 8), node.forward(8, 9)),
        (RouteLookup::Next(at(4)), RouteLookup::Next(at(3)))
    );
    node.until(ms(21_998 + 3_000));
    assert_eq!((node.forward(9, 8), node.forward(8, 9)), (RouteLookup::None, RouteLookup::None));
}
