//! 6.3 and 6.4: route searches.

use super::support::{ALL, Did, Script, at, ms, quiet, reply, script};
use crate::message::Message;
use crate::{AodvConfig, RouteLookup};

/// Times and TTLs of the requests, their sequence numbers, and the time when the search was given
/// up.
fn search(node: &mut Script) -> (Vec<(u64, u8)>, Vec<u32>, Option<u64>) {
    let (mut rings, mut numbers, mut failed) = (Vec::new(), Vec::new(), None);
    let first: Vec<_> = node.did().into_iter().map(|did| (node.now.as_millis(), did)).collect();
    for (at, did) in first.into_iter().chain(node.until(ms(10_000_000))) {
        match did {
            Did::Send(to, ttl, Message::Request(rreq)) => {
                assert_eq!((to, rreq.hop_count, rreq.originator_sequence), (ALL, 0, rreq.id));
                rings.push((at, ttl));
                numbers.push(rreq.id);
            }
            Did::Fail(_) => failed = Some(at),
            did => panic!("{did:?}"),
        }
    }
    (rings, numbers, failed)
}

#[test]
fn a_search_expands_in_rings_then_covers_the_network_with_doubled_waits() {
    let mut node = script(quiet());
    assert_eq!(node.send(8), RouteLookup::Wait);
    let (rings, numbers, failed) = search(&mut node);
    // 2 * 40 ms * (TTL + 2); then NET_TRAVERSAL_TIME, twice that, and four times.
    let expected =
        [(0, 1), (240, 3), (640, 5), (1_200, 7), (1_920, 35), (1_920 + 2_800, 35), (1_920 + 8_400, 35)];
    assert_eq!(rings, expected);
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7], "each request has a number and an id of its own");
    assert_eq!(failed, Some(1_920 + 7 * 2_800));
    assert_eq!((node.aodv.counters().searches, node.aodv.counters().searches_failed), (1, 1));
}

#[test]
fn a_search_for_a_known_destination_begins_a_little_above_its_last_distance() {
    for (hops, first) in [(2, 4), (5, 7), (6, 35)] {
        let mut node = script(quiet());
        node.receive_reply(4, reply(1, 8, hops - 1, 30));
        node.until(ms(6_000));
        assert_eq!(node.send(8), RouteLookup::Wait);
        let did = node.did();
        let [Did::Send(_, ttl, Message::Request(rreq))] = did[..] else { panic!("{did:?}") };
        assert_eq!((ttl, rreq.destination_sequence), (first, Some(31)), "{hops}");
    }
}

#[test]
fn there_is_one_search_for_a_destination_at_a_time() {
    let mut node = script(quiet());
    assert_eq!(
        (node.send(8), node.send(8), node.send(7)),
        (RouteLookup::Wait, RouteLookup::Wait, RouteLookup::Wait)
    );
    assert_eq!(node.did().len(), 2);
}

#[test]
fn requests_above_the_rate_limit_wait_for_the_next_second() {
    let mut node = script(AodvConfig { rreq_rate_limit: 3, ..quiet() });
    for far in 10..15 {
        node.send(far);
    }
    assert_eq!(node.did().len(), 3);
    // Without an answer the rings would expand, but not before that.
    assert_eq!(node.until(ms(999)), []);
    assert_eq!(node.until(ms(1_000)).len(), 3);
    assert_eq!(node.until(ms(1_999)), []);
}

#[test]
fn a_ttl_start_of_the_diameter_searches_the_whole_network_at_once() {
    let mut node = script(AodvConfig { ttl_start: 35, ..quiet() });
    node.send(8);
    let (rings, ..) = search(&mut node);
    assert_eq!(rings, [(0, 35), (2_800, 35), (8_400, 35)]);
}

#[test]
fn after_a_failed_search_the_next_packet_starts_a_new_one() {
    let mut node = script(quiet());
    node.send(8);
    search(&mut node);
    assert_eq!(node.send(8), RouteLookup::Wait);
    assert!(matches!(node.did()[..], [Did::Send(to, 1, Message::Request(_))] if to == ALL));
    assert_eq!(node.receive_reply(4, reply(1, 8, 0, 1)), [Did::Find(at(8))]);
}
