//! 6.9: Hellos.

use std::time::Duration;

use super::support::{ALL, Did, Script, at, error, ms, quiet, reply, request, script};
use crate::AodvConfig;
use crate::message::{Message, Rrep};

fn hellos() -> AodvConfig {
    AodvConfig { hello_interval: Some(Duration::from_secs(1)), ..quiet() }
}

fn hear_hello(node: &mut Script, from: u8, sequence: u32) {
    let rrep = Rrep { lifetime: Duration::from_secs(2), ..reply(from, from, 0, sequence) };
    assert_eq!(node.hear(from, ALL, 1, &Message::Reply(rrep)), []);
}

fn count(said: &[(u64, Did)]) -> usize {
    let is_hello = |did: &Did| matches!(did, Did::Say(to, 1, Message::Reply(rrep)) if *to == ALL && rrep.destination == at(1));
    said.iter().filter(|(_, did)| is_hello(did)).count()
}

#[test]
fn only_a_node_on_an_active_route_says_hello_once_an_interval() {
    let mut node = script(hellos());
    assert_eq!(node.until(ms(10_000)), []);
    node.hear_reply(4, Rrep { lifetime: Duration::from_secs(5), ..reply(1, 8, 2, 30) });
    let said = node.until(ms(15_000));
    assert_eq!(count(&said), 5);
    assert_eq!(count(&node.until(ms(30_000))), 0);
    assert_eq!(node.aodv.counters().hellos_sent, 5);
}

#[test]
fn who_has_broadcast_need_not_say_hello() {
    let mut node = script(hellos());
    let mut said = Vec::new();
    for number in 0..40 {
        node.until(ms(number * 250));
        node.hear_reply(4, reply(1, 8, 2, 30));
        node.hear_request(3, 9, crate::message::Rreq { id: number as u32, ..request(9, 77, 0) });
        said.extend(node.until(ms(number * 250 + 249)));
    }
    assert_eq!(count(&said), 0);
}

#[test]
fn a_neighbour_that_says_hello_and_falls_silent_is_a_broken_link() {
    let mut node = script(hellos());
    node.hear_request(3, 1, request(9, 5, 0));
    node.hear_reply(4, reply(9, 8, 2, 30));
    hear_hello(&mut node, 4, 17);
    assert_eq!(node.knows(4), Some((at(4), 1, Some(17))));
    let said = node.until(ms(1_999));
    assert_eq!(said.len(), count(&said));
    assert!(node.knows(8).is_some());
    let said = node.until(ms(2_000));
    assert!(said.contains(&(2_000, Did::Say(at(3), 1, error(&[(4, 18), (8, 31)])))), "{said:?}");
    assert_eq!(node.knows(8), None);
}

#[test]
fn a_neighbour_that_never_said_hello_may_be_silent() {
    let mut node = script(hellos());
    node.hear_reply(4, reply(1, 8, 2, 30));
    node.until(ms(5_900));
    assert!(node.knows(8).is_some());
}
