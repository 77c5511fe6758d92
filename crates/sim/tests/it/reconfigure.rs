//! Links that change while packets are on them, and delays that vary.

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant};
use lasthop_sim::queue::CoDelConfig;
use lasthop_sim::world::{Change, ChangeError, LinkDirection, PlannedChange, PlannedInterval};
use lasthop_sim::{
    Capacity, ChannelConfig, Delay, Discipline, Distribution, LinkId, LinkLayer, NodeId, NodeKind,
    QueueConfig, QueueLimit, WiredConfig, WirelessConfig, World,
};

use crate::radio::STOP_AND_WAIT;
use crate::support::{arrived, direction, hash, ms, node, number, packet, percent, wired, wireless};

const TEN: Duration = Duration::from_millis(10);
/// When half of the third of some packets of a millisecond has been transmitted.
const HALF_OF_THE_THIRD: Instant = Instant::from_nanos(2_500_000);
const KINDS: [Option<LinkLayer>; 3] = [None, Some(LinkLayer::UNRELIABLE), Some(STOP_AND_WAIT)];

/// Two external nodes and a link of 8 Mbit/s, a packet a millisecond.
fn pair(link_layer: Option<LinkLayer>, delay: impl Into<Delay>) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(3);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let fast = direction(8000).delayed(delay);
    let link = match link_layer {
        None => {
            let (forward, backward) = (fast.clone(), fast.clone());
            let config = WiredConfig { forward, backward, ..wired("hop", &fast, 0) };
            world.add_wired_link(ends[0], ends[1], &config)
        }
        Some(layer) => {
            let (forward, backward) = (fast.clone(), fast.clone());
            let config = WirelessConfig { forward, backward, ..wireless("hop", &fast, layer) };
            world.add_wireless_link(ends[0], ends[1], &config)
        }
    };
    (world, ends, link)
}

/// As `pair`, wired, with a queue whose discipline never acts.
fn managed_pair(delay: impl Into<Delay>) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(3);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let patient = CoDelConfig { target: Duration::from_secs(1000), ..CoDelConfig::default() };
    let queue = QueueConfig { limit: QueueLimit::Unlimited, discipline: Discipline::CoDel(patient) };
    let fast = lasthop_sim::Direction { queue, ..direction(8000).delayed(delay) };
    let (forward, backward) = (fast.clone(), fast.clone());
    let config = WiredConfig { forward, backward, ..wired("hop", &fast, 0) };
    let link = world.add_wired_link(ends[0], ends[1], &config);
    (world, ends, link)
}

fn uniform(min_ms: u64, max_ms: u64) -> Distribution {
    let [min, max] = [min_ms, max_ms].map(Duration::from_millis);
    Distribution::Uniform { min, max }
}

fn rate(kbps: u64) -> Change {
    Change::Capacity(Capacity::Fixed(Bitrate::from_bps(kbps * 1000).expect("above zero")))
}

/// Milliseconds at which packets 0, 1, ... arrive; in order.
fn arrivals(world: &mut World, to: NodeId) -> Vec<u64> {
    world.advance_to(ms(100_000));
    let arrived = world.collect(to);
    for (index, (_, packet)) in arrived.iter().enumerate() {
        assert_eq!(number(packet), index as u32, "in order");
    }
    assert!(world.accounts().balance());
    arrived.iter().map(|(at, _)| at.as_millis()).collect()
}

