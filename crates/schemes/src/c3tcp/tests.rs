//! Tests of the rules.

use std::net::IpAddr;

use lasthop_agent::path::micros;
use lasthop_agent::{Agent, Context, FrameTimes, LinkEvent, LinkSenses, Outbox, Report, Side, Verdict};
use lasthop_packet::{Instant, Ip, LinkOptions, Packet, Payload, Rng, Seq, Tcp, TcpFlags};

mod errors;
mod transfer;

use super::options::{Backward, Carried, Forward, Malformed, after_hop};
use super::*;
use crate::edits::But as _;
use lasthop_config::preset::Presets as _;

const N1: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const N2: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const N4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 4));
const MSS: u32 = 1000;

fn us(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A frame that arrived at 1 ms, left the queue at 4 ms, began at 6 ms, and took a millisecond with
/// its complete exchange.
const TIMES: FrameTimes = FrameTimes {
    queued: Instant::from_millis(1),
    departed: Instant::from_millis(4),
    began: Instant::from_millis(6),
    over: Instant::from_millis(7),
};

/// A station with its agent.
struct Station {
    agent: C3tcp,
    rng: Rng,
    reports: Vec<Report>,
    now: Instant,
}

impl Station {
    fn new(host: IpAddr, settings: Settings) -> Self {
        Self { agent: C3tcp::new(settings, host), rng: Rng::named(1, "c3tcp"), reports: vec![], now: us(0) }
    }

    fn call(&mut self, call: impl FnOnce(&mut C3tcp, &mut Context<'_>)) -> Option<LinkOptions> {
        let mut outbox = Outbox::default();
        call(&mut self.agent, &mut Context::new(self.now, &mut self.rng, &mut outbox));
        self.reports.append(&mut outbox.reports);
        assert!(outbox.packets.is_empty(), "it sends nothing");
        outbox.attached
    }

    /// Passes a packet to the agent, which then has the attached options.
    fn see(&mut self, packet: &mut Packet, from: Side) {
        let attached = self.call(|agent, cx| {
            assert_eq!(agent.on_packet(packet, from, cx), Verdict::Forward);
        });
        if attached.is_some() {
            packet.set_link_options(attached);
        }
    }

    /// Sends a packet over its hop, like a cell.
    fn transmit(&mut self, packet: &mut Packet, times: &FrameTimes) {
        let attached = self.call(|agent, cx| agent.on_link(&LinkEvent::Departure { packet }, cx));
        packet.set_link_options(attached.filter(|options| !options.is_empty()));
        let times = *times;
        let replaced = self.call(|agent, cx| agent.on_link(&LinkEvent::Transmission { packet, times }, cx));
        if let (Some(sent), Some(options)) = (packet.link_options(), replaced) {
            assert_eq!(sent.air_octets(), options.air_octets(), "the length was on the air");
            packet.set_link_options(replaced);
        }
    }
}

fn syn([from, to]: [IpAddr; 2], flags: TcpFlags, scale: Option<u8>) -> Packet {
    let mut packet = segment([from, to], 0, 0, 0);
    let tcp = packet.tcp_mut().expect("a segment");
    tcp.flags = flags;
    tcp.ack = Seq(u32::from(flags.has(TcpFlags::ACK)));
    tcp.options.window_scale = scale;
    packet
}

fn segment([from, to]: [IpAddr; 2], seq: u32, octets: u32, ack: u32) -> Packet {
    let (source_port, destination_port) = if from < to { (1, 2) } else { (2, 1) };
    let flags = TcpFlags::ACK;
    let tcp = Tcp {
        source_port,
        destination_port,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 60_000,
        ..Tcp::default()
    };
    let payload =
        if octets == 0 { Payload::EMPTY } else { Payload::Stream { stream: 1, offset: 0, len: octets } };
    Packet::tcp_segment(Ip::new(from, to), tcp, payload)
}

fn window(packet: &Packet) -> u16 {
    packet.tcp().expect("a segment").window
}

/// Two ends after a handshake with these window scales.
fn ends(settings: &Settings, scales: [Option<u8>; 2]) -> [Station; 2] {
    let [mut n1, mut n4] = [N1, N4].map(|host| Station::new(host, settings.clone()));
    let mut first = syn([N1, N4], TcpFlags::SYN, scales[0]);
    n1.see(&mut first, Side::Core);
    n4.see(&mut first, Side::Radio);
    let mut answer = syn([N4, N1], TcpFlags::SYN.with(TcpFlags::ACK), scales[1]);
    n4.see(&mut answer, Side::Core);
    n1.see(&mut answer, Side::Radio);
    [n1, n4]
}

/// A segment from the radio with these options.
fn with(packet: Packet, options: Option<LinkOptions>) -> Packet {
    let mut packet = packet;
    packet.set_link_options(Some(options.expect("they fit")));
    packet
}

fn unsmoothed() -> Settings {
    Settings::published()
}

#[test]
fn as_published_the_window_is_that_of_the_last_measurement() {
    for (text, expected) in [
        ("preset = 'published'", [10_000, 20_000]),
        // One eighth of the new bandwidth and delay.
        ("", [10_000, 11_250]),
        ("preset = 'published'\nsmoothing = 2", [10_000, 15_000]),
    ] {
        let settings = Settings::read(toml::from_str(text).expect("well formed")).expect("it reads");
        let [mut n1, _] = ends(&settings, [None; 2]);
        n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
        let windows = [100_000, 200_000].map(|bandwidth| {
            let echo = Forward { bandwidth, delay: 60_000 };
            let backward = Backward { echo, delay: 40_000 }.add_to(LinkOptions::NONE);
            let mut ack = with(segment([N4, N1], 1, 0, 1 + MSS), backward);
            n1.see(&mut ack, Side::Radio);
            window(&ack)
        });
        assert_eq!(windows, expected, "{text}");
    }
}

#[test]
fn bandwidth_is_data_over_the_time_from_arrival_in_the_queue() {
    // 1000 octets in 5 ms and 1 ms.
    assert_eq!(Forward::from_frame(1000, &TIMES).bandwidth, 166_666);
    assert_eq!(Forward::from_frame(0, &TIMES).bandwidth, u32::MAX, "no data measures none");
}

#[test]
fn the_forward_delay_excludes_the_queue_and_the_backward_delay_does_not() {
    assert_eq!(Forward::from_frame(1000, &TIMES).delay, 3000);
    assert_eq!(micros(TIMES.since_queued()), 6000);
}

#[test]
fn a_path_has_the_least_bandwidth_and_the_sum_of_the_delays() {
    let hops = [(500, 10), (300, 20), (400, 30)].map(|(bandwidth, delay)| Forward { bandwidth, delay });
    let path = hops.into_iter().fold(Forward::NO_HOPS, Forward::over);
    assert_eq!(path, Forward { bandwidth: 300, delay: 60 });
    assert_eq!(path.over(Forward { bandwidth: 1, delay: u32::MAX }).delay, u32::MAX, "it stops there");
}

#[test]
fn over_three_hops_the_ack_carries_both_directions_measurements() {
    let [mut n1, mut n4] = ends(&unsmoothed(), [None; 2]);
    let mut relays = [N2, IpAddr::from([10, 0, 0, 3])].map(|host| Station::new(host, unsmoothed()));
    let mut data = segment([N1, N4], 1, MSS, 1);
    n1.see(&mut data, Side::Core);
    n1.transmit(&mut data, &TIMES);
    for relay in &mut relays {
        relay.see(&mut data, Side::Radio);
        relay.see(&mut data, Side::Core);
        relay.transmit(&mut data, &TIMES);
    }
    let found = Forward { bandwidth: 166_666, delay: 9000 };
    assert_eq!(data.link_options().map(Forward::from_options), Some(Ok(Some(found))));
    n4.see(&mut data, Side::Radio);
    let mut ack = segment([N4, N1], 1, 0, 1 + MSS);
    n4.see(&mut ack, Side::Core);
    n4.transmit(&mut ack, &TIMES);
    for relay in relays.iter_mut().rev() {
        relay.see(&mut ack, Side::Radio);
        relay.see(&mut ack, Side::Core);
        relay.transmit(&mut ack, &TIMES);
    }
    let backward = Backward { echo: found, delay: 18_000 };
    assert_eq!(ack.link_options().map(Backward::from_options), Some(Ok(Some(backward))));
    n1.see(&mut ack, Side::Radio);
    // 166,666 octets per second for 27 ms.
    assert_eq!(window(&ack), 4499);
}

#[test]
fn an_ack_echoes_the_last_packet_that_it_acknowledges() {
    let [_, mut n4] = ends(&Settings::default(), [None; 2]);
    let mut echo = |data: Option<(u32, u32)>, ack: u32| {
        if let Some((seq, bandwidth)) = data {
            let found = Forward { bandwidth, delay: 1 };
            let data = segment([N1, N4], seq, MSS, 1);
            n4.see(&mut with(data, found.add_to(LinkOptions::NONE)), Side::Radio);
        }
        let mut ack = segment([N4, N1], 1, 0, ack);
        n4.see(&mut ack, Side::Core);
        let backward = ack.link_options().and_then(|options| Backward::from_options(options).expect("ours"));
        backward.map(|backward| backward.echo.bandwidth)
    };
    assert_eq!(echo(None, 1), None, "nothing was measured");
    assert_eq!(echo(Some((1, 100)), 1001), Some(100));
    assert_eq!(echo(Some((2001, 300)), 1001), Some(100), "beyond a hole: not acknowledged");
    assert_eq!(echo(None, 3001), Some(300));
    assert_eq!(echo(None, 3001), Some(300), "a duplicate says the same again");
}

#[test]
fn an_ack_of_data_that_came_without_options_echoes_none() {
    let [_, mut n4] = ends(&Settings::default(), [None; 2]);
    let mut echo = |seq: u32, options: Option<LinkOptions>| {
        let mut data = segment([N1, N4], seq, MSS, 1);
        data.set_link_options(options);
        n4.see(&mut data, Side::Radio);
        let mut ack = segment([N4, N1], 1, 0, seq + MSS);
        n4.see(&mut ack, Side::Core);
        ack.link_options().is_some()
    };
    let found = || Forward { bandwidth: 100, delay: 1 }.add_to(LinkOptions::NONE);
    assert!(echo(1, found()));
    assert!(!echo(1001, None), "a hop on the way has fallen back to standard frames");
    assert!(echo(2001, found()));
}

#[test]
fn connections_with_a_wired_part_are_left_alone() {
    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    let mut access_point = Station::new(N2, unsmoothed());
    let backward = Backward { echo: Forward { bandwidth: 1, delay: 1 }, delay: 0 };
    for seen in [
        (syn([SERVER, N1], TcpFlags::SYN, None), Side::Core),
        (syn([N1, SERVER], TcpFlags::SYN.with(TcpFlags::ACK), None), Side::Radio),
        (segment([SERVER, N1], 1, MSS, 1), Side::Core),
        (with(segment([N1, SERVER], 1, 0, 1001), backward.add_to(LinkOptions::NONE)), Side::Radio),
        (segment([SERVER, N1], 1, 0, 1), Side::Core),
    ] {
        let (mut packet, from) = seen;
        let before = packet.clone();
        access_point.see(&mut packet, from);
        assert_eq!((&packet.tcp(), &packet.link_options()), (&before.tcp(), &before.link_options()));
    }
}

#[test]
fn the_window_is_between_two_segments_and_the_receivers() {
    let backward = |bandwidth, delay| Backward { echo: Forward { bandwidth, delay }, delay: 0 };
    for (backward, expected) in
        [(backward(u32::MAX, u32::MAX), 60_000), (backward(1, 1), 2000), (backward(1_000_000, 5000), 5000)]
    {
        let [mut n1, _] = ends(&unsmoothed(), [None; 2]);
        n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
        let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE));
        n1.see(&mut ack, Side::Radio);
        assert_eq!(window(&ack), expected);
    }
}

