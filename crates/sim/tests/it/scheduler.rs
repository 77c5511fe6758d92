//! Flows that take turns at a station of a cell.

use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::{NodeId, NodeKind, QueueLimit, World};
use lasthop_wifi::{ErrorConfig, Position, Scheduler, Standard, StationConfig, WlanConfig};

use crate::support::{ms, node, number, percent, sized_packet};

/// A station that sends to two others.
struct Relay {
    world: World,
    from: NodeId,
    to: [NodeId; 2],
}

impl Relay {
    fn new(scheduler: Scheduler, queue: QueueLimit) -> Self {
        Self::with(scheduler, queue, Probability::ZERO)
    }

    /// Frames to `b` are lost at this rate.
    fn with(scheduler: Scheduler, queue: QueueLimit, loss: Probability) -> Self {
        let mut world = World::new(5);
        let wlan = world.add_wlan("cell", WlanConfig::new(Standard::HrDsss));
        let nodes = ["from", "b", "c"].map(|name| node(&mut world, name, NodeKind::External));
        let position = Position::new(0.0, 0.0);
        let config = StationConfig { position, queue, scheduler, ..StationConfig::default() };
        let [from, b, c] = nodes.map(|node| world.add_station(wlan, node, &config));
        world.add_radio_link("to b", wlan, from, b);
        world.add_radio_link("to c", wlan, from, c);
        world.set_radio_errors(wlan, from, b, ErrorConfig::packets(loss, false));
        Self { world, from: nodes[0], to: [nodes[1], nodes[2]] }
    }

    /// Puts packets into the station's queue, each to one of the two, with a number and a length.
    fn put(&mut self, packets: &[(usize, u32, u32)]) {
        for (to, number, len) in packets {
            let packet = sized_packet(&self.world, (self.from, self.to[*to]), *number, *len);
            self.world.inject(self.from, packet);
        }
    }

    /// In which order all that was put there arrives.
    fn order(mut self) -> Vec<u32> {
        self.world.advance_to(ms(1_000));
        let mut arrived: Vec<_> = self.to.iter().flat_map(|to| self.world.collect(*to)).collect();
        arrived.sort_by_key(|(at, _)| *at);
        assert!(self.world.accounts().balance());
        arrived.iter().map(|(_, packet)| number(packet)).collect()
    }
}

const B: usize = 0;
const C: usize = 1;

/// Octets of each flow that arrive in two seconds, where its packets have this length and this many
/// of them are at the station at any time.
fn shares(scheduler: Scheduler, flows: [(u32, usize); 2]) -> [u64; 2] {
    let mut relay = Relay::new(scheduler, QueueLimit::Packets(50));
    let (mut put, mut arrived) = ([0; 2], [0; 2]);
    for step in 0..20_000 {
        for (to, (len, most)) in flows.into_iter().enumerate() {
            arrived[to] += relay.world.collect(relay.to[to]).len();
            for _ in put[to]..arrived[to] + most {
                relay.put(&[(to, 0, len)]);
                put[to] += 1;
            }
        }
        relay.world.advance_to(ms(0).after_nanos(step * 100_000));
    }
    [B, C].map(|to| u64::from(flows[to].0) * arrived[to] as u64)
}

#[test]
fn a_flow_with_few_frames_in_the_queue_has_its_half_and_no_more() {
    for (long, short) in [(1000, 1000), (1500, 300), (300, 1500), (1500, 576)] {
        for few in [2, 3, 4] {
            let [b, c] = shares(Scheduler::PerFlow, [(long, 30), (short, few)]);
            let most = u64::from(long + short);
            assert!(b > 400_000, "{b} octets");
            assert!(b.abs_diff(c) <= most, "{b} octets of {long} each, {c} of {short} each, {few} at a time");
        }
    }
}

#[test]
fn flows_take_turns_and_each_stays_in_order() {
    let packets: Vec<_> =
        (1..=5).map(|number| (B, number, 1000)).chain([(C, 11, 1000), (C, 12, 1000)]).collect();
    for (scheduler, expected) in [
        (Scheduler::Fifo, [1, 2, 3, 4, 5, 11, 12]),
        // The first is in the hands of the MAC when the others come.
        (Scheduler::PerFlow, [1, 2, 11, 3, 12, 4, 5]),
        // And then its receiver's next turn comes last.
        (Scheduler::PerReceiver, [1, 11, 2, 12, 3, 4, 5]),
    ] {
        let mut relay = Relay::new(scheduler, QueueLimit::Packets(50));
        relay.put(&packets);
        assert_eq!(relay.order(), expected, "{scheduler:?}");
    }
}

