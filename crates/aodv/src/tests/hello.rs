//! 6.9: Hellos.

use std::time::Duration;

use super::support::{ALL, Did, Script, at, error, ms, quiet, reply, request, script};
use crate::AodvConfig;
use crate::message::{Message, Rrep};

fn hellos() -> AodvConfig {
    AodvConfig { hello_interval: Some(Duration::from_secs(1)), ..quiet() }
}

fn receive_hello(node: &mut Script, from: u8, sequence: u32) {
    let rrep = Rrep { lifetime: Duration::from_secs(2), ..reply(from, from, 0, sequence) };
    assert_eq!(node.receive(from, ALL, 1, &Message::Reply(rrep)), []);
}

fn count(sent: &[(u64, Did)]) -> usize {
    let is_hello = |did: &Did| matches!(did, Did::Send(to, 1, Message::Reply(rrep)) if *to == ALL && rrep.destination == at(1));
    sent.iter().filter(|(_, did)| is_hello(did)).count()
}

#[test]
fn only_a_node_on_an_active_route_sends_a_hello_per_interval() {
    let mut node = script(hellos());
    assert_eq!(node.until(ms(10_000)), []);
    node.receive_reply(4, Rrep { lifetime: Duration::from_secs(5), ..reply(1, 8, 2, 30) });
    let sent = node.until(ms(15_000));
    assert_eq!(count(&sent), 5);
    assert_eq!(count(&node.until(ms(30_000))), 0);
    assert_eq!(node.aodv.counters().hellos_sent, 5);
}

#[test]
fn a_node_that_has_broadcast_sends_no_hello() {
    let mut node = script(hellos());
    let mut sent = Vec::new();
    for number in 0..40 {
        node.until(ms(number * 250));
        node.receive_reply(4, reply(1, 8, 2, 30));
        node.receive_request(3, 9, crate::message::Rreq { id: number as u32, ..request(9, 77, 0) });
        sent.extend(node.until(ms(number * 250 + 249)));
    }
    assert_eq!(count(&sent), 0);
}

#[test]
fn a_neighbor_that_stops_sending_hellos_is_a_broken_link() {
    let mut node = script(hellos());
    node.receive_request(3, 1, request(9, 5, 0));
    node.receive_reply(4, reply(9, 8, 2, 30));
    receive_hello(&mut node, 4, 17);
    assert_eq!(node.knows(4), Some((at(4), 1, Some(17))));
    let sent = node.until(ms(1_999));
    assert_eq!(sent.len(), count(&sent));
    assert!(node.knows(8).is_some());
    let sent = node.until(ms(2_000));
    assert!(sent.contains(&(2_000, Did::Send(at(3), 1, error(&[(4, 18), (8, 31)])))), "{sent:?}");
    assert_eq!(node.knows(8), None);
}

#[test]
fn a_neighbor_that_never_sent_a_hello_may_be_silent() {
    let mut node = script(hellos());
    node.receive_reply(4, reply(1, 8, 2, 30));
    node.until(ms(5_900));
    assert!(node.knows(8).is_some());
}