#[test]
fn windows_are_scaled_as_negotiated() {
    let backward = Backward { echo: Forward { bandwidth: 1_000_000, delay: 5001 }, delay: 0 };
    for (scales, expected) in [([Some(2), Some(7)], 40), ([None, Some(7)], 5001), ([Some(2), None], 5001)] {
        let [mut n1, _] = ends(&unsmoothed(), scales);
        n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
        let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE));
        n1.see(&mut ack, Side::Radio);
        assert_eq!(window(&ack), expected, "{scales:?}");
    }
}

#[test]
fn a_connection_whose_handshake_was_not_seen_is_left_alone() {
    let mut n1 = Station::new(N1, unsmoothed());
    n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
    let backward = Backward { echo: Forward { bandwidth: 1, delay: 1 }, delay: 0 };
    let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE));
    n1.see(&mut ack, Side::Radio);
    assert_eq!(window(&ack), 60_000);
}

#[test]
fn an_ack_without_options_has_the_last_window_for_a_while() {
    let [mut n1, _] = ends(&unsmoothed(), [None; 2]);
    n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
    let backward = Backward { echo: Forward { bandwidth: 1_000_000, delay: 5000 }, delay: 0 };
    n1.see(&mut with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE)), Side::Radio);
    for (at, expected) in [(2_999_000, 5000), (3_001_000, 60_000)] {
        n1.now = us(at);
        let mut ack = segment([N4, N1], 1, 0, 1001);
        n1.see(&mut ack, Side::Radio);
        assert_eq!(window(&ack), expected);
    }
}

