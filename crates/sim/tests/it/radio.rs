//! The thesis's wireless link: turns, link layer, channel.

use std::sync::Arc;
use std::time::Duration;

use lasthop_sim::wireless::parse_state_trace;
use lasthop_sim::{
    Arq, ChannelConfig, Direction, Feedback, LinkLayer, NodeKind, QueueLimit, StateSource, WirelessConfig,
    World,
};

use crate::support::{arrived, direction, ms, node, packet, percent, wired, wireless};

pub const STOP_AND_WAIT: LinkLayer = LinkLayer {
    feedback: Feedback::Acknowledged {
        timeout: Duration::from_millis(3),
        ack_octets: 14,
        arq: Arq::StopAndWait,
    },
    retransmission_attempts: 8,
};

#[test]
fn a_host_in_a_bad_state_does_not_starve_the_others() {
    let mut world = World::new(1);
    let server = node(&mut world, "server", NodeKind::External);
    let base = node(&mut world, "base", NodeKind::Router);
    let hosts = ["bad", "good", "fair"].map(|name| node(&mut world, name, NodeKind::External));
    world.add_wired_link(server, base, &wired("wire", &direction(100_000), 1));
    let medium = world.add_medium();
    for (host, name) in hosts.into_iter().zip(["bad", "good", "fair"]) {
        let mut config =
            WirelessConfig { medium: Some(medium), ..wireless(name, &direction(8000), STOP_AND_WAIT) };
        if name == "bad" {
            let trace = parse_state_trace("0 0\n").expect("a good trace");
            config.channel = ChannelConfig {
                source: StateSource::Trace(Arc::new(trace)),
                ..ChannelConfig::bursty(Duration::from_secs(1), Duration::from_secs(1))
            };
        }
        world.add_wireless_link(base, host, &config);
    }
    for number in 0..200 {
        for host in hosts {
            world.inject(server, packet(&world, server, host, number));
        }
    }
    // A round: a failed attempt (1 ms and a time-out of 3 ms), and two exchanges of 3.014 ms each.
    world.advance_to(ms(20 + 200 * 4 + 400 * 3 + 400 / 50));
    let [bad, good, fair] = hosts.map(|host| arrived(&mut world, host).len());
    assert_eq!((bad, good), (0, 200));
    assert!(fair >= 199, "{fair}");
    let given_up = world.counters().frames_given_up;
    assert!((21..=24).contains(&given_up), "a ninth of the rounds: {given_up}");
}

#[test]
fn a_frame_whose_acknowledgment_is_lost_arrives_once() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let mut config = wireless("air", &direction(1000), STOP_AND_WAIT);
    config.channel.good.loss = percent(30.0);
    world.add_wireless_link(ends[0], ends[1], &config);
    for number in 0..500 {
        world.inject(ends[0], packet(&world, ends[0], ends[1], number));
    }
    let mut seen = Vec::new();
    for step in 0..50_000 {
        world.advance_to(lasthop_packet::Instant::from_nanos(step * 370_000));
        assert!(world.accounts().balance(), "{:?}", world.accounts());
        seen.extend(arrived(&mut world, ends[1]));
    }
    assert!(world.counters().link_acks_lost > 100 && world.counters().duplicate_frames > 100);
    assert!(seen.is_sorted_by(|a, b| a < b), "in order, and each once");
    assert!(seen.len() >= 490, "{}", seen.len());
}

#[test]
fn a_failed_transmission_takes_time_even_by_a_coarse_clock() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let layer = LinkLayer { feedback: Feedback::Immediate, retransmission_attempts: 8 };
    let mut config = wireless("air", &direction(80_000), layer);
    config.clock = Duration::from_millis(1);
    config.forward.loss = percent(100.0).into();
    world.add_wireless_link(ends[0], ends[1], &config);
    world.inject(ends[0], packet(&world, ends[0], ends[1], 1));
    // 100 us each. In no time at all, whoever tries again at once would try for ever.
    world.advance_to(lasthop_packet::Instant::from_nanos(899_999));
    assert_eq!((world.counters().frames_sent, world.counters().frames_given_up), (9, 0));
    world.advance_to(ms(1));
    assert_eq!((world.counters().frames_sent, world.counters().frames_given_up), (9, 1));
}

#[test]
fn a_queue_behind_a_bad_channel_fills_and_drains() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let direction = Direction { queue: QueueLimit::Packets(3).into(), ..direction(8000) };
    let mut config = wireless("air", &direction, STOP_AND_WAIT);
    let trace = parse_state_trace("0 0\n20 1\n").expect("a good trace");
    config.channel = ChannelConfig {
        source: StateSource::Trace(Arc::new(trace)),
        ..ChannelConfig::bursty(Duration::from_secs(1), Duration::from_secs(1))
    };
    world.add_wireless_link(ends[0], ends[1], &config);
    for number in 0..10 {
        world.inject(ends[0], packet(&world, ends[0], ends[1], number));
        world.advance_to(ms(u64::from(number)));
    }
    world.advance_to(ms(100));
    assert_eq!(arrived(&mut world, ends[1]), [0, 1, 2, 3], "one in the air and three that wait");
}