/// On a wireless link, the frame on the air keeps the rate at which its transmission began.
#[test]
fn a_new_rate_is_for_what_waits_and_on_a_wire_for_the_rest_of_a_packet() {
    for (managed, layer, kbps, expected) in [
        (false, None, 800, [11, 12, 17, 27, 37]),
        (false, None, 80_000, [11, 12, 12, 12, 12]),
        (true, None, 800, [11, 12, 17, 27, 37]),
        (true, None, 80_000, [11, 12, 12, 12, 12]),
        (false, Some(LinkLayer::UNRELIABLE), 800, [11, 12, 13, 23, 33]),
        (false, Some(LinkLayer::UNRELIABLE), 80_000, [11, 12, 13, 13, 13]),
    ] {
        let (mut world, [from, to], link) = if managed { managed_pair(TEN) } else { pair(layer, TEN) };
        for number in 0..5 {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(HALF_OF_THE_THIRD);
        world.reconfigure_link(link, LinkDirection::Forward, &rate(kbps)).expect("it can");
        assert_eq!(arrivals(&mut world, to), expected, "{managed} {layer:?} {kbps}");
    }
}

/// Half of the packet has been transmitted, and the rest takes 5 ms.
#[test]
fn a_packet_in_transmission_keeps_its_delay_whatever_is_changed() {
    for managed in [false, true] {
        let (mut world, [from, to], link) = if managed { managed_pair(TEN) } else { pair(None, TEN) };
        world.inject(from, packet(&world, from, to, 0));
        world.advance_to(Instant::from_nanos(500_000));
        for change in [Change::Delay(Duration::from_millis(20).into()), rate(800)] {
            world.reconfigure_link(link, LinkDirection::Forward, &change).expect("it can");
        }
        assert_eq!(arrivals(&mut world, to), [15], "{managed}");
    }
}

#[test]
fn a_dip_ends_when_it_is_over() {
    for managed in [false, true] {
        let (mut world, [from, to], link) = if managed { managed_pair(TEN) } else { pair(None, TEN) };
        for number in 0..4 {
            world.inject(from, packet(&world, from, to, number));
        }
        for (at, kbps) in [(HALF_OF_THE_THIRD, 8), (ms(102), 1), (ms(202), 8000)] {
            world.advance_to(at);
            world.reconfigure_link(link, LinkDirection::Both, &rate(kbps)).expect("it can");
        }
        // A second of transmission at 8 kbit/s: a tenth of the third packet, and little at 1 kbit/s.
        assert_eq!(arrivals(&mut world, to), [11, 12, 212, 213], "{managed}");
    }
}

#[test]
fn a_link_that_is_stalled_holds_what_it_has_and_loses_nothing() {
    for (managed, layer) in
        [(false, None), (true, None), (false, Some(LinkLayer::UNRELIABLE)), (false, Some(STOP_AND_WAIT))]
    {
        let (mut world, [from, to], link) = if managed { managed_pair(TEN) } else { pair(layer, TEN) };
        for number in 0..2 {
            world.inject(from, packet(&world, from, to, number));
        }
        let stall = Change::Capacity(Capacity::Stalled);
        for outage in 0..3 {
            world.reconfigure_link(link, LinkDirection::Both, &stall).expect("it can");
            let before = world.now();
            if outage > 0 {
                world.inject(from, packet(&world, from, to, outage + 1));
            }
            world.advance_to(before + Duration::from_secs(5));
            let due = world.next_event_at();
            assert!(due.is_none_or(|at| at <= world.now()), "{managed} {layer:?} {due:?}");
            world.reconfigure_link(link, LinkDirection::Both, &rate(8000)).expect("it can");
            if outage == 1 {
                // The next outage begins within a transmission.
                world.advance_to(world.now() + Duration::from_micros(500));
            } else if outage == 0 {
                world.advance_to(world.now() + Duration::from_secs(1));
            }
        }
        let arrivals = arrivals(&mut world, to);
        assert_eq!(arrivals.len(), 4, "{managed} {layer:?}");
        if layer.is_none() {
            // The packet under way is frozen with half of it to come.
            assert_eq!(arrivals, [5_011, 5_012, 16_011, 16_012], "{managed}");
        }
    }
}

#[test]
fn a_link_may_begin_stalled() {
    for layer in KINDS {
        let mut world = World::new(3);
        let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
        let stalled = lasthop_sim::Direction { capacity: Capacity::Stalled, ..direction(8000) };
        let link = match layer {
            None => world.add_wired_link(ends[0], ends[1], &wired("hop", &stalled, 10)),
            Some(layer) => world.add_wireless_link(ends[0], ends[1], &wireless("hop", &stalled, layer)),
        };
        world.inject(ends[0], packet(&world, ends[0], ends[1], 0));
        world.advance_to(ms(1000));
        assert_eq!(world.collect(ends[1]).len(), 0, "{layer:?}");
        world.reconfigure_link(link, LinkDirection::Both, &rate(8000)).expect("it can");
        assert_eq!(arrivals(&mut world, ends[1]).len(), 1, "{layer:?}");
    }
}

#[test]
fn a_link_that_was_idle_or_whose_first_packet_moves_keeps_its_events() {
    let (mut world, [from, to], link) = pair(None, TEN);
    world.reconfigure_link(link, LinkDirection::Both, &rate(80)).expect("it can");
    world.inject(from, packet(&world, from, to, 0));
    world.advance_to(ms(1));
    world.inject(from, packet(&world, from, to, 1));
    world.advance_to(ms(111));
    world.reconfigure_link(link, LinkDirection::Both, &rate(8)).expect("it can");
    world.advance_to(ms(112));
    world.reconfigure_link(link, LinkDirection::Both, &rate(8000)).expect("it can");
    world.inject(from, packet(&world, from, to, 2));
    assert_eq!(arrivals(&mut world, to), [110, 122, 123], "the second was being transmitted");
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    for layer in KINDS {
        let (mut world, [from, to], link) = pair(layer, TEN);
        world.inject(from, packet(&world, from, to, 0));
        world.advance_to(ms(2));
        let short = Change::Delay(Duration::from_millis(1).into());
        world.reconfigure_link(link, LinkDirection::Both, &short).expect("it can");
        world.inject(from, packet(&world, from, to, 1));
        world.advance_to(ms(50));
        world.inject(from, packet(&world, from, to, 2));
        let arrivals = arrivals(&mut world, to);
        assert_eq!((arrivals[0], arrivals[2]), (11, 52), "{layer:?}");
        assert!(arrivals[1] >= 11, "{layer:?} {arrivals:?}");
    }
}

#[test]
fn a_stop_and_wait_sender_waits_as_much_longer_as_the_way_is() {
    let (mut world, [from, to], link) = pair(Some(STOP_AND_WAIT), TEN);
    let long = Change::Delay(Duration::from_secs(1).into());
    world.reconfigure_link(link, LinkDirection::Both, &long).expect("it can");
    for number in 0..3 {
        world.inject(from, packet(&world, from, to, number));
    }
    assert_eq!(arrivals(&mut world, to).len(), 3);
    assert_eq!((world.counters().frames_sent, world.counters().duplicate_frames), (3, 0));
}

#[test]
fn loss_queue_and_channel_change() {
    for layer in [None, Some(LinkLayer::UNRELIABLE)] {
        let (mut world, [from, to], link) = pair(layer, TEN);
        let burst = |world: &mut World, change: Change| {
            world.reconfigure_link(link, LinkDirection::Forward, &change).expect("it can");
            for number in 0..5 {
                world.inject(from, packet(world, from, to, number));
            }
            world.advance_to(world.now() + Duration::from_secs(1));
            arrived(world, to).len()
        };
        assert_eq!(burst(&mut world, Change::Queue(QueueLimit::Packets(1).into())), 2);
        assert_eq!(burst(&mut world, Change::Loss(percent(100.0).into())), 0);
        assert_eq!(burst(&mut world, Change::Loss(percent(0.0).into())), 2);
        if layer.is_some() {
            let bad = ChannelConfig::bursty(Duration::from_micros(10), Duration::from_secs(1_000_000));
            assert_eq!(burst(&mut world, Change::Channel(bad)), 0);
            assert_eq!(burst(&mut world, Change::Channel(ChannelConfig::PERFECT)), 2);
        }
    }
    let (mut world, _, link) = pair(None, TEN);
    let channel = Change::Channel(ChannelConfig::PERFECT);
    assert_eq!(world.reconfigure_link(link, LinkDirection::Both, &channel), Err(ChangeError::NoChannel));
    let (mut world, _, link) = pair(Some(STOP_AND_WAIT), TEN);
    let varied = Change::Delay(uniform(8, 10).into());
    assert_eq!(world.reconfigure_link(link, LinkDirection::Both, &varied), Err(ChangeError::Acknowledged));
}

#[test]
fn jitter_varies_the_delay_around_its_mean_and_keeps_the_order() {
    let normal = Distribution::Normal { mean: TEN, deviation: Duration::from_millis(4) };
    for layer in [None, Some(LinkLayer::UNRELIABLE)] {
        for (jitter, deviation) in [(uniform(6, 14), 4.0 / 3f64.sqrt()), (normal.clone(), 3.95)] {
            let (mut world, [from, to], _) = pair(layer, jitter.clone());
            let mut delays = Vec::new();
            for number in 0..4000 {
                // Far enough apart that none catches up with the one before it.
                world.advance_to(ms(u64::from(number) * 50));
                let start = world.now();
                world.inject(from, packet(&world, from, to, number));
                world.advance_to(start + Duration::from_millis(45));
                let at = world.collect(to)[0].0;
                delays.push(at.since(start).as_secs_f64() * 1e3 - 1.0);
            }
            let mean = delays.iter().sum::<f64>() / 4000.0;
            let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / 4000.0;
            assert!((mean - 10.0).abs() < 0.2, "{jitter:?} {mean}");
            assert!((variance.sqrt() - deviation).abs() < 0.2, "{jitter:?} {variance}");
        }
        let (mut world, [from, to], _) = pair(layer, uniform(6, 14));
        for number in 0..100 {
            world.inject(from, packet(&world, from, to, number));
        }
        assert_eq!(arrivals(&mut world, to).len(), 100);
    }
}

#[test]
fn jitter_changes_nothing_about_what_is_lost_and_a_changed_run_repeats() {
    let run = |delay: Delay| {
        let (mut world, [from, to], link) = pair(None, delay);
        let hash = hash(&mut world);
        world
            .reconfigure_link(link, LinkDirection::Both, &Change::Loss(percent(20.0).into()))
            .expect("it can");
        for number in 0..300 {
            world.inject(from, packet(&world, from, to, number));
            world.advance_to(world.now() + Duration::from_micros(700));
            if number == 150 {
                world.reconfigure_link(link, LinkDirection::Both, &rate(2000)).expect("it can");
            }
        }
        world.advance_to(ms(10_000));
        (arrived(&mut world, to), hash())
    };
    let still = run(TEN.into());
    let varied = run(uniform(5, 15).into());
    assert_eq!(still.0, varied.0);
    assert_ne!(still.1, varied.1);
    assert_eq!(varied, run(uniform(5, 15).into()));
}

#[test]
fn a_packet_goes_where_the_outside_says_whatever_its_address_is() {
    let mut world = World::new(1);
    let ends = ["a", "b", "c"].map(|name| node(&mut world, name, NodeKind::External));
    world.add_wired_link(ends[0], ends[1], &wired("first", &direction(8000), 1));
    world.add_wired_link(ends[1], ends[2], &wired("second", &direction(8000), 1));
    world.inject_to(ends[0], ends[2], packet(&world, ends[2], ends[0], 7));
    world.advance_to(ms(10));
    assert_eq!(arrived(&mut world, ends[2]), [7], "through a node that could have taken it");
    assert!(world.accounts().balance());
}

fn interval(
    link: LinkId,
    within: Change,
    outside: Change,
    [first, length, period]: [u64; 3],
) -> PlannedInterval {
    let period = (period > 0).then_some(Duration::from_millis(period));
    let length = Duration::from_millis(length);
    PlannedInterval { link, way: LinkDirection::Forward, within, outside, first: ms(first), length, period }
}

/// Numbers of packets, one sent each second, that arrive up to `end`.
fn each_second(world: &mut World, [from, to]: [NodeId; 2], end: u64) -> Vec<u32> {
    let first = world.now().as_millis() / 1000;
    for second in first..end {
        world.advance_to(ms(second * 1000));
        world.inject(from, packet(world, from, to, second as u32));
    }
    world.advance_to(ms(end * 1000));
    arrived(world, to)
}

fn loss(share: f64) -> Change {
    Change::Loss(percent(share).into())
}

#[test]
fn an_outage_repeats_for_as_long_as_the_run_lasts_at_the_cost_of_one_event_each() {
    let (mut world, ends, link) = pair(None, TEN);
    // Off at 2.5, 5.5, ... for a second: the packets 3, 6, ... are lost.
    let outage = interval(link, loss(100.0), loss(0.0), [2_500, 1_000, 3_000]);
    world.plan_intervals(vec![outage]).expect("it can");
    let arrived = each_second(&mut world, ends, 3_000);
    assert_eq!(arrived, (0..3_000).filter(|number| *number == 0 || number % 3 != 0).collect::<Vec<_>>());
}

#[test]
fn an_outage_may_hold_what_waits() {
    let (mut world, ends, link) = pair(None, TEN);
    let outage = interval(link, Change::Capacity(Capacity::Stalled), rate(8000), [1_500, 2_000, 0]);
    world.plan_intervals(vec![outage]).expect("it can");
    assert_eq!(each_second(&mut world, ends, 3), [0, 1]);
    world.advance_to(ms(3_499));
    assert_eq!(arrived(&mut world, ends[1]), []);
    world.advance_to(ms(3_600));
    assert_eq!(arrived(&mut world, ends[1]), [2]);
    assert_eq!(world.next_event_at(), None, "it is over");
}

#[test]
fn what_is_changed_meanwhile_holds_when_the_interval_is_over() {
    let (mut world, ends, link) = pair(None, TEN);
    world.plan_intervals(vec![interval(link, loss(100.0), loss(0.0), [500, 2_000, 0])]).expect("it can");
    world
        .plan_changes(vec![PlannedChange {
            at: ms(3_500),
            link,
            way: LinkDirection::Both,
            change: loss(0.0),
        }])
        .expect("it can");
    world.advance_to(ms(600));
    // Only the last of the changes in an interval is made, at its end.
    world.reconfigure_link(link, LinkDirection::Forward, &loss(0.0)).expect("it can");
    world.reconfigure_link(link, LinkDirection::Both, &loss(100.0)).expect("it can");
    assert_eq!(each_second(&mut world, ends, 5), [4], "one to three by an outage, and by hand");
}

#[test]
fn where_intervals_meet_the_last_one_holds_and_a_new_plan_takes_the_place_of_the_old() {
    let (mut world, ends, link) = pair(None, TEN);
    let outages = |until: u64| {
        vec![
            interval(link, loss(100.0), loss(0.0), [500, until, 0]),
            interval(link, loss(0.0), loss(0.0), [1_500, 1_000, 10_000]),
        ]
    };
    world.plan_intervals(outages(6_000)).expect("it can");
    assert_eq!(each_second(&mut world, ends, 4), [0, 2]);
    // As before, but the first is over; the second comes again at 11.5 s.
    world.replan_changes(Vec::new(), outages(1_000)).expect("they can");
    assert_eq!(each_second(&mut world, ends, 6), [4, 5]);
    world
        .replan_changes(Vec::new(), vec![interval(link, loss(100.0), loss(0.0), [0, 1_000, 2_000])])
        .expect("it can");
    assert_eq!(each_second(&mut world, ends, 9), [7], "6 and 8 are in the middle");
    world.plan_intervals(Vec::new()).expect("nothing cannot be impossible");
    assert_eq!(each_second(&mut world, ends, 12), [9, 10, 11]);
    let channel = Change::Channel(ChannelConfig::PERFECT);
    let impossible = interval(link, channel.clone(), channel, [0, 1_000, 2_000]);
    assert_eq!(world.plan_intervals(vec![impossible]), Err(ChangeError::NoChannel));
}
