//! Flows that take turns, octet for octet.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use crate::{FairQueue, Length};

/// A packet of a flow, with a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packet {
    flow: u64,
    number: u32,
    octets: u32,
}

impl Length for Packet {
    fn octets(&self) -> u32 {
        self.octets
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push {
        flow: u64,
        octets: u32,
    },
    Pop,
    Displace {
        flow: u64,
        octets: u32,
    },
    /// Those whose number divided by three leaves this.
    Withdraw(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u64..6, 0_u32..1500).prop_map(|(flow, octets)| Step::Push { flow, octets }),
        4 => Just(Step::Pop),
        2 => (0_u64..6, 0_u32..1500).prop_map(|(flow, octets)| Step::Displace { flow, octets }),
        1 => (0_u32..3).prop_map(Step::Withdraw),
    ];
    proptest::collection::vec(step, 0..300)
}

/// What waits, the simple way: each flow's packets in order.
type Model = BTreeMap<u64, VecDeque<Packet>>;

fn octets(packets: &VecDeque<Packet>) -> u64 {
    packets.iter().map(|packet| u64::from(packet.octets)).sum()
}

fn longest(model: &Model) -> u64 {
    model.values().map(octets).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn flows_stay_in_order_the_longest_loses_its_last_and_nothing_is_kept_of_a_flow_without_packets(
        steps in steps(),
    ) {
        let (mut queue, mut model) = (FairQueue::default(), Model::new());
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u32;
            match step {
                Step::Push { flow, octets } => {
                    let packet = Packet { flow, number, octets };
                    queue.push(flow, packet);
                    model.entry(flow).or_default().push_back(packet);
                }
                Step::Pop => match queue.pop() {
                    None => prop_assert!(model.is_empty()),
                    Some(packet) => {
                        let first = model.get_mut(&packet.flow).and_then(VecDeque::pop_front);
                        prop_assert_eq!(first, Some(packet));
                    }
                },
                Step::Displace { flow, octets: room } => {
                    let own = model.get(&flow).map_or(0, octets) + u64::from(room);
                    let most = longest(&model);
                    match queue.displace(flow, room) {
                        None => prop_assert!(most <= own),
                        Some(packet) => {
                            let of_it = model.get_mut(&packet.flow).expect("it waited");
                            prop_assert!(most > own && octets(of_it) == most);
                            prop_assert_eq!(of_it.pop_back(), Some(packet));
                        }
                    }
                }
                Step::Withdraw(rest) => {
                    let mut gone = queue.withdraw(|packet| packet.number % 3 == rest);
                    gone.sort_by_key(|packet| packet.number);
                    let mut expected = Vec::new();
                    for packets in model.values_mut() {
                        expected.extend(packets.iter().copied().filter(|packet| packet.number % 3 == rest));
                        packets.retain(|packet| packet.number % 3 != rest);
                    }
                    expected.sort_by_key(|packet| packet.number);
                    prop_assert_eq!(gone, expected);
                }
            }
            model.retain(|_, packets| !packets.is_empty());
            let size = (model.values().map(VecDeque::len).sum(), model.values().map(octets).sum());
            prop_assert_eq!(queue.size(), size);
            prop_assert_eq!(queue.flows(), model.len());
        }
    }

    /// Golestani's bound. A flow without packets here has lost its claim, and has it again when the
    /// next one comes.
    #[test]
    fn what_two_flows_send_while_both_wait_differs_by_no_more_than_a_packet_of_each(
        arrivals in proptest::collection::vec((0_u64..4, 1_u32..1500, 0_usize..3), 1..300),
    ) {
        let mut queue = FairQueue::default();
        // Of each flow: packets here, octets sent, and the longest packet.
        let (mut waiting, mut sent, mut most) = ([0; 4], [0_i64; 4], [0; 4]);
        // The least and the most that one has sent more than the other while both waited.
        let mut range = [[None; 4]; 4];
        for (number, (flow, octets, departures)) in arrivals.into_iter().enumerate() {
            queue.push(flow, Packet { flow, number: number as u32, octets });
            waiting[flow as usize] += 1;
            most[flow as usize] = most[flow as usize].max(i64::from(octets));
            for _ in 0..departures {
                let Some(packet) = queue.pop() else { break };
                waiting[packet.flow as usize] -= 1;
                sent[packet.flow as usize] += i64::from(packet.octets);
                for one in 0..4 {
                    for other in 0..one {
                        let ahead = sent[one] - sent[other];
                        let (least, largest) = range[one][other].unwrap_or((ahead, ahead));
                        let (least, largest) = (ahead.min(least), ahead.max(largest));
                        let both_wait = waiting[one] > 0 && waiting[other] > 0;
                        range[one][other] = both_wait.then_some((least, largest));
                        prop_assert!(!both_wait || largest - least <= most[one] + most[other]);
                    }
                }
            }
        }
    }
}

#[test]
fn flows_that_come_and_go_do_not_keep_one_that_waits_from_its_turn() {
    let mut queue = FairQueue::default();
    let packet = |flow, number| Packet { flow, number, octets: 1000 };
    queue.push(0, packet(0, 0));
    queue.push(0, packet(0, 1));
    let mut number = 2;
    let order: Vec<u64> = std::iter::from_fn(|| {
        queue.push(u64::from(number), packet(u64::from(number), number));
        number += 1;
        queue.pop().map(|packet| packet.flow)
    })
    .take(4)
    .collect();
    assert_eq!(order.iter().filter(|flow| **flow == 0).count(), 2, "{order:?}");
}

#[test]
fn what_is_withdrawn_is_told_in_the_order_of_its_turns() {
    let mut queue = FairQueue::default();
    for (number, (flow, octets)) in
        [(1, 1000), (1, 1000), (2, 600), (2, 600), (2, 600)].into_iter().enumerate()
    {
        queue.push(flow, Packet { flow, number: number as u32, octets });
    }
    let gone = queue.withdraw(|packet| packet.number != 2);
    assert_eq!(gone.iter().map(|packet| packet.number).collect::<Vec<_>>(), [0, 3, 4, 1]);
    assert_eq!(queue.pop().map(|packet| packet.number), Some(2));
    assert_eq!((queue.pop(), queue.flows()), (None, 0));
}

proptest! {
    #[test]
    fn what_would_be_displaced_is_told_before(
        packets in proptest::collection::vec((0_u64..6, 1_u32..1500), 0..60),
        flow in 0_u64..7,
        len in 1_u32..1500,
    ) {
        let mut queue = FairQueue::default();
        for (number, (flow, octets)) in (0..).zip(packets) {
            queue.push(flow, Packet { flow, number, octets });
        }
        let in_all = queue.displaceable(flow, len, true);
        let mut gone = (0, 0);
        loop {
            let next = queue.displaceable(flow, len, false);
            let Some(packet) = queue.displace(flow, len) else {
                prop_assert_eq!(next, (0, 0));
                break;
            };
            prop_assert_eq!(next, (1, u64::from(packet.octets)));
            gone = (gone.0 + next.0, gone.1 + next.1);
        }
        prop_assert_eq!(gone, in_all);
    }
}