#[test]
fn an_ack_with_a_signature_keeps_its_window() {
    let [mut n1, _] = ends(&unsmoothed(), [None; 2]);
    n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
    let backward = Backward { echo: Forward { bandwidth: 1_000_000, delay: 5000 }, delay: 0 };
    let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE)).unknown_option();
    n1.see(&mut ack, Side::Radio);
    assert_eq!(window(&ack), 60_000);
}

#[test]
fn a_new_measurement_has_a_weight_of_one_eighth() {
    let [mut n1, _] = ends(&Settings::default(), [None; 2]);
    n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
    for (bandwidth, expected) in [(1_000_000, 8000), (2_000_000, 9000)] {
        let backward = Backward { echo: Forward { bandwidth, delay: 4000 }, delay: 4000 };
        let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE));
        n1.see(&mut ack, Side::Radio);
        assert_eq!(window(&ack), expected);
    }
}

#[test]
fn an_expired_measurement_does_not_affect_a_new_one() {
    let [mut n1, _] = ends(&Settings::default(), [None; 2]);
    n1.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
    for (at, bandwidth, expected) in [(0, 5_000_000, 40_000), (3_600_000_000, 500_000, 4000)] {
        n1.now = us(at);
        let backward = Backward { echo: Forward { bandwidth, delay: 4000 }, delay: 4000 };
        let mut ack = with(segment([N4, N1], 1, 0, 1001), backward.add_to(LinkOptions::NONE));
        n1.see(&mut ack, Side::Radio);
        assert_eq!(window(&ack), expected, "at {at} us");
    }
}

