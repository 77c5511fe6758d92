//! Tests of the rules: the sender's through a real TCP connection, the base station's with
//! hand-made packets.

use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::counter::{AT_BOUND, CONTROL_MESSAGES};
use lasthop_agent::{Agent, Budget, Context, LinkEvent, LinkSenses, Outbox, Side, Verdict};
use lasthop_hop::control_message::ControlMessage;
use lasthop_packet::{Instant, Ip, Packet, Payload, Quotation, Rng, Seq, Tcp, TcpFlags};
use lasthop_tcp::{Config, Connection};

use super::*;

const MSS: u32 = 1000;
const FIRST: Seq = Seq(u32::MAX - 3499);

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Server, mobile host and base station, in both versions of IP.
fn both_versions() -> [[IpAddr; 3]; 2] {
    [["192.0.2.1", "10.0.0.2", "10.0.0.1"], ["2001:db8::1", "2001:db8:1::2", "2001:db8:1::1"]]
        .map(|hosts| hosts.map(address))
}

fn segment_to([server, mobile, _]: [IpAddr; 3], port: u16, seq: Seq, octets: u32) -> Packet {
    let tcp = Tcp { source_port: 80, destination_port: port, seq, flags: TcpFlags::ACK, ..Tcp::default() };
    let payload =
        if octets == 0 { Payload::EMPTY } else { Payload::Stream { stream: 1, offset: 0, len: octets } };
    Packet::tcp_segment(Ip::new(server, mobile), tcp, payload)
}

fn segment(hosts: [IpAddr; 3], index: u32) -> Packet {
    segment_to(hosts, 5000, FIRST + index * MSS, MSS)
}

/// The base station.
struct Station {
    agent: BadStateNotifier,
    rng: Rng,
}

impl Station {
    fn new(settings: Settings, hosts: [IpAddr; 3]) -> Self {
        Self { agent: BadStateNotifier::new(settings, hosts[2]), rng: Rng::named(1, "ebsn") }
    }

    /// The output of one attempt, at a time in ms.
    fn attempt(&mut self, millis: u64, packet: &Packet, is_confirmed: bool) -> Outbox {
        self.attempt_within(Budget::default(), millis, packet, is_confirmed)
    }

    fn attempt_within(&mut self, budget: Budget, millis: u64, packet: &Packet, is_confirmed: bool) -> Outbox {
        let (mut outbox, now) = (Outbox::default(), Instant::from_millis(millis));
        let event = LinkEvent::Attempt { packet, transmission: 1, began: now, is_confirmed };
        self.agent.on_link(&event, &mut Context::new(now, &mut self.rng, &mut outbox).within(budget));
        outbox
    }

    fn notifies(&mut self, millis: u64, packet: &Packet) -> bool {
        !self.attempt(millis, packet, false).packets.is_empty()
    }
}

#[test]
fn each_failed_attempt_is_reported_without_an_interval() {
    for hosts in both_versions() {
        let mut station =
            Station::new(Settings { least_interval: Duration::ZERO, ..Settings::default() }, hosts);
        for attempt in 0..3 {
            let outbox = station.attempt(attempt, &segment(hosts, 2), false);
            let [(Side::Core, message)] = &outbox.packets[..] else { panic!("one, to the core: {outbox:?}") };
            assert_eq!((message.ip().source, message.ip().destination), (hosts[2], hosts[0]));
            let flow = segment(hosts, 2).flow_key().expect("it is TCP");
            assert_eq!(
                Quotation::from_message(message),
                Some(Quotation { flow, seq: FIRST + 2 * MSS, len: segment(hosts, 2).len() as u32 })
            );
            assert_eq!((outbox.reports[0].counter, outbox.reports[0].detail), (&CONTROL_MESSAGES, "EBSN"));
        }
        assert!(station.attempt(9, &segment(hosts, 2), true).packets.is_empty(), "what arrived is no news");
    }
}

#[test]
fn each_connection_is_notified_once_per_interval() {
    let hosts = both_versions()[0];
    let mut station = Station::new(Settings::default(), hosts);
    let other = segment_to(hosts, 5001, FIRST, MSS);
    assert!(station.notifies(0, &segment(hosts, 0)) && station.notifies(10, &other));
    let notified: Vec<bool> = [49, 50, 99, 100].map(|at| station.notifies(at, &segment(hosts, 1))).to_vec();
    assert_eq!(notified, [false, true, false, true]);
    assert!(station.notifies(60, &other));
}

