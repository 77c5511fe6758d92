//! Delays that vary: packets that overtake each other, those that do not, and links that change at
//! given times.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Rng};
use lasthop_sim::delay::{Band, Bands, Correlation};
use lasthop_sim::world::{Change, ChangeError, LinkDirection, PlannedChange};
use lasthop_sim::{
    Capacity, Delay, Direction, Discipline, Distribution, Feedback, LinkId, LinkLayer, NodeId, NodeKind,
    Order, QueueConfig, QueueLimit, WiredConfig, WirelessConfig, World,
};

use crate::radio::STOP_AND_WAIT;
use crate::support::{arrived, direction, hash, ms, node, number, packet, percent, wired, wireless};

/// The kinds of links whose delays may vary.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Wired,
    Managed,
    Unreliable,
    /// With feedback at no cost.
    Immediate,
}

const KINDS: [Kind; 4] = [Kind::Wired, Kind::Managed, Kind::Unreliable, Kind::Immediate];

fn between(min_ms: u64, max_ms: u64, order: Order) -> Delay {
    let [min, max] = [min_ms, max_ms].map(Duration::from_millis);
    Delay { order, ..Delay::from(Distribution::Uniform { min, max }) }
}

fn always(millis: u64, order: Order) -> Delay {
    Delay { order, ..Delay::from(Distribution::Constant(Duration::from_millis(millis))) }
}

/// Two external nodes and a link of 8 Mbit/s, a packet a millisecond, with these delays.
fn pair(kind: Kind, forward: Delay, backward: Delay, seed: u64) -> (World, [NodeId; 2], LinkId) {
    let mut world = World::new(seed);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let mut way = direction(8000);
    if matches!(kind, Kind::Managed) {
        let discipline = Discipline::CoDel(lasthop_sim::queue::CoDelConfig {
            target: Duration::from_secs(10),
            interval: Duration::from_secs(100),
            ecn: false,
        });
        way.queue = QueueConfig { limit: QueueLimit::Unlimited, discipline };
    }
    let [forward, backward]: [Direction; 2] = [way.delayed(forward), way.delayed(backward)];
    let link = match kind {
        Kind::Wired | Kind::Managed => {
            let config = WiredConfig { forward, backward, ..wired("hop", &way, 0) };
            world.add_wired_link(ends[0], ends[1], &config)
        }
        Kind::Unreliable | Kind::Immediate => {
            let mut layer = LinkLayer::UNRELIABLE;
            if matches!(kind, Kind::Immediate) {
                layer = LinkLayer { feedback: Feedback::Immediate, retransmission_attempts: 8 };
            }
            let config = WirelessConfig { forward, backward, ..wireless("hop", &way, layer) };
            world.add_wireless_link(ends[0], ends[1], &config)
        }
    };
    (world, ends, link)
}

/// What has arrived, with times in nanoseconds.
fn arrivals(world: &mut World, to: NodeId) -> Vec<(u64, u32)> {
    assert!(world.accounts().balance());
    world.collect(to).iter().map(|(at, packet)| (at.as_nanos(), number(packet))).collect()
}

fn is_sorted(arrivals: &[(u64, u32)]) -> bool {
    arrivals.is_sorted_by_key(|(_, number)| *number)
}

#[test]
fn packets_overtake_each_other_and_each_arrives_once_within_its_delays() {
    for kind in KINDS {
        let (mut world, [from, to], _) = pair(kind, between(5, 60, Order::Overtake), Delay::ZERO, 1);
        for number in 0..500 {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(ms(10_000));
        let arrivals = arrivals(&mut world, to);
        assert!(!is_sorted(&arrivals) && arrivals.is_sorted_by_key(|(at, _)| *at), "{kind:?}");
        let mut numbers: Vec<u32> = arrivals.iter().map(|(_, number)| *number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>(), "{kind:?}");
        for (at, number) in arrivals {
            // One a millisecond leaves.
            let sent = u64::from(number + 1) * 1_000_000;
            assert!((5_000_000..=60_000_000).contains(&(at - sent)), "{kind:?}: {number} at {at}");
        }
        assert_eq!(world.accounts().in_transit, 0);
    }
}

#[test]
fn with_losses_every_packet_that_overtakes_arrives_once_or_is_accounted_for() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(kind, between(5, 60, Order::Overtake), Delay::ZERO, 2);
        world
            .reconfigure_link(link, LinkDirection::Forward, &Change::Loss(percent(30.0).into()))
            .expect("it can");
        for number in 0..2_000 {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(ms(20_000));
        let mut arrived = arrived(&mut world, to);
        arrived.sort_unstable();
        assert!(arrived.is_sorted_by(|one, next| one < next), "{kind:?}: each once");
        let dropped: u64 = world.accounts().dropped.values().sum();
        assert_eq!(arrived.len() as u64 + dropped, 2_000, "{kind:?}");
        // Nine transmissions fail with probability 2e-5.
        assert_eq!(dropped > 1, !matches!(kind, Kind::Immediate), "{kind:?}: {dropped}");
    }
}

