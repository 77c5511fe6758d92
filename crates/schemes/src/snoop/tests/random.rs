//! Arbitrary packets.

use lasthop_agent::{Accounts as _, Budget, SegmentCache};
use lasthop_config::preset::Presets as _;
use proptest::prelude::*;

use super::*;

/// Packets between two hosts, with small and large numbers so that some match and some do not.
pub fn any_packet() -> impl Strategy<Value = Packet> {
    let number = || prop_oneof![8 => (0u32..12).prop_map(|n| n * 50), 1 => (0u32..9).prop_map(|n| u32::MAX - n * 50), 1 => any::<u32>()];
    let flags = prop_oneof![6 => Just(0x10u8), 1 => Just(0x11), 1 => any::<u8>()];
    let window = prop_oneof![4 => Just(WINDOW), 1 => any::<u16>()];
    let header = (number(), number(), flags, window, any::<bool>());
    let options = (
        proptest::option::of(number()),
        proptest::collection::vec((number(), number()), 0..5),
        prop_oneof![9 => Just(false), 1 => Just(true)],
    );
    let len = prop_oneof![2 => Just(0u32), 3 => Just(50), 1 => 0..70_000u32];
    (header, options, len).prop_map(
        |((seq, acked, flags, window, upwards), (stamp, blocks, unknown), len)| {
            let packet = if upwards { ack(0) } else { data(0, 0) };
            let mut packet = packet.but(|tcp| {
                (tcp.seq, tcp.ack, tcp.flags, tcp.window) = (Seq(seq), Seq(acked), TcpFlags(flags), window);
            });
            packet.set_payload(Payload::Stream { stream: 1, offset: u64::from(seq), len });
            packet = packet.sack(&blocks);
            packet = if unknown { packet.unknown_option() } else { packet };
            stamp.map_or(packet.clone(), |value| packet.stamped(value, 5))
        },
    )
}

fn small() -> Settings {
    Settings { cached_packets: 5, cached_octets: 60_000, ..Settings::published() }
}

proptest! {
    #[test]
    fn arbitrary_packets_cause_no_panic_and_no_edit_within_the_bounds(
        steps in proptest::collection::vec((any_packet(), any::<bool>(), 0u64..400), 1..120)
    ) {
        let mut bench = Bench::<Published>::within(small(), Budget { flows: 2, octets_in_all: 80_000, ..Budget::default() });
        for (packet, from_core, millis) in steps {
            let from = if from_core { Side::Core } else { Side::Radio };
            // `pass` asserts that the packet is not edited.
            let step = bench.wait(millis).pass(&packet, from);
            prop_assert!(step.verdict == Verdict::Forward || (step.suppressed() && from == Side::Radio));
            bench.timer();
            let flows: Vec<&SegmentCache<_>> = [&packet]
                .into_iter()
                .filter_map(Packet::flow_key)
                .flat_map(|key| [key, key.reversed()])
                .filter_map(|key| bench.snoop.flows.peek(key).map(|flow| &flow.cache))
                .collect();
            prop_assert!(flows.iter().all(|cache| cache.len() <= 5));
            prop_assert_eq!(flows.iter().map(|cache| cache.allocated()).sum::<usize>(), bench.snoop.octets);
            prop_assert!(bench.snoop.octets() <= 80_000);
        }
    }

    #[test]
    fn a_copy_is_a_part_of_passed_data_with_a_monotone_tsval(
        lost in proptest::collection::vec(any::<bool>(), 40),
        extra in 0u32..3,
    ) {
        // A receiver that loses the segments in `lost`, acknowledges each arrival and rejects by
        // PAWS.
        let mut bench = Bench::<Published>::with(Settings { cached_packets: 20, ..Settings::published() });
        let (mut next, mut recent, mut above) = (0u32, 0u32, Vec::new());
        let mut arrivals = lost.iter().enumerate().flat_map(|(segment, lost)| {
            let packet = data(segment as u32 * 100, 100).stamped(100 + segment as u32, 5);
            [(packet, *lost)]
        });
        let mut queue = std::collections::VecDeque::new();
        loop {
            if queue.is_empty() {
                let Some((packet, lost)) = arrivals.next() else { break };
                bench.wait(1 + u64::from(extra)).core(&packet);
                if !lost {
                    queue.push_back(packet);
                }
            }
            while let Some(packet) = queue.pop_front() {
                let seq = packet.tcp().map_or(0, |tcp| tcp.seq.0);
                let value = tsval(&packet).unwrap_or(0);
                prop_assert!(value >= recent, "PAWS would refuse it");
                prop_assert_eq!(packet.payload(), &Payload::Stream { stream: 1, offset: u64::from(seq), len: 100 });
                above.push(seq);
                if seq == next {
                    recent = value;
                }
                while above.contains(&next) {
                    next += 100;
                }
                queue.extend(bench.radio(&ack(next)).copies);
            }
            if queue.is_empty() && !bench.cached().is_empty() {
                queue.extend(bench.wait(LONG).timer());
            }
        }
        prop_assert_eq!(next, 4000, "every loss was repaired locally");
    }
}
