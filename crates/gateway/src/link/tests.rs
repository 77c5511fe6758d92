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

/// A queue, and the number of wake-ups of its owner.
fn queue_for(room: usize) -> (LinkInbox, LinkReporter, Arc<AtomicU64>) {
    let wakes = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&wakes);
    let (inbox, queue) = queue(room);
    let queue = queue(Box::new(move || {
        count.fetch_add(1, Ordering::Relaxed);
    }));
    (inbox, LinkReporter::to(vec![queue]), wakes)
}

fn report(reporter: &LinkReporter, number: u32) {
    reporter.report(&LinkEvent::Frame {
        packet: &packet(number),
        fate: Fate::GivenUp,
        transmissions: 3,
        queueing: Duration::from_millis(1),
        access: None,
        air_time: Duration::from_millis(2),
    });
}

fn receive(inbox: &mut LinkInbox) -> Vec<u32> {
    let mut received = Vec::new();
    inbox.receive(clock::now(), |event| {
        let LinkEvent::Frame { packet, fate: Fate::GivenUp, transmissions: 3, .. } = event else {
            panic!("{event:?}")
        };
        received.push(packet.tcp().expect("it is").seq.0);
    });
    received
}

#[test]
fn events_are_received_once_and_in_order_with_one_wake_up_for_all_that_wait() {
    let (mut inbox, reporter, wakes) = queue_for(100);
    (1..=3).for_each(|number| report(&reporter, number));
    assert_eq!((receive(&mut inbox), wakes.load(Ordering::Relaxed)), (vec![1, 2, 3], 1));
    assert!(receive(&mut inbox).is_empty());
    report(&reporter, 4);
    assert_eq!((receive(&mut inbox), wakes.load(Ordering::Relaxed)), (vec![4], 2));
    let report = inbox.report();
    assert_eq!((report.heard, report.lost, report.delay.count), (4, 0, 4));
}

#[test]
fn events_above_the_capacity_of_the_queue_are_lost_and_counted() {
    let (mut inbox, reporter, _) = queue_for(2);
    (1..=5).for_each(|number| report(&reporter, number));
    assert_eq!(receive(&mut inbox), [1, 2]);
    assert_eq!((inbox.report().heard, inbox.report().lost), (2, 3));
    report(&reporter, 6);
    assert_eq!(receive(&mut inbox), [6]);
}

#[test]
fn a_link_layer_may_report_after_the_packet_loop_has_ended() {
    let (inbox, reporter, _) = queue_for(2);
    drop(inbox);
    report(&reporter, 1);
}