#[test]
fn a_late_copy_of_the_syn_changes_nothing() {
    let backward = || Backward { echo: Forward { bandwidth: 1_000_000, delay: 5000 }, delay: 0 };
    // At the end that it arrives at, and at the one that sent it: a host repeats its SYN.
    for (host, from) in [(N1, Side::Core), (N4, Side::Radio)] {
        let [n1, n4] = ends(&unsmoothed(), [Some(2), Some(1)]);
        let (mut here, other) = if host == N1 { (n1, N4) } else { (n4, N1) };
        here.see(&mut segment([host, other], 1, MSS, 1), Side::Core);
        let ack = || with(segment([other, host], 1, 0, 1001), backward().add_to(LinkOptions::NONE));
        let mut before = ack();
        here.see(&mut before, Side::Radio);
        here.see(&mut syn([N1, N4], TcpFlags::SYN, Some(2)), from);
        let mut after = ack();
        here.see(&mut after, Side::Radio);
        assert!(window(&before) < 60_000);
        assert_eq!(window(&after), window(&before), "at {host}");
    }
}

#[test]
fn a_stray_or_late_syn_ack_changes_nothing() {
    let backward = || Backward { echo: Forward { bandwidth: 1_000_000, delay: 5000 }, delay: 0 };
    for is_right in [false, true] {
        let [mut here, _] = ends(&unsmoothed(), [Some(2), Some(1)]);
        here.see(&mut segment([N1, N4], 1, MSS, 1), Side::Core);
        let ack = || with(segment([N4, N1], 1, 0, 1001), backward().add_to(LinkOptions::NONE));
        let mut before = ack();
        here.see(&mut before, Side::Radio);
        let mut forged = syn([N4, N1], TcpFlags::SYN.with(TcpFlags::ACK), Some(9));
        if let Some(tcp) = forged.tcp_mut().filter(|_| !is_right) {
            tcp.ack = Seq(tcp.ack.0.wrapping_sub(300));
        }
        here.see(&mut forged, Side::Radio);
        let mut after = ack();
        here.see(&mut after, Side::Radio);
        assert!(window(&before) < 60_000);
        assert_eq!(window(&after), window(&before));
    }
}

