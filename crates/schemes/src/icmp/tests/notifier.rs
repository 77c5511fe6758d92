//! The node's side (thesis, sections 5.4.1 and 5.5.2).

use lasthop_agent::counter::CONTROL_MESSAGES;
use std::time::Duration;

use lasthop_agent::{Agent, Context, Fate, LinkEvent, LinkSenses, Outbox, Report, Side, Verdict};
use lasthop_packet::{Quotation, Rng, Transport, Udp};

use super::*;

/// The messages and reports of a notifier after this fate of a frame.
fn outcome(mut notifier: Notifier, packet: &Packet, fate: Fate) -> Outbox {
    let (mut rng, mut outbox) = (Rng::named(1, "notifier"), Outbox::default());
    let event = LinkEvent::Frame {
        packet,
        fate,
        transmissions: 1,
        queueing: Duration::ZERO,
        access: None,
        air_time: Duration::from_millis(8),
    };
    notifier.on_link(&event, &mut Context::new(Instant::ZERO, &mut rng, &mut outbox));
    outbox
}

/// The only message of an outbox, as its receiver parses it.
fn message(outbox: &Outbox) -> (Packet, &'static str) {
    let [(Side::Core, packet)] = &outbox.packets[..] else { panic!("one, to the core: {outbox:?}") };
    let [Report { counter, detail: name, .. }] = &outbox.reports[..] else {
        panic!("one report: {outbox:?}")
    };
    assert_eq!(*counter, &CONTROL_MESSAGES);
    (parse(emit(packet)).expect("what we write is a packet"), name)
}

#[test]
fn the_first_failure_is_reported_to_the_source_with_a_quotation() {
    for hosts in both_versions() {
        let segment = hosts.segment(3);
        for notifier in [Notifier::simple(hosts.node), Notifier::refined(hosts.node)] {
            let outbox = outcome(notifier, &segment, Fate::FirstTransmissionFailed);
            let (packet, name) = message(&outbox);
            assert_eq!(name, "ICMP-DEFER");
            assert_eq!((packet.ip().source, packet.ip().destination), (hosts.node, hosts.server));
            let flow = segment.flow_key().expect("it is TCP");
            let len = segment.len() as u32;
            assert_eq!(
                Quotation::from_message(&packet),
                Some(Quotation { flow, seq: first_octet() + 3 * MSS, len })
            );
            assert_eq!(packet.payload().len(), segment.ip().len() + 8, "IP header and eight octets");
        }
    }
}

#[test]
fn only_refined_reports_a_frame_given_up() {
    for hosts in both_versions() {
        let segment = hosts.segment(0);
        assert!(outcome(Notifier::simple(hosts.node), &segment, Fate::GivenUp).packets.is_empty());
        let outbox = outcome(Notifier::refined(hosts.node), &segment, Fate::GivenUp);
        assert_eq!(message(&outbox).1, "ICMP-RETRANSMIT");
    }
}

#[test]
fn delivered_frames_and_those_without_tcp_data_are_not_reported() {
    for hosts in both_versions() {
        let mut ack = hosts.segment(0);
        ack.set_payload(Payload::EMPTY);
        let udp = Transport::Udp(Udp { source_port: 80, destination_port: 5000 });
        let datagram = Packet::new(Ip::new(hosts.server, hosts.mobile), udp, data(100));
        let opaque =
            Packet::new(Ip::new(hosts.server, hosts.mobile), Transport::Opaque { protocol: 50 }, data(100));
        let icmp = Message::Defer.about(&hosts.segment(0), hosts.node).expect("a TCP segment");
        let silent = |packet: &Packet, fate| {
            let outbox = outcome(Notifier::refined(hosts.node), packet, fate);
            assert!(outbox.packets.is_empty() && outbox.reports.is_empty());
        };
        silent(&hosts.segment(0), Fate::Delivered);
        for packet in [ack, datagram, opaque, icmp] {
            silent(&packet, Fate::FirstTransmissionFailed);
            silent(&packet, Fate::GivenUp);
        }
    }
}

#[test]
fn packets_pass_unchanged_both_ways() {
    let hosts = both_versions()[0];
    let (mut rng, mut outbox) = (Rng::named(1, "notifier"), Outbox::default());
    for from in [Side::Core, Side::Radio] {
        let mut packet = hosts.segment(0);
        let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
        let verdict = Notifier::refined(hosts.node).on_packet(&mut packet, from, &mut cx);
        assert!(matches!(verdict, Verdict::Forward));
        assert_eq!(emit(&packet), emit(&hosts.segment(0)));
    }
    assert!(outbox.packets.is_empty());
    assert_eq!(Notifier::simple(hosts.node).needs(), LinkSenses::FRAME_FATE | LinkSenses::RETRIES);
}

/// Section 5.5.4: the scheme is symmetric. Here the notifier is at the sending host.
#[test]
fn the_sending_wireless_host_notifies_its_own_tcp() {
    for hosts in both_versions() {
        let outbox = outcome(Notifier::refined(hosts.server), &hosts.segment(2), Fate::GivenUp);
        let (packet, _) = message(&outbox);
        assert_eq!((packet.ip().source, packet.ip().destination), (hosts.server, hosts.server));
        let mut bench = Bench::new(hosts, Some(Box::new(RefinedSender::default())));
        assert_eq!(bench.at(100).icmp(&packet), [2]);
    }
}

#[test]
fn a_node_without_an_address_of_the_ip_version_uses_the_destinations() {
    let [v4, v6] = both_versions();
    for (hosts, node) in [(v4, v6.node), (v6, v4.node)] {
        let outbox = outcome(Notifier::simple(node), &hosts.segment(0), Fate::FirstTransmissionFailed);
        assert_eq!(message(&outbox).0.ip().source, hosts.mobile);
    }
}
