//! 6.5: RREQs of other nodes.

use std::time::Duration;

use super::support::{ALL, Did, at, ms, packet, quiet, reply, request, script};
use crate::AodvConfig;
use crate::message::{Message, Rreq};

#[test]
fn a_request_creates_a_reverse_route_and_is_forwarded_with_one_more_hop() {
    let mut node = script(quiet());
    let received = request(9, 8, 2);
    let sent = node.receive_request(4, 5, received);
    let forwarded = Rreq { hop_count: 3, ..received };
    assert_eq!(sent, [Did::Send(ALL, 4, Message::Request(forwarded))]);
    assert_eq!(node.knows(9), Some((at(4), 3, Some(20))));
    assert_eq!(node.knows(4), Some((at(4), 1, None)), "the neighbor, without a number");
    // 2 * NET_TRAVERSAL_TIME - 2 * 3 * NODE_TRAVERSAL_TIME.
    assert_eq!(node.aodv.active_route(at(9)).map(|route| route.expires), Some(ms(5_600 - 240)));
}

#[test]
fn a_request_that_was_seen_is_dropped_until_it_is_forgotten() {
    let mut node = script(quiet());
    assert_eq!(node.receive_request(4, 5, request(9, 8, 2)).len(), 1);
    assert_eq!(node.receive_request(5, 5, request(9, 8, 1)), []);
    node.until(ms(5_599));
    assert_eq!(node.receive_request(5, 5, request(9, 8, 1)), []);
    node.until(ms(5_600));
    assert_eq!(node.receive_request(5, 5, request(9, 8, 1)).len(), 1);
}

#[test]
fn a_request_whose_ttl_is_over_is_not_forwarded() {
    let mut node = script(quiet());
    assert_eq!(node.receive_request(4, 1, request(9, 8, 2)), []);
    assert!(node.knows(9).is_some());
}

#[test]
fn a_nodes_own_request_that_comes_back_is_ignored() {
    let mut node = script(quiet());
    assert_eq!(node.receive_request(4, 5, request(1, 8, 1)), []);
    assert_eq!(node.knows(1), None);
}

#[test]
fn a_forwarded_request_has_the_latest_known_destination_sequence_number() {
    let mut node = script(quiet());
    node.receive_request(3, 1, request(9, 5, 0));
    node.receive_reply(4, reply(9, 8, 2, 30));
    node.aodv.on_given_up(at(4), None, node.now);
    node.did();
    let requested = |node: &mut super::support::Script, id, destination_sequence| {
        let sent = node.receive_request(3, 9, Rreq { id, destination_sequence, ..request(9, 8, 0) });
        match sent[..] {
            [Did::Send(_, _, Message::Request(rreq))] => rreq.destination_sequence,
            _ => panic!("{sent:?}"),
        }
    };
    // The break has incremented 30 to 31.
    assert_eq!(requested(&mut node, 71, None), Some(31));
    assert_eq!(requested(&mut node, 72, Some(12)), Some(31));
    assert_eq!(requested(&mut node, 73, Some(99)), Some(99));
    assert_eq!(requested(&mut node, 74, None), Some(31), "the numbers in requests are not learned");
}

#[test]
fn only_a_newer_number_or_a_shorter_route_replaces_the_reverse_route() {
    let mut node = script(quiet());
    let mut receive = |from, id, originator_sequence, hop_count| {
        node.receive_request(from, 1, Rreq { id, originator_sequence, ..request(9, 8, hop_count) });
        node.knows(9)
    };
    assert_eq!(receive(4, 1, 20, 3), Some((at(4), 4, Some(20))));
    assert_eq!(receive(5, 2, 20, 3), Some((at(4), 4, Some(20))));
    assert_eq!(receive(6, 3, 20, 2), Some((at(6), 3, Some(20))));
    assert_eq!(receive(4, 4, 19, 0), Some((at(6), 3, Some(20))));
    assert_eq!(receive(4, 5, 21, 9), Some((at(4), 10, Some(21))));
}

#[test]
fn sequence_numbers_are_circular() {
    let mut node = script(quiet());
    node.receive_request(4, 1, Rreq { id: 1, originator_sequence: u32::MAX, ..request(9, 8, 1) });
    node.receive_request(5, 1, Rreq { id: 2, originator_sequence: 1, ..request(9, 8, 1) });
    assert_eq!(node.knows(9), Some((at(5), 2, Some(1))));
}

#[test]
fn forwarded_requests_are_jittered_and_a_nodes_own_are_not() {
    let mut waits = Vec::new();
    let mut node = script(AodvConfig { broadcast_jitter: Duration::from_millis(10), ..quiet() });
    for id in 0..50 {
        assert_eq!(node.receive_request(4, 5, Rreq { id, ..request(9, 8, 2) }), []);
        let due = node.aodv.deadline().expect("it is to be forwarded");
        waits.push(due.since(node.now).as_nanos());
        assert_eq!(node.until(due).len(), 1);
    }
    assert!(waits.iter().all(|wait| (1..10_000_000).contains(wait)));
    assert!(waits.iter().any(|wait| *wait < 2_000_000) && waits.iter().any(|wait| *wait > 8_000_000));
    node.send(77);
    assert_eq!(node.did().len(), 1);
}

#[test]
fn requests_of_a_neighbor_that_a_reply_did_not_reach_are_ignored_for_a_while() {
    let mut node = script(quiet());
    node.receive_request(4, 5, request(9, 1, 2));
    let lost = packet(1, at(4), 35, &Message::Reply(reply(9, 1, 0, 0)));
    node.aodv.on_given_up(at(4), Some(&lost), node.now);
    node.did();
    assert_eq!(node.receive_request(4, 5, Rreq { id: 8, ..request(9, 1, 2) }), []);
    // RREQ_RETRIES * NET_TRAVERSAL_TIME.
    node.until(ms(5_600));
    let new_request = Rreq { id: 9, originator_sequence: 30, ..request(9, 1, 2) };
    assert_eq!(node.receive_request(4, 5, new_request).len(), 1);
}
