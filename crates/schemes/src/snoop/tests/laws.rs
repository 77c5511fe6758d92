//! Invariants on any hop: a sender, the agent, a hop that loses, duplicates and swaps packets, a
//! receiver with SACK and PAWS.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use lasthop_agent::Accounts as _;
use lasthop_agent::Transfer;
use lasthop_agent::counter::FULL;
use lasthop_hop::last_hop::LastHop;
use proptest::prelude::*;

use super::*;

const SEGMENT: u32 = 100;

/// A random action of the hop on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    None,
    Lost,
    Doubled,
    Swapped,
}

#[derive(Default)]
struct Receiver {
    next: u32,
    /// Segments above `next`.
    above: Vec<u32>,
    recent: u32,
    refused: u32,
    last: Option<(u32, u32)>,
}

impl Receiver {
    fn has(&self, seq: u32) -> bool {
        seq < self.next || self.above.contains(&seq)
    }

    /// Receives one segment. Returns its ACK.
    fn take(&mut self, seq: u32, value: u32) -> Packet {
        if value < self.recent {
            self.refused += 1;
        } else {
            if seq <= self.next {
                self.recent = value;
            }
            if seq >= self.next && !self.above.contains(&seq) {
                self.above.push(seq);
            }
            while let Some(at) = self.above.iter().position(|above| *above == self.next) {
                self.above.swap_remove(at);
                self.next += SEGMENT;
            }
            self.last = Some((seq, seq + SEGMENT));
        }
        ack(self.next).stamped(1, 5).sack(&self.blocks())
    }

    /// The block with the latest arrival first, then others from above, at most three.
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut above = self.above.clone();
        above.sort_unstable();
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for seq in above {
            match blocks.last_mut() {
                Some((_, right)) if *right == seq => *right += SEGMENT,
                _ => blocks.push((seq, seq + SEGMENT)),
            }
        }
        blocks.reverse();
        if let Some((seq, _)) = self.last
            && let Some(at) = blocks.iter().position(|(left, right)| (*left..*right).contains(&seq))
        {
            blocks.swap(0, at);
        }
        blocks.truncate(3);
        blocks
    }
}

/// Packets by the millisecond of their arrival.
type Wire = VecDeque<(u64, Packet)>;

/// Puts packets on the hop: one segment each, after 4 ms, ten per millisecond.
fn send(hop: &mut Wire, packets: Vec<Packet>, clock: u64, mishaps: &mut impl Iterator<Item = Mishap>) {
    for packet in packets {
        let (seq, value) = (packet.tcp().map_or(0, |tcp| tcp.seq.0), tsval(&packet).unwrap_or(0));
        for piece in 0..(packet.payload().len() as u32).div_ceil(SEGMENT) {
            let single = data(seq + piece * SEGMENT, SEGMENT).stamped(value, 5);
            let at = hop.iter().rev().nth(9).map_or(clock + 4, |(at, _)| (at + 1).max(clock + 4));
            let at = hop.back().map_or(at, |(last, _)| at.max(*last));
            match mishaps.next().unwrap_or(Mishap::None) {
                Mishap::None => hop.push_back((at, single)),
                Mishap::Lost => {}
                Mishap::Doubled => hop.extend([(at, single.clone()), (at, single)]),
                Mishap::Swapped => {
                    let before_last = hop.len().saturating_sub(1);
                    hop.insert(before_last, (at, single));
                }
            }
        }
    }
}

fn any_settings() -> impl Strategy<Value = Settings> {
    (any::<bool>(), any::<bool>(), any::<bool>(), 0u32..3, prop_oneof![Just(700usize), Just(1 << 20)])
        .prop_map(|(local_window, withholding, published_timer, reordering, held_octets)| Settings {
            local_window,
            withholding,
            timer: if published_timer { settings::Timer::Published } else { settings::Timer::Hop },
            reordering,
            held_octets,
            ..Settings::default()
        })
}