#[test]
fn a_packet_without_options_continues_without() {
    let mut n2 = Station::new(N2, Settings::default());
    let mut data = segment([N1, N4], 1, MSS, 1);
    n2.see(&mut data, Side::Radio);
    n2.see(&mut data, Side::Core);
    n2.transmit(&mut data, &TIMES);
    assert_eq!(data.link_options(), None, "the rest of a path is not all of it");
}

#[test]
fn malformed_forged_or_other_version_options_are_ignored_and_counted() {
    let forward = |data: &[u8]| LinkOptions::NONE.with(1, data);
    let wrong = [
        forward(&[]),
        forward(&[1, 0, 0, 0, 9, 0, 0, 0]),
        forward(&[2, 0, 0, 0, 9, 0, 0, 0, 9]),
        forward(&[1, 0, 0, 0, 0, 0, 0, 0, 9]),
        forward(&[1, 0, 0, 0, 9, 0, 0, 0, 9, 0]),
        LinkOptions::NONE.with(2, &[1; 12]),
    ];
    for options in wrong {
        let options = options.expect("they fit");
        assert_eq!(after_hop(&options, Forward::NO_HOPS, 0), Err(Malformed), "{options:?}");
        let [_, mut n4] = ends(&Settings::default(), [None; 2]);
        let mut data = with(segment([N1, N4], 1, MSS, 1), Some(options));
        n4.see(&mut data, Side::Radio);
        assert_eq!((n4.reports.len(), n4.reports[0].counter), (1, &MALFORMED_OPTIONS));
        let mut ack = segment([N4, N1], 1, 0, 1001);
        n4.see(&mut ack, Side::Core);
        assert_eq!(ack.link_options(), None);
    }
}

#[test]
fn an_option_of_another_type_passes_unchanged() {
    let options = LinkOptions::NONE.with(99, &[5, 6]).ok().and_then(|it| Forward::NO_HOPS.add_to(it));
    let updated =
        after_hop(&options.expect("they fit"), Forward::from_frame(1000, &TIMES), 1).expect("well-formed");
    assert_eq!((updated.find(99), updated.air_octets()), (Some(&[5, 6][..]), 16));
}

#[test]
fn it_needs_information_that_only_a_simulated_cell_has() {
    let needs = C3tcp::new(Settings::default(), N1).needs();
    assert_eq!(needs, LinkSenses::DEPARTURES | LinkSenses::TRANSMISSIONS | LinkSenses::LINK_OPTIONS);
    let missing = needs.missing_from(LinkSenses::FRAME_FATE).expect("a real wire has none");
    assert!(missing.contains("no encoding on a real wire"), "{missing}");
}