#[test]
fn where_order_is_kept_none_overtakes_whatever_the_delays() {
    for kind in KINDS {
        let delay = Distribution::Exponential { min: Duration::ZERO, mean: Duration::from_millis(30) };
        let (mut world, [from, to], _) = pair(kind, delay.into(), Delay::ZERO, 3);
        for number in 0..500 {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(ms(10_000));
        let arrivals = arrivals(&mut world, to);
        assert!(is_sorted(&arrivals) && arrivals.len() == 500, "{kind:?}");
    }
}

#[test]
fn each_direction_has_its_own_delay() {
    for kind in KINDS {
        let (mut world, [one, other], link) = pair(kind, always(10, Order::Kept), always(70, Order::Kept), 4);
        let longer = Change::Delay(Duration::from_millis(20).into());
        for (change, expected) in [(None, [11, 71]), (Some(longer), [21, 71])] {
            if let Some(change) = change {
                world.reconfigure_link(link, LinkDirection::Forward, &change).expect("it can");
            }
            let start = world.now();
            world.inject(one, packet(&world, one, other, 1));
            world.inject(other, packet(&world, other, one, 1));
            world.advance_to(start + Duration::from_millis(200));
            let took = |arrived: Vec<(Instant, _)>| arrived[0].0.since(start).as_millis() as u64;
            assert_eq!([took(world.collect(other)), took(world.collect(one))], expected, "{kind:?}");
        }
    }
}

#[test]
fn delays_over_a_link_are_those_of_their_distribution() {
    let band = |share, min, max| {
        let [min, max] = [min, max].map(Duration::from_millis);
        Band { share, min, max }
    };
    let bands = Bands::new(vec![band(0.8, 10, 20), band(0.2, 100, 300)]).expect("good bands");
    let delay = Delay { order: Order::Overtake, ..Delay::from(Distribution::Bands(Arc::new(bands))) };
    for kind in KINDS {
        let (mut world, [from, to], _) = pair(kind, delay.clone(), Delay::ZERO, 5);
        // Far enough apart that none waits; in order of arrival they are not.
        for number in 0..20_000 {
            world.advance_to(ms(u64::from(number) * 2));
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(ms(100_000));
        let delays = arrivals(&mut world, to);
        let delays = delays.iter().map(|(at, number)| (*at as f64 / 1e6) - f64::from(*number) * 2.0 - 1.0);
        let (short, long): (Vec<f64>, Vec<f64>) = delays.partition(|delay| *delay <= 20.0);
        let mean = |delays: &[f64]| delays.iter().sum::<f64>() / delays.len() as f64;
        // Four deviations.
        assert!((short.len() as f64 - 16_000.0).abs() < 4.0 * 56.6, "{kind:?}: {}", short.len());
        assert!((mean(&short) - 15.0).abs() < 0.1 && (mean(&long) - 200.0).abs() < 4.0, "{kind:?}");
    }
}

/// A packet each 100 ms over a link whose delay is cut from 6 s to 170 ms after the first two.
fn cut(kind: Kind, order: Order) -> Vec<(u64, u32)> {
    let (mut world, [from, to], link) = pair(kind, always(6_000, order), Delay::ZERO, 6);
    let change = Change::Delay(always(170, order));
    let planned = PlannedChange { at: ms(150), link, way: LinkDirection::Forward, change };
    world.plan_changes(vec![planned]).expect("it can");
    for number in 0..4 {
        world.advance_to(ms(u64::from(number) * 100));
        world.inject(from, packet(&world, from, to, number));
    }
    world.advance_to(ms(10_000));
    arrivals(&mut world, to).iter().map(|(at, number)| (at / 1_000_000, *number)).collect()
}

#[test]
fn after_a_cut_of_the_delay_packets_pass_those_before_only_where_they_may_overtake() {
    for kind in KINDS {
        let passed = [(371, 2), (471, 3), (6_001, 0), (6_101, 1)];
        assert_eq!(cut(kind, Order::Overtake), passed, "{kind:?}");
        let kept = [(6_001, 0), (6_101, 1), (6_101, 2), (6_101, 3)];
        assert_eq!(cut(kind, Order::Kept), kept, "{kind:?}");
    }
}

#[test]
fn a_new_delay_is_for_what_has_not_begun_its_transmission() {
    for kind in KINDS {
        let (mut world, [from, to], link) = pair(kind, always(50, Order::Overtake), Delay::ZERO, 7);
        for number in 0..4 {
            world.inject(from, packet(&world, from, to, number));
        }
        world.advance_to(Instant::from_nanos(1_500_000));
        let change = Change::Delay(always(5, Order::Overtake));
        world.reconfigure_link(link, LinkDirection::Both, &change).expect("it can");
        world.advance_to(ms(1_000));
        let millis: Vec<_> = arrivals(&mut world, to).iter().map(|(at, n)| (at / 1_000_000, *n)).collect();
        assert_eq!(millis, [(8, 2), (9, 3), (51, 0), (52, 1)], "{kind:?}");
    }
}

/// 1 ms or 60 ms, nothing between.
fn short_or_long(order: Order) -> Delay {
    let band = |millis| {
        let at = Duration::from_millis(millis);
        Band { share: 0.5, min: at, max: at }
    };
    let bands = Bands::new(vec![band(1), band(60)]).expect("good bands");
    Delay { order, ..Delay::from(Distribution::Bands(Arc::new(bands))) }
}

/// Thirty packets over a wired link, a packet a millisecond, whose rate is a quarter from 5.5 ms on.
fn slowed(kind: Kind, order: Order, loss_percent: f64) -> Vec<(u64, u32)> {
    let (mut world, [from, to], link) = pair(kind, short_or_long(order), Delay::ZERO, 9);
    let loss = Change::Loss(percent(loss_percent).into());
    world.reconfigure_link(link, LinkDirection::Forward, &loss).expect("it can");
    for number in 0..30 {
        world.inject(from, packet(&world, from, to, number));
    }
    world.advance_to(Instant::from_nanos(5_500_000));
    let slower = Change::Capacity(direction(2000).capacity);
    world.reconfigure_link(link, LinkDirection::Forward, &slower).expect("it can");
    world.advance_to(ms(1_000));
    arrivals(&mut world, to)
}

#[test]
fn a_change_of_the_rate_leaves_each_packet_that_waits_the_delay_that_it_has_drawn() {
    // Half of the sixth has been transmitted, and its rest takes 2 ms; those behind it take 4 ms each.
    let left =
        |number: u32| u64::from(if number < 5 { number * 2 + 2 } else { 15 + (number - 5) * 8 }) * 500_000;
    for kind in [Kind::Wired, Kind::Managed] {
        let mut own: Vec<(u64, u32)> = slowed(kind, Order::Overtake, 0.0);
        own.sort_unstable_by_key(|(_, number)| *number);
        let delays = own.iter().map(|(at, number)| (at - left(*number)) / 1_000_000);
        let delays: Vec<u64> = delays.collect();
        assert!(delays.iter().all(|delay| [1, 60].contains(delay)), "{kind:?}: {delays:?}");
        // With the order kept each arrives at its own time, or with the one before it.
        let in_turn = own.iter().scan(0, |last, (at, number)| {
            *last = (*last).max(*at);
            Some((*last, *number))
        });
        assert_eq!(slowed(kind, Order::Kept, 0.0), in_turn.collect::<Vec<_>>(), "{kind:?}");
    }
}

/// In the dip, what is in transmission or waits is to leave in hours, or never.
#[test]
fn a_delay_goes_on_varying_after_a_dip_of_the_rate() {
    const GAP: u64 = 10;
    let wandering = Delay {
        correlation: Correlation::Time(Duration::from_millis(100)),
        ..between(70, 130, Order::Overtake)
    };
    for kind in KINDS {
        for dip in [Capacity::Stalled, Capacity::Fixed(Bitrate::from_bps(1).expect("above zero"))] {
            // The transmission of a frame goes on at its own pace.
            if !matches!(kind, Kind::Wired | Kind::Managed) && dip != Capacity::Stalled {
                continue;
            }
            let (mut world, [from, to], link) = pair(kind, wandering.clone(), Delay::ZERO, 5);
            for sent in 0..400 {
                world.advance_to(ms(GAP * u64::from(sent)));
                let change = match sent {
                    100 => Some(dip.clone()),
                    102 => Some(direction(8000).capacity),
                    _ => None,
                };
                if let Some(capacity) = change {
                    let change = Change::Capacity(capacity);
                    world.reconfigure_link(link, LinkDirection::Forward, &change).expect("it can");
                }
                world.inject(from, packet(&world, from, to, sent));
            }
            world.advance_to(ms(100_000));
            let arrived = arrivals(&mut world, to);
            assert_eq!(arrived.len(), 400, "{kind:?} {dip:?}");
            // The process stands still while the link does.
            assert!(dip != Capacity::Stalled || is_sorted(&arrived), "{kind:?}");
            let later = arrived.iter().filter(|(_, number)| *number >= 200);
            let delays = later.map(|(at, number)| at / 1_000_000 - GAP * u64::from(*number));
            let (least, most) =
                delays.fold((u64::MAX, 0), |(least, most), delay| (least.min(delay), most.max(delay)));
            assert!(least < 80 && most > 120, "{kind:?} {dip:?}: {least} to {most}");
        }
    }
}

#[test]
fn what_is_lost_draws_no_delay_and_holds_up_nothing_whatever_the_queue() {
    for order in [Order::Kept, Order::Overtake] {
        for loss in [0.0, 40.0] {
            let plain = slowed(Kind::Wired, order, loss);
            assert_eq!(plain, slowed(Kind::Managed, order, loss), "{order:?}, {loss}%");
            assert_eq!(plain.len() < 30, loss > 0.0);
        }
    }
}

#[test]
fn planned_changes_are_those_that_are_made_by_hand_at_their_times() {
    let changes = |link| {
        // Not in order; of the same time, the later one counts. None at the time of another event.
        let at = |millis, change| {
            let at = ms(millis) + Duration::from_micros(317);
            PlannedChange { at, link, way: LinkDirection::Forward, change }
        };
        vec![
            at(40, Change::Delay(between(1, 90, Order::Overtake))),
            at(10, Change::Loss(percent(50.0).into())),
            at(10, Change::Loss(percent(10.0).into())),
            at(70, Change::Delay(always(3, Order::Kept))),
        ]
    };
    for kind in KINDS {
        let run = |is_planned: bool| {
            let (mut world, [from, to], link) = pair(kind, between(5, 9, Order::Kept), Delay::ZERO, 8);
            let hash = hash(&mut world);
            let mut due = changes(link);
            due.sort_by_key(|change| change.at);
            if is_planned {
                world.plan_changes(changes(link)).expect("they can");
            }
            for number in 0..200 {
                let now = ms(u64::from(number) / 2);
                while !is_planned && due.first().is_some_and(|change| change.at <= now) {
                    let PlannedChange { at, way, change, .. } = due.remove(0);
                    world.advance_to(at);
                    world.reconfigure_link(link, way, &change).expect("it can");
                }
                world.advance_to(now);
                world.inject(from, packet(&world, from, to, number));
            }
            world.advance_to(ms(1_000));
            (hash(), arrived(&mut world, to))
        };
        let planned = run(true);
        assert_eq!(planned, run(false), "{kind:?}");
        assert!(planned.1.len() > 150 && !planned.1.is_sorted(), "{kind:?}");
    }
}

#[test]
fn changes_that_are_planned_anew_take_the_place_of_those_to_come() {
    let (mut world, ends, link) = pair(KINDS[0], Delay::ZERO, Delay::ZERO, 1);
    let at = |millis, delay| {
        let change = Change::Delay(always(delay, Order::Kept));
        PlannedChange { at: ms(millis), link, way: LinkDirection::Forward, change }
    };
    let delay = |world: &mut World, number| {
        let sent = world.now();
        world.inject(ends[0], packet(world, ends[0], ends[1], number));
        world.advance_to(sent + Duration::from_millis(50));
        arrived(world, ends[1]).len()
    };
    world.plan_changes(vec![at(10, 1), at(200, 90)]).expect("they can");
    world.advance_to(ms(100));
    // Sooner than what was planned, and one that is late.
    world.replan_changes(vec![at(150, 2), at(99, 60), at(400, 70)], Vec::new()).expect("they can");
    world.advance_to(ms(100));
    assert_eq!(delay(&mut world, 0), 0, "60 ms, at once");
    world.advance_to(ms(200));
    let _ = arrived(&mut world, ends[1]);
    assert_eq!(delay(&mut world, 1), 1, "2 ms, and no change at 200 ms");
    world.replan_changes(Vec::new(), Vec::new()).expect("nothing cannot be impossible");
    world.advance_to(ms(500));
    assert_eq!(delay(&mut world, 2), 1, "nothing was to come any more");
    assert_eq!(world.next_event_at(), None);

    for _ in 0..100 {
        world.replan_changes(vec![at(5_000, 3)], Vec::new()).expect("they can");
    }
    world.advance_to(ms(5_000));
    assert_eq!(world.next_event_at(), None, "one event, however often changes were planned");
}

#[test]
fn a_change_that_cannot_be_made_is_refused_when_it_is_planned() {
    let mut world = World::new(1);
    let ends = ["a", "b"].map(|name| node(&mut world, name, NodeKind::External));
    let link = world.add_wireless_link(ends[0], ends[1], &wireless("air", &direction(8000), STOP_AND_WAIT));
    for delay in [between(1, 2, Order::Kept), always(1, Order::Overtake)] {
        let planned =
            PlannedChange { at: ms(5), link, way: LinkDirection::Both, change: Change::Delay(delay) };
        assert_eq!(world.plan_changes(vec![planned]), Err(ChangeError::Acknowledged));
    }
    assert_eq!(world.next_event_at(), None, "nothing has been planned");
}

/// Whatever the delays, the orders and the changes: without loss each packet arrives once, and no sooner than
/// the least delay allows.
#[test]
fn every_packet_arrives_once_whatever_is_changed() {
    for shape in 0..400 {
        let mut rng = Rng::named(shape, "changes");
        let kind = KINDS[rng.below(4) as usize];
        let mut least = u64::MAX;
        let mut delay = |rng: &mut Rng| {
            let (min, more) = (20 + rng.below(30), rng.below(400));
            let order = [Order::Kept, Order::Overtake][rng.below(2) as usize];
            let correlation = match rng.below(2) {
                0 => Correlation::None,
                _ => Correlation::Time(Duration::from_millis(1 + rng.below(1000))),
            };
            least = least.min(min);
            if rng.below(3) == 0 {
                always(min, order)
            } else {
                Delay { correlation, ..between(min, min + more, order) }
            }
        };
        let (forward, backward) = (delay(&mut rng), delay(&mut rng));
        let (mut world, [from, to], link) = pair(kind, forward, backward, shape);
        let mut times: Vec<u64> = (0..16).map(|_| rng.below(700)).collect();
        times.sort_unstable();
        let mut changes: Vec<PlannedChange> = Vec::new();
        for at in times {
            let change = match rng.below(5) {
                0 => Change::Capacity(Capacity::Stalled),
                1 => Change::Capacity(direction(1 + rng.below(100)).capacity),
                2 => Change::Capacity(direction(500 + rng.below(30_000)).capacity),
                _ => Change::Delay(delay(&mut rng)),
            };
            changes.push(PlannedChange { at: ms(at), link, way: LinkDirection::Both, change });
        }
        let change = Change::Capacity(direction(8_000).capacity);
        changes.push(PlannedChange { at: ms(700), link, way: LinkDirection::Both, change });
        world.plan_changes(changes).expect("they can");
        for number in 0..300 {
            world.advance_to(ms(u64::from(number) * 2));
            world.inject(from, packet(&world, from, to, number));
            world.inject(to, packet(&world, to, from, number));
            assert!(world.accounts().balance());
        }
        // A frame at 1 kbit/s takes 8 s.
        world.advance_to(ms(100_000));
        for end in [from, to] {
            let mut arrived = arrivals(&mut world, end);
            arrived.sort_unstable_by_key(|(_, number)| *number);
            let numbers: Vec<u32> = arrived.iter().map(|(_, number)| *number).collect();
            assert_eq!(numbers, (0..300).collect::<Vec<_>>(), "shape {shape}, {kind:?}");
            let took = arrived.iter().map(|(at, number)| at - u64::from(*number) * 2_000_000);
            assert!(took.min() >= Some(least * 1_000_000), "shape {shape}, {kind:?}: sooner than {least} ms");
        }
        assert_eq!(world.accounts().in_transit, 0);
    }
}