fn mishaps(swaps: bool) -> impl Strategy<Value = Vec<Mishap>> {
    let odd = if swaps { Mishap::Swapped } else { Mishap::None };
    let one = prop_oneof![
        8 => Just(Mishap::None),
        3 => Just(Mishap::Lost),
        1 => Just(Mishap::Doubled),
        1 => Just(odd)
    ];
    proptest::collection::vec(one, 0..400)
}

/// Whether the first hole withheld from the sender has been repaired, or will be within a round
/// trip over the hop.
fn is_under_repair(bench: &Bench<Today>) -> bool {
    let Some((flow, scoreboard)) = bench.flow().map(|flow| (flow, &flow.recovery.scoreboard)) else {
        return false;
    };
    let hole = scoreboard.first_own_hole(bench.now, Duration::MAX).and_then(|seq| scoreboard.range_at(seq));
    let window = bench.now + flow.rtt.smoothed();
    let is_soon = || {
        let wakes_by = |at| bench.snoop.flows.next_timer().is_some_and(|timer| timer <= at);
        Today::loss_due(flow).is_some_and(|at| at <= window && wakes_by(at))
    };
    hole.is_some_and(|hole| hole.copies > 0 || flow.expiries > 0 || is_soon())
}

/// Transfers 60 packets; panics if an invariant is violated. Returns the number of segments that
/// PAWS rejected.
fn carry(settings: Settings, sizes: &[u32], mishaps: Vec<Mishap>, acks_lost: &[bool]) -> u32 {
    let mut bench = Bench::<Today>::with(settings);
    let (mut receiver, mut hop) = (Receiver::default(), Wire::new());
    let mut mishaps = mishaps.into_iter();
    let mut acks_lost = acks_lost.iter().copied().chain(std::iter::repeat(false));
    let mut sizes = sizes.iter().copied();
    let (mut offered, mut acknowledged, mut quiet) = (0u32, 0u32, 0u64);
    let mut first_sent = 0u32;
    let total = 60;
    let mut packets = 0;
    for clock in 1..200_000u64 {
        bench.wait(1);
        let mut leaving = Vec::new();
        let retransmits = quiet >= 1_500 && acknowledged < offered;
        let next = if retransmits {
            quiet = 0;
            Some((acknowledged, 1))
        } else if packets < total && offered < acknowledged + 6_000 {
            packets += 1;
            let size = sizes.next().unwrap_or(1);
            offered += size * SEGMENT;
            Some((offered - size * SEGMENT, size))
        } else {
            None
        };
        if let Some((seq, size)) = next {
            let mut packet = data(seq, size * SEGMENT).stamped(clock as u32, 5);
            packet.set_segment_size(if size > 1 { NonZeroU16::new(SEGMENT as u16) } else { None });
            let step = bench.pass(&packet, Side::Core);
            leaving.extend(step.copies);
            match step.verdict {
                Verdict::Forward => leaving.push(packet),
                Verdict::Absorb => {}
                Verdict::Drop(reason) => assert_eq!(reason, &FULL),
            }
        }
        leaving.extend(bench.timer());
        // First transmissions are in order.
        for packet in &leaving {
            let seq = packet.tcp().map_or(0, |tcp| tcp.seq.0);
            first_sent = first_sent.max(seq + packet.payload().len() as u32);
            assert!(first_sent <= offered);
        }
        send(&mut hop, leaving, clock, &mut mishaps);
        quiet += 1;
        while hop.front().is_some_and(|(at, _)| *at <= clock) {
            let Some((_, packet)) = hop.pop_front() else { break };
            let answer = receiver.take(packet.tcp().map_or(0, |tcp| tcp.seq.0), tsval(&packet).unwrap_or(0));
            if acks_lost.next() == Some(true) {
                continue;
            }
            let mut passing = answer.clone();
            let (verdict, copies, _) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, Side::Radio, cx));
            send(&mut hop, copies, clock, &mut mishaps);
            assert!((verdict == Verdict::Forward && passing == answer) || is_under_repair(&bench));
            if verdict == Verdict::Forward {
                let tcp = passing.tcp().expect("an ACK");
                assert!(tcp.ack.0 <= receiver.next, "the sender hears of nothing that was not received");
                for (left, right) in tcp.options.sack.as_slice() {
                    assert!((left.0..right.0).step_by(SEGMENT as usize).all(|seq| receiver.has(seq)));
                }
                if tcp.ack.0 > acknowledged {
                    (acknowledged, quiet) = (tcp.ack.0, 0);
                }
            }
        }
        let hops = &bench.snoop.hops;
        let hop = data(0, 1).flow_key().and_then(|key| hops.get(hops.find(key.destination.0)?));
        let hops = hop.map_or(0, LastHop::in_flight);
        let flows = bench.flow().map_or(0, SnoopFlow::in_flight);
        assert!(hops == flows || !bench.snoop.settings.local_window, "{hops} {flows}");
        if packets == total && acknowledged == offered {
            break;
        }
    }
    assert_eq!((acknowledged, receiver.next), (offered, offered), "everything arrives in the end");
    bench.call(Transfer::drain);
    assert_eq!((bench.snoop.held(), bench.cached().len()), (0, 0));
    // The latest copies are recognized for a while.
    let rest = bench.flow().map_or(0, SnoopFlow::allocated);
    assert!(bench.snoop.octets == rest && rest <= 512, "{rest} octets");
    assert_eq!(bench.snoop.flows.next_timer(), None, "and the agent comes to rest");
    receiver.refused
}