#[test]
fn a_turn_of_a_receiver_is_one_transmission() {
    // Nothing gets to `b`: each of its seven transmissions, and no more than one, is between two frames for `c`.
    let mut relay = Relay::with(Scheduler::PerReceiver, QueueLimit::Packets(50), percent(100.0));
    relay.put(&[(B, 1, 1000), (B, 2, 1000)]);
    relay.put(&(11..=30).map(|number| (C, number, 1000)).collect::<Vec<_>>());
    relay.world.advance_to(ms(200));
    let arrived: Vec<_> = relay.world.collect(relay.to[C]);
    assert_eq!(
        arrived.iter().map(|(_, packet)| number(packet)).collect::<Vec<_>>(),
        (11..=30).collect::<Vec<_>>()
    );
    let counters = relay.world.counters();
    assert_eq!((counters.frames_given_up, counters.frames_sent), (2, 20 + 2 * 7));
    let gaps = arrived.windows(2).map(|pair| pair[1].0.since(pair[0].0));
    // A frame takes 0.95 ms, its ACK 0.25 ms.
    let (first, rest): (Vec<_>, Vec<_>) = gaps.enumerate().partition(|(index, _)| *index < 13);
    assert!(first.iter().all(|(_, gap)| *gap > Duration::from_millis(2)), "{first:?}");
    assert!(rest.iter().all(|(_, gap)| *gap < Duration::from_micros(2_300)), "{rest:?}");
    assert!(relay.world.accounts().balance());
}

#[test]
fn where_receivers_take_turns_a_frame_that_finds_no_room_is_dropped() {
    let mut relay = Relay::new(Scheduler::PerReceiver, QueueLimit::Packets(3));
    relay.put(&[(B, 1, 1000), (B, 2, 1000), (B, 3, 1000), (B, 4, 1000), (C, 11, 1000)]);
    assert_eq!(relay.order(), [1, 2, 3, 4]);
}

#[test]
fn a_turn_is_counted_in_octets() {
    let mut relay = Relay::new(Scheduler::PerFlow, QueueLimit::Packets(50));
    relay.put(&[(B, 1, 1000), (B, 2, 1000), (B, 3, 1000)]);
    relay.put(&[(C, 11, 250), (C, 12, 250), (C, 13, 250), (C, 14, 250), (C, 15, 250)]);
    assert_eq!(relay.order(), [1, 11, 12, 13, 2, 14, 15, 3]);
}

#[test]
fn where_there_is_no_room_the_flow_with_most_loses_its_last() {
    let mut relay = Relay::new(Scheduler::PerFlow, QueueLimit::Packets(4));
    relay.put(&[(B, 1, 1000), (B, 2, 1000), (B, 3, 1000), (B, 4, 1000), (B, 5, 1000), (B, 6, 1000)]);
    relay.put(&[(C, 11, 1000), (C, 12, 1000), (C, 13, 1000)]);
    assert_eq!(relay.order(), [1, 2, 11, 3, 12], "as many of each wait in the end");
}

#[test]
fn where_octets_are_limited_what_is_too_long_displaces_nothing_in_vain_unseen() {
    let mut relay = Relay::new(Scheduler::PerFlow, QueueLimit::Octets(1200));
    relay.put(&[(B, 1, 1000), (B, 2, 600), (B, 3, 500), (C, 11, 1000), (C, 12, 100)]);
    let order = relay.order();
    assert_eq!(order.first(), Some(&1));
    assert!(order.contains(&2), "{order:?}");
}

#[test]
fn where_octets_are_limited_no_frame_is_displaced_for_one_that_is_dropped_itself() {
    let mut relay = Relay::new(Scheduler::PerFlow, QueueLimit::Octets(1200));
    relay.put(&[(B, 1, 1000), (B, 2, 600), (B, 3, 500), (C, 11, 1000)]);
    assert_eq!(relay.order(), [1, 2, 3], "the one of 1000 octets has no room in any case");
}