#[test]
fn a_full_table_evicts_expired_entries_and_notifies_no_others() {
    let hosts = both_versions()[0];
    let mut station = Station::new(Settings::default(), hosts);
    let budget = Budget { flows: 2, ..Budget::default() };
    let to = |port| segment_to(hosts, port, FIRST, MSS);
    for port in [1, 2] {
        assert_eq!(station.attempt_within(budget, 0, &to(port), false).packets.len(), 1);
    }
    let full = station.attempt_within(budget, 20, &to(3), false);
    assert!(full.packets.is_empty() && full.reports[0].counter == &AT_BOUND);
    assert_eq!(station.attempt_within(budget, 1100, &to(3), false).packets.len(), 1);
}

#[test]
fn frames_without_tcp_data_are_not_reported_and_every_packet_passes() {
    let hosts = both_versions()[0];
    let mut station = Station::new(Settings::default(), hosts);
    let ack = segment_to(hosts, 5000, FIRST, 0);
    let message = ControlMessage::BadState.about(&segment(hosts, 0), hosts[2]).expect("a TCP segment");
    for packet in [ack, message] {
        assert!(!station.notifies(0, &packet));
    }
    let (mut rng, mut outbox) = (Rng::named(1, "ebsn"), Outbox::default());
    let mut cx = Context::new(Instant::ZERO, &mut rng, &mut outbox);
    assert_eq!(station.agent.on_packet(&mut segment(hosts, 0), Side::Core, &mut cx), Verdict::Forward);
    assert_eq!(station.agent.needs(), LinkSenses::ATTEMPTS);
}

/// A sender with eight segments in flight since time 0, and its timer due at 1 s.
struct Sender(Connection);

impl Sender {
    fn new([server, mobile, _]: [IpAddr; 3]) -> Self {
        let config = Config { mss: MSS, window: 60_000, initial_window: 8, ..Config::default() };
        let before = Seq(FIRST.0.wrapping_sub(1));
        let tcp =
            Connection::established(config.clone(), &config, (server, 80), (mobile, 5000), before, Seq(77));
        let extension = EbsnSender::new(Settings::default().longest_deferral);
        let mut tcp = tcp.with_sender_extension(Some(Box::new(extension)));
        tcp.write_stream(1, 0, 1 << 30);
        while tcp.poll_transmit(Instant::ZERO).is_some() {}
        let sender = Self(tcp);
        assert_eq!(sender.timer(), 1000);
        sender
    }

    fn timer(&self) -> u64 {
        self.0.deadline().expect("something is outstanding").at.as_millis()
    }

    fn on_message(&mut self, millis: u64, message: &Packet) -> u64 {
        self.0.on_icmp(message, Instant::from_millis(millis));
        assert!(self.0.poll_transmit(Instant::from_millis(millis)).is_none(), "it sends nothing");
        self.timer()
    }
}

#[test]
fn the_timer_restarts_with_its_value_and_nothing_else_changes() {
    for hosts in both_versions() {
        let mut sender = Sender::new(hosts);
        let (cwnd, ssthresh) = (sender.0.flight().cwnd, sender.0.flight().ssthresh);
        for (at, index) in [(300, 0), (900, 3), (1800, 7)] {
            let message =
                ControlMessage::BadState.about(&segment(hosts, index), hosts[2]).expect("a TCP segment");
            assert_eq!(sender.on_message(at, &message), at + 1000);
        }
        assert_eq!((sender.0.flight().cwnd, sender.0.flight().ssthresh), (cwnd, ssthresh));
        sender.0.on_deadline(Instant::from_millis(2800));
        assert!(sender.0.flight().cwnd < cwnd, "without another message, the loss is congestion");
    }
}

#[test]
fn a_message_about_other_data_or_of_another_scheme_is_ignored() {
    let hosts = both_versions()[0];
    let about = |message: ControlMessage, seq| {
        message.about(&segment_to(hosts, 5000, seq, MSS), hosts[2]).expect("a TCP segment")
    };
    let before = Seq(FIRST.0.wrapping_sub(MSS));
    for message in [
        about(ControlMessage::BadState, FIRST + 8 * MSS),
        about(ControlMessage::BadState, before),
        about(ControlMessage::Defer, FIRST),
        about(ControlMessage::Retransmit, FIRST),
        ControlMessage::BadState
            .about(&segment_to(hosts, 5001, FIRST, MSS), hosts[2])
            .expect("a TCP segment"),
    ] {
        assert_eq!(Sender::new(hosts).on_message(300, &message), 1000);
    }
}

#[test]
fn messages_defer_the_timer_for_a_bounded_time_without_progress() {
    let hosts = both_versions()[0];
    let mut sender = Sender::new(hosts);
    let message = ControlMessage::BadState.about(&segment(hosts, 0), hosts[2]).expect("a TCP segment");
    for at in (500..=100_500).step_by(500) {
        assert_eq!(sender.on_message(at, &message), at + 1000);
    }
    assert_eq!(sender.on_message(101_000, &message), 101_500, "100 s after the first message");
}
