//! Routes by their bandwidth-delay product.

use lasthop_agent::{FrameTimes, PathCapacity};
use lasthop_packet::Instant;

use super::support::{ALL, Did, Script, at, ms, quiet, reply, request, script};
use crate::message::{Message, Rrep, Rreq};
use crate::{AodvConfig, Metric, Path, RouteLookup};

fn by_product() -> Script {
    script(AodvConfig { metric: Metric::BandwidthDelay, ..quiet() })
}

/// One measured hop.
fn path(bandwidth: u32, delay: u32) -> Path {
    Path { capacity: PathCapacity { bandwidth, delay }, measured: 1 }
}

/// The times of a frame that waited this many milliseconds for others, then 1 ms for the air, and
/// took 1 ms.
fn times(waited: u64) -> FrameTimes {
    let departed = Instant::ZERO.after_nanos(waited * 1_000_000);
    let began = departed.after_nanos(1_000_000);
    FrameTimes { queued: Instant::ZERO, departed, began, over: began.after_nanos(1_000_000) }
}

#[test]
fn of_routes_with_equal_hops_the_originator_chooses_the_larger_product() {
    let mut node = by_product();
    node.send(9);
    node.did();
    let reported = |bandwidth, delay| Rrep { path: Some(path(bandwidth, delay)), ..reply(1, 9, 1, 30) };
    node.receive_reply(2, reported(100_000, 4_000));
    assert_eq!(node.send(9), RouteLookup::Next(at(2)));
    node.receive_reply(3, reported(50_000, 4_000));
    assert_eq!(node.send(9), RouteLookup::Next(at(2)));
    node.receive_reply(4, reported(200_000, 4_000));
    assert_eq!(node.send(9), RouteLookup::Next(at(4)));
    node.receive_reply(4, reported(90_000, 4_000));
    node.receive_reply(2, reported(100_000, 4_000));
    assert_eq!(node.send(9), RouteLookup::Next(at(2)), "the route was measured again");
}

#[test]
fn a_longer_route_is_not_chosen_whatever_its_product() {
    let mut node = by_product();
    node.receive_reply(2, Rrep { path: Some(path(1, 1)), ..reply(1, 9, 1, 30) });
    node.receive_reply(3, Rrep { path: Some(path(u32::MAX, u32::MAX)), ..reply(1, 9, 2, 30) });
    assert_eq!(node.send(9), RouteLookup::Next(at(2)));
    node.receive_reply(3, Rrep { path: None, ..reply(1, 9, 2, 31) });
    assert_eq!(node.send(9), RouteLookup::Next(at(3)), "newer is newer");
}

#[test]
fn a_forwarding_node_adds_its_own_hop_towards_the_sender() {
    let mut node = by_product();
    node.aodv.on_transmission(at(2), 1_000, &times(8), ms(0));
    // 1,000 octets in 10 ms, of which 2 ms are after the queue.
    let sent = node.receive_request(2, 9, Rreq { path: Some(path(150_000, 5_000)), ..request(7, 5, 0) });
    let [Did::Send(to, 8, Message::Request(forwarded))] = sent[..] else { panic!("{sent:?}") };
    let capacity = PathCapacity { bandwidth: 100_000, delay: 7_000 };
    assert_eq!((to, forwarded.path), (ALL, Some(Path { capacity, measured: 2 })));
}

#[test]
fn a_repeated_request_over_a_better_route_is_answered_again_up_to_a_limit() {
    let mut node = by_product();
    let rreq = |bandwidth| Rreq { path: Some(path(bandwidth, 4_000)), ..request(9, 1, 1) };
    assert_eq!(node.receive_request(2, 5, rreq(100)).len(), 1);
    assert_eq!(node.receive_request(3, 5, rreq(90)), []);
    let sent = node.receive_request(4, 5, rreq(110));
    assert!(matches!(sent[..], [Did::Send(to, _, Message::Reply(_))] if to == at(4)), "{sent:?}");
    let answers = (0..20).map(|more| node.receive_request(5 + more, 5, rreq(120 + u32::from(more))).len());
    assert_eq!(answers.sum::<usize>(), 2);
}

#[test]
fn an_unmeasured_hop_counts_like_the_latest_measured_one_until_that_expires() {
    let over = |node: &mut Script, id| {
        let sent = node.receive_request(3, 9, Rreq { id, path: Some(Path::START), ..request(7, 5, 0) });
        let [Did::Send(.., Message::Request(forwarded))] = sent[..] else { panic!("{sent:?}") };
        forwarded.path.expect("it has a path").measured
    };
    let mut node = by_product();
    assert_eq!(over(&mut node, 1), 0);
    node.aodv.on_transmission(at(2), 1_000, &times(8), node.now);
    assert_eq!(over(&mut node, 2), 1);
    node.until(ms(3_001));
    assert_eq!(over(&mut node, 3), 0);
}

#[test]
fn packets_without_data_measure_nothing() {
    let mut node = by_product();
    node.aodv.on_transmission(at(2), 0, &times(8), ms(0));
    let sent = node.receive_request(2, 9, Rreq { path: Some(Path::START), ..request(7, 5, 0) });
    let [Did::Send(.., Message::Request(forwarded))] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(forwarded.path, Some(Path::START));
}

#[test]
fn with_the_metric_hops_paths_are_neither_sent_nor_used() {
    let mut node = script(quiet());
    node.aodv.on_transmission(at(2), 1_000, &times(8), ms(0));
    let sent = node.receive_request(2, 9, Rreq { path: Some(path(1, 1)), ..request(7, 5, 0) });
    let [Did::Send(.., Message::Request(forwarded))] = sent[..] else { panic!("{sent:?}") };
    assert_eq!(forwarded.path, None);
    node.receive_reply(2, Rrep { path: Some(path(1, 1)), ..reply(1, 9, 1, 30) });
    node.receive_reply(3, Rrep { path: Some(path(1_000, 1_000)), ..reply(1, 9, 1, 30) });
    assert_eq!(node.send(9), RouteLookup::Next(at(2)));
}

#[test]
fn the_extension_is_type_length_and_nine_octets_and_a_malformed_one_is_ignored() {
    let message = |path| Message::Reply(Rrep { path, ..reply(1, 9, 1, 30) });
    let octets = message(Some(path(258, 3))).octets();
    assert_eq!(octets[20..], [100, 9, 0, 0, 1, 2, 0, 0, 0, 3, 1]);
    let after_another = [&octets[..20], &[7, 1, 0], &octets[20..]].concat();
    assert_eq!(Message::parse(&after_another), Some(message(Some(path(258, 3)))));
    for wrong in
        [&[100][..], &[100, 9, 1], &[100, 8, 0, 0, 1, 2, 0, 0, 0, 3], &[100, 9, 0, 0, 0, 0, 0, 0, 0, 3, 1]]
    {
        let octets = [&octets[..20], wrong].concat();
        assert_eq!(Message::parse(&octets), Some(message(None)), "{wrong:?}");
    }
}
