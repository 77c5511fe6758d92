//! Invariants for arbitrary packets.

use std::collections::HashSet;

use lasthop_agent::Accounts as _;
use lasthop_packet::Ecn;
use proptest::prelude::*;

use super::*;

/// Packets of one connection, with few numbers, so that many match, and some that do not.
fn any_packet() -> impl Strategy<Value = (Packet, bool)> {
    let number = || prop_oneof![9 => (0u32..40).prop_map(|n| n * 50), 1 => any::<u32>()];
    let flags = prop_oneof![8 => Just(0x10u8), 1 => Just(0x11), 1 => any::<u8>()];
    let stamps = proptest::option::weighted(0.8, (0u32..200, 0u32..200));
    let blocks = proptest::collection::vec((number(), number()), 0..4);
    let len = prop_oneof![2 => Just(0u32), 4 => Just(50), 1 => 0..3000u32];
    let header = (number(), number(), flags, any::<u16>(), any::<bool>(), 0u8..4);
    (header, stamps, blocks, len).prop_map(|((seq, acked, flags, window, up, ecn), stamps, blocks, len)| {
        let packet = if up { data(0, 0, 0) } else { ack(0, 0, 0) };
        let mut packet = packet.sack(&blocks).but(|tcp| {
            (tcp.seq, tcp.ack, tcp.flags, tcp.window) = (Seq(seq), Seq(acked), TcpFlags(flags), window);
            tcp.options.timestamps = stamps.map(|(value, echo_reply)| Timestamps { value, echo_reply });
        });
        packet.set_payload(Payload::Stream { stream: 1, offset: u64::from(seq), len });
        packet.set_ecn([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(ecn)]);
        (packet, up)
    })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let undo = prop_oneof![Just(Undo::None), Just(Undo::Timestamp), Just(Undo::Dsack)];
    (any::<bool>(), undo, 0u64..30).prop_map(|(mark, undo, floor)| Settings {
        mark,
        undo,
        congestion_floor: Duration::from_millis(floor),
        ..Settings::default()
    })
}

proptest! {
    /// No packet is dropped or held; of a packet only an echo and a bit change, the echo to a
    /// timestamp that the mobile host has sent; the agent's own packets have a number that the
    /// receiver sends, carry no other information, and report data that the number covers.
    #[test]
    fn arbitrary_packets_cause_no_false_report(
        steps in proptest::collection::vec((any_packet(), 0u64..30), 1..150),
        settings in any_settings(),
        moves in any::<bool>(),
    ) {
        let mut bench = Bench::unmeasured(settings);
        let mut stamps = HashSet::new();
        for (step, ((packet, up), millis)) in steps.into_iter().enumerate() {
            bench.wait(millis);
            let tcp = packet.tcp().expect("TCP");
            if up {
                stamps.extend(tcp.options.timestamps.map(|stamps| stamps.value));
            }
            let (passed, ahead) = bench.pass(&packet, if up { Side::Radio } else { Side::Core });
            let mut same = passed.clone();
            if up {
                prop_assert!(ahead.is_empty());
            } else if echo(&passed) != echo(&packet) {
                prop_assert!(settings.undo == Undo::Timestamp && stamps.contains(&echo(&passed)));
                prop_assert!(Seq(echo(&passed)).before(Seq(echo(&packet))));
                same = same.but(|tcp| tcp.options.timestamps = packet.tcp().and_then(|tcp| tcp.options.timestamps));
            }
            prop_assert!(passed.tcp_reserved_bits() == 0 || settings.mark && !up);
            same.set_tcp_reserved_bits(0);
            prop_assert_eq!(same.transport(), packet.transport());
            prop_assert_eq!((same.payload(), same.ip()), (packet.payload(), packet.ip()));
            for report in ahead {
                let ack = report.tcp().expect("TCP");
                prop_assert_eq!((ack.ack, ack.seq, ack.flags), (tcp.ack, tcp.seq, TcpFlags::ACK));
                prop_assert!(report.payload().is_empty());
                let [(left, right)] = ack.options.sack.as_slice() else { panic!("one block") };
                prop_assert!(left.before(*right) && !right.after(ack.ack));
            }
            if moves && step % 7 == 0 {
                for state in bench.export() {
                    prop_assert_eq!(bench.import(&state), Ok(()));
                }
            }
        }
        prop_assert_eq!((bench.eln.held(), bench.eln.octets()), (0, bench.eln.flows.octets()));
    }
}
