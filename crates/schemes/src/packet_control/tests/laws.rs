//! Arbitrary packets.

use proptest::prelude::*;

use super::*;

/// Packets between two hosts, with numbers that often match.
fn any_packet() -> impl Strategy<Value = (Packet, bool)> {
    let number = || prop_oneof![8 => 0..14_u32, 1 => any::<u32>().prop_map(|far| far / 100)];
    let flags = prop_oneof![8 => Just(0x10_u8), 1 => Just(0x11), 1 => any::<u8>()];
    let window = prop_oneof![6 => Just(WINDOW), 1 => any::<u16>()];
    let blocks = proptest::collection::vec((number(), number()), 0..5);
    let len = prop_oneof![3 => Just(0_u32), 4 => Just(SEGMENT), 1 => 0..70_000_u32];
    (number(), number(), flags, window, blocks, len, any::<bool>(), 0..20_u8).prop_map(
        |(at, acked, flags, window, blocks, len, upwards, odd)| {
            let mut packet = if upwards { ack(acked) } else { data(at) };
            packet.set_payload(Payload::Stream {
                stream: 1,
                offset: u64::from(at),
                len: if upwards { 0 } else { len },
            });
            packet = packet.window(window).but(|tcp| tcp.flags = TcpFlags(flags));
            packet = if upwards { packet.reports(&blocks) } else { packet };
            (if odd == 0 { packet.unknown_option() } else { packet }, upwards)
        },
    )
}

fn any_settings() -> impl Strategy<Value = Settings> {
    (3..12_u32, any::<bool>(), any::<bool>()).prop_map(|(threshold, is_published, data_filter)| {
        let preset = if is_published { Settings::published() } else { Settings::default() };
        Settings { threshold, data_filter, ..preset }
    })
}

/// The highest number that the mobile host has ever acknowledged of passed data, and its windows.
#[derive(Default)]
struct Acknowledged(Vec<(Seq, u16)>);

proptest! {
    #[test]
    fn generated_acks_repeat_only_the_mobile_hosts_information(
        settings in any_settings(),
        steps in proptest::collection::vec((any_packet(), 0..90_u64), 1..150),
    ) {
        let mut bench = Bench::with(settings);
        let mut acknowledged = Acknowledged::default();
        for ((packet, upwards), millis) in steps {
            bench.wait(millis);
            let mut made = bench.timer();
            if upwards {
                let tcp = packet.tcp().expect("TCP");
                acknowledged.0.push((tcp.ack, tcp.window));
                let (step, passed) = bench.pass_ack(&packet);
                made.extend(step.made);
                let mut stripped = passed.clone();
                if let Some(tcp) = stripped.tcp_mut() {
                    tcp.options.sack = packet.tcp().expect("TCP").options.sack;
                }
                let mut original = packet.clone();
                original.tcp_mut();
                prop_assert_eq!(stripped, original, "nothing is edited but SACK blocks");
                if matches!(step.verdict, Verdict::Drop(_)) {
                    prop_assert!(tcp.flags == TcpFlags::ACK && packet.payload().is_empty());
                    prop_assert!(tcp.options.unknown.is_none() && tcp.sack_reports().0.is_none());
                }
            } else {
                made.extend(bench.core(&packet).made);
            }
            for packet in made {
                let tcp = packet.tcp().expect("it makes ACKs");
                prop_assert!(acknowledged.0.contains(&(tcp.ack, tcp.window)), "{:?}", tcp);
                prop_assert!(tcp.flags == TcpFlags::ACK && packet.payload().is_empty());
            }
        }
    }

    #[test]
    fn withheld_reports_are_sent_in_the_end(
        threshold in 3..12_u32,
        steps in proptest::collection::vec((1..12_u32, 1..6_u32, 0..60_u64), 1..100),
    ) {
        // A receiver with one hole at a time, which reports all data above it; whether the hole
        // closes or not, the sender gets every report, or it does not matter any more.
        let mut bench = Bench::with(Settings { threshold, ..Settings::default() });
        for n in 0..20 {
            bench.core(&data(n));
        }
        let (mut number, mut above, mut reported) = (0, 0, 0);
        for (advance, more, millis) in steps {
            bench.wait(millis);
            let mut delivered = bench.timer();
            let closes = advance > 9;
            if closes {
                number = (above.max(number) + 1).min(18);
                above = number;
            }
            above = (above.max(number + 1) + more).min(20);
            let packet = ack(number).reports(&[(number + 1, above)]);
            let (step, passed) = bench.pass_ack(&packet);
            delivered.extend(step.made);
            if step.verdict == Verdict::Forward {
                delivered.push(passed);
            }
            for packet in delivered {
                for (_, right) in packet.tcp().expect("TCP").options.sack.as_slice() {
                    reported = reported.max((right.0.wrapping_sub(FIRST)) / SEGMENT);
                }
            }
        }
        let last = bench.wait(1000).timer();
        for packet in last {
            for (_, right) in packet.tcp().expect("TCP").options.sack.as_slice() {
                reported = reported.max((right.0.wrapping_sub(FIRST)) / SEGMENT);
            }
        }
        prop_assert_eq!(reported, above);
        prop_assert_eq!(bench.agent.deadline(), None);
    }
}
