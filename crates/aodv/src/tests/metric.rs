//! Ways by their bandwidth-delay product.

use lasthop_agent::{FrameTimes, PathCapacity};
use lasthop_packet::Instant;

use super::support::{ALL, Did, Script, at, ms, quiet, reply, request, script};
use crate::message::{Message, Rrep, Rreq};
use crate::{AodvConfig, Metric, Path, Way};

fn by_product() -> Script {
    script(AodvConfig { metric: Metric::BandwidthDelay, ..quiet() })
}

/// One measured hop.
fn path(bandwidth: u32, delay: u32) -> Path {
    Path { capacity: PathCapacity { bandwidth, delay }, measured: 1 }
}

/// Those of a frame that waited so long for others, then 1 ms for the air, and took 1 ms.
fn times(waited: u64) -> FrameTimes {
    let departed = Instant::ZERO.after_nanos(waited * 1_000_000);
    let began = departed.after_nanos(1_000_000);
    FrameTimes { queued: Instant::ZERO, departed, began, over: began.after_nanos(1_000_000) }
}

#[test]
fn of_ways_with_as_many_hops_the_originator_takes_the_one_with_the_larger_product() {
    let mut node = by_product();
    node.send(9);
    node.did();
    let told = |bandwidth, delay| Rrep { path: Some(path(bandwidth, delay)), ..reply(1, 9, 1, 30) };
    node.hear_reply(2, told(100_000, 4_000));
    assert_eq!(node.send(9), Way::Next(at(2)));
    node.hear_reply(3, told(50_000, 4_000));
    assert_eq!(node.send(9), Way::Next(at(2)));
    node.hear_reply(4, told(200_000, 4_000));
    assert_eq!(node.send(9), Way::Next(at(4)));
    node.hear_reply(4, told(90_000, 4_000));
    node.hear_reply(2, told(100_000, 4_000));
    assert_eq!(node.send(9), Way::Next(at(2)), "its way was measured again");
}

#[test]
fn a_longer_way_is_not_taken_whatever_its_product() {
    let mut node = by_product();
    node.hear_reply(2, Rrep { path: Some(path(1, 1)), ..reply(1, 9, 1, 30) });
    node.hear_reply(3, Rrep { path: Some(path(u32::MAX, u32::MAX)), ..reply(1, 9, 2, 30) });
    assert_eq!(node.send(9), Way::Next(at(2)));
    node.hear_reply(3, Rrep { path: None, ..reply(1, 9, 2, 31) });
    assert_eq!(node.send(9), Way::Next(at(3)), "newer is newer");
}

#[test]
fn who_forwards_adds_its_own_hop_to_where_the_message_came_from() {
    let mut node = by_product();
    node.aodv.on_transmission(at(2), 1_000, &times(8), ms(0));
    // 1,000 octets in 10 ms, of which 2 are not for the queue.
    let said = node.hear_request(2, 9, Rreq { path: Some(path(150_000, 5_000)), ..request(7, 5, 0) });
    let [Did::Say(to, 8, Message::Request(forwarded))] = said[..] else { panic!("{said:?}") };
    let capacity = PathCapacity { bandwidth: 100_000, delay: 7_000 };
    assert_eq!((to, forwarded.path), (ALL, Some(Path { capacity, measured: 2 })));
}

#[test]
fn a_request_that_comes_again_over_a_better_way_is_answered_again_but_not_without_end() {
    let mut node = by_product();
    let rreq = |bandwidth| Rreq { path: Some(path(bandwidth, 4_000)), ..request(9, 1, 1) };
    assert_eq!(node.hear_request(2, 5, rreq(100)).len(), 1);
    assert_eq!(node.hear_request(3, 5, rreq(90)), []);
    let said = node.hear_request(4, 5, rreq(110));
    assert!(matches!(said[..], [Did::Say(to, _, Message::Reply(_))] if to == at(4)), "{said:?}");
    let answers = (0..20).map(|more| node.hear_request(5 + more, 5, rreq(120 + u32::from(more))).len());
    assert_eq!(answers.sum::<usize>(), 2);
}

#[test]
fn a_hop_that_was_not_used_lately_is_as_the_one_used_last_and_after_a_while_as_any() {
    let over = |node: &mut Script, id| {
        let said = node.hear_request(3, 9, Rreq { id, path: Some(Path::START), ..request(7, 5, 0) });
        let [Did::Say(.., Message::Request(forwarded))] = said[..] else { panic!("{said:?}") };
        forwarded.path.expect("it tells").measured
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
    let said = node.hear_request(2, 9, Rreq { path: Some(Path::START), ..request(7, 5, 0) });
    let [Did::Say(.., Message::Request(forwarded))] = said[..] else { panic!("{said:?}") };
    assert_eq!(forwarded.path, Some(Path::START));
}

#[test]
fn by_hops_nothing_is_told_and_what_others_tell_is_not_heard() {
    let mut node = script(quiet());
    node.aodv.on_transmission(at(2), 1_000, &times(8), ms(0));
    let said = node.hear_request(2, 9, Rreq { path: Some(path(1, 1)), ..request(7, 5, 0) });
    let [Did::Say(.., Message::Request(forwarded))] = said[..] else { panic!("{said:?}") };
    assert_eq!(forwarded.path, None);
    node.hear_reply(2, Rrep { path: Some(path(1, 1)), ..reply(1, 9, 1, 30) });
    node.hear_reply(3, Rrep { path: Some(path(1_000, 1_000)), ..reply(1, 9, 1, 30) });
    assert_eq!(node.send(9), Way::Next(at(2)));
}

#[test]
fn the_extension_is_type_length_and_nine_octets_and_a_malformed_one_tells_nothing() {
    let message = |path| Message::Reply(Rrep { path, ..reply(1, 9, 1, 30) });
    let octets = message(Some(path(258, 3))).octets();
    assert_eq!(octets[20..], [100, 9, 0, 0, 1, 2, 0, 0, 0, 3, 1]);
    let behind_another = [&octets[..20], &[7, 1, 0], &octets[20..]].concat();
    assert_eq!(Message::parse(&behind_another), Some(message(Some(path(258, 3)))));
    for wrong in
        [&[100][..], &[100, 9, 1], &[100, 8, 0, 0, 1, 2, 0, 0, 0, 3], &[100, 9, 0, 0, 0, 0, 0, 0, 0, 3, 1]]
    {
        let octets = [&octets[..20], wrong].concat();
        assert_eq!(Message::parse(&octets), Some(message(None)), "{wrong:?}");
    }
}
