use std::sync::Arc;
use std::sync::atomic::Ordering;

use lasthop_packet::{Ip, Payload, Seq, Tcp};
use portable_atomic::AtomicU64;

use super::*;

fn packet(number: u32) -> Packet {
    let host = std::net::IpAddr::from([192, 0, 2, 1]);
    let tcp = Tcp { seq: Seq(number), ..Tcp::default() };
    Packet::tcp_segment(Ip::new(host, host), tcp, Payload::Stream { stream: 1, offset: 0, len: 1 })
}

/// A queue and how often its owner was called.
fn queue_for(room: usize) -> (LinkInbox, LinkReporter, Arc<AtomicU64>) {
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let (inbox, queue) = queue(room);
    let queue = queue(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    (inbox, LinkReporter::to(vec![queue]), calls)
}

fn tell(reporter: &LinkReporter, number: u32) {
    reporter.report(&LinkEvent::Frame {
        packet: &packet(number),
        fate: Fate::GivenUp,
        transmissions: 3,
        queueing: Duration::from_millis(1),
        access: None,
        air_time: Duration::from_millis(2),
    });
}

fn hear(inbox: &mut LinkInbox) -> Vec<u32> {
    let mut heard = Vec::new();
    inbox.receive(clock::now(), |event| {
        let LinkEvent::Frame { packet, fate: Fate::GivenUp, transmissions: 3, .. } = event else {
            panic!("{event:?}")
        };
        heard.push(packet.tcp().expect("it is").seq.0);
    });
    heard
}

#[test]
fn events_are_heard_once_and_in_order_and_one_call_is_enough_for_all_that_wait() {
    let (mut inbox, reporter, calls) = queue_for(100);
    (1..=3).for_each(|number| tell(&reporter, number));
    assert_eq!((hear(&mut inbox), calls.load(Ordering::Relaxed)), (vec![1, 2, 3], 1));
    assert!(hear(&mut inbox).is_empty());
    tell(&reporter, 4);
    assert_eq!((hear(&mut inbox), calls.load(Ordering::Relaxed)), (vec![4], 2));
    let report = inbox.report();
    assert_eq!((report.heard, report.lost, report.delay.count), (4, 0, 4));
}

#[test]
fn what_finds_the_queue_full_is_lost_and_counted() {
    let (mut inbox, reporter, _) = queue_for(2);
    (1..=5).for_each(|number| tell(&reporter, number));
    assert_eq!(hear(&mut inbox), [1, 2]);
    assert_eq!((inbox.report().heard, inbox.report().lost), (2, 3));
    tell(&reporter, 6);
    assert_eq!(hear(&mut inbox), [6]);
}

#[test]
fn a_link_layer_outlives_its_listener() {
    let (inbox, reporter, _) = queue_for(2);
    drop(inbox);
    tell(&reporter, 1);
}