proptest! {
    #[test]
    fn all_data_arrives_and_acks_are_true(
        settings in any_settings(),
        sizes in proptest::collection::vec(1u32..12, 60),
        mishaps in mishaps(true),
        acks_lost in proptest::collection::vec(any::<bool>(), 0..100),
    ) {
        carry(settings, &sizes, mishaps, &acks_lost);
    }

    #[test]
    fn on_a_hop_in_order_paws_rejects_no_segment(
        settings in any_settings(),
        sizes in proptest::collection::vec(1u32..12, 60),
        mishaps in mishaps(false),
        acks_lost in proptest::collection::vec(any::<bool>(), 0..100),
    ) {
        prop_assert_eq!(carry(settings, &sizes, mishaps, &acks_lost), 0);
    }

    #[test]
    fn arbitrary_packets_cause_no_panic_and_no_miscount(
        steps in proptest::collection::vec((random::any_packet(), any::<bool>(), 0u64..400), 1..120),
        settings in any_settings(),
    ) {
        let budget = Budget { flows: 2, octets_per_flow: 90_000, octets_in_all: 120_000 };
        let mut bench = Bench::<Today>::within(Settings { cached_octets: 60_000, ..settings }, budget);
        for (packet, from_core, millis) in steps {
            let from = if from_core { Side::Core } else { Side::Radio };
            bench.wait(millis);
            let mut passing = packet.clone();
            let (verdict, ..) = bench.call(|snoop, cx| snoop.on_packet(&mut passing, from, cx));
            prop_assert!(from == Side::Core || verdict != Verdict::Absorb);
            bench.timer();
            let keys = [packet.flow_key(), packet.flow_key().map(FlowKey::reversed)];
            let flows: Vec<&SnoopFlow<Today>> = keys.into_iter().flatten().filter_map(|key| bench.snoop.flows.peek(key)).collect();
            prop_assert_eq!(flows.iter().map(|flow| flow.allocated()).sum::<usize>(), bench.snoop.octets);
            prop_assert!(bench.snoop.octets() <= budget.octets_in_all);
            prop_assert!(flows.iter().all(|flow| flow.allocated() <= budget.octets_per_flow));
            prop_assert_eq!(flows.iter().map(|flow| flow.waiting.packets().len() as u64).sum::<u64>(), bench.snoop.held());
        }
        bench.call(Transfer::drain);
        prop_assert_eq!(bench.snoop.held(), 0);
    }
}
