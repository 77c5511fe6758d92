//! Arbitrary packets.

use lasthop_agent::{Accounts as _, Transfer as _};
use lasthop_config::preset::Presets as _;
use proptest::prelude::*;

use super::*;

/// Packets between two hosts, marked or not, with small and large numbers so that some match and
/// some do not.
fn any_packet() -> impl Strategy<Value = Packet> {
    let number = || {
        prop_oneof![
            8 => (0u32..12).prop_map(|n| FIRST + n * 50),
            2 => (0u32..6).prop_map(|n| UP + n * 50),
            1 => (0u32..9).prop_map(|n| u32::MAX - n * 50),
            1 => any::<u32>(),
        ]
    };
    let flags =
        prop_oneof![8 => Just(0x10u8), 1 => Just(0x11), 1 => Just(0x02), 1 => Just(0x12), 1 => any::<u8>()];
    let window = prop_oneof![4 => Just(WINDOW), 1 => Just(0), 1 => any::<u16>()];
    let pointer =
        prop_oneof![2 => Just(0u16), 6 => (0u16..16).prop_map(|bits| 0x4c50 | bits), 1 => any::<u16>()];
    let options = (
        proptest::option::of(number()),
        proptest::collection::vec((number(), number()), 0..3),
        proptest::option::of(any::<u8>()),
    );
    let len = prop_oneof![3 => Just(0u32), 3 => Just(50), 1 => 0..70_000u32];
    ((number(), number(), flags, window, any::<bool>()), options, len, pointer).prop_map(
        |((seq, acked, flags, window, upwards), (stamp, blocks, scale), len, pointer)| {
            let tcp = Tcp {
                seq: Seq(seq),
                ack: Seq(acked),
                flags: TcpFlags(flags),
                window,
                urgent_pointer: pointer,
                ..Tcp::default()
            };
            let packet = if upwards { up(tcp, len) } else { down(tcp, len) };
            packet.but(|tcp| {
                tcp.options.window_scale = scale.filter(|_| flags & 2 != 0);
                tcp.options.timestamps =
                    stamp.map(|value| Timestamps { value, echo_reply: value.wrapping_add(1) });
                for (left, right) in &blocks {
                    tcp.options.sack.push(Seq(*left), Seq(*right));
                }
            })
        },
    )
}

fn small(published: bool, buffer: bool) -> Settings {
    let preset = if published { Settings::published() } else { Settings::default() };
    Settings { kept_octets: 60_000, sender_buffer: if buffer { 70_000 } else { 0 }, ..preset }
}

proptest! {
    #[test]
    fn arbitrary_packets_cause_no_panic_and_the_bounds_hold(
        steps in proptest::collection::vec((any_packet(), 0u8..4, 0u64..400), 1..120),
        published in any::<bool>(),
        at_phone in any::<bool>(),
        buffer in any::<bool>(),
    ) {
        let mut bench = Bench::new(small(published, buffer), if at_phone { Role::MobileHost } else { Role::Edge });
        bench.budget = Budget { flows: 1, octets_in_all: 80_000, ..Budget::default() };
        for (packet, what, millis) in steps {
            bench.wait(millis);
            let step = match what {
                0 => bench.core(&packet),
                1 => bench.radio(&packet),
                2 => bench.delivered(&packet),
                _ => bench.fate(&packet, Fate::GivenUp),
            };
            // Payload and all packets except ACKs pass.
            if what < 2 && (packet.segment_len() > 0 || packet.tcp().is_some_and(|tcp| tcp.flags.0 & !0x08 != 0x10)) && bench.lle.settings.sender_buffer == 0 {
                let passed = step.passed.expect("it is no bare ACK");
                prop_assert_eq!(passed.payload(), packet.payload());
            }
            bench.timer();
            if let Some(deadline) = bench.lle.deadline() {
                prop_assert!(deadline.at > bench.now, "a busy loop: {deadline:?}");
            }
            prop_assert!(bench.lle.octets() <= 80_000 && bench.lle.held() <= 1);
        }
        bench.call(Lle::drain);
        prop_assert_eq!(bench.lle.held(), 0);
    }

    #[test]
    fn duplicate_acks_and_exhausted_windows_are_never_suppressed(
        numbers in proptest::collection::vec((0u32..20, 0u16..3, any::<bool>()), 1..60),
    ) {
        let mut bench = Bench::at_phone(Settings::default());
        let mut highest = FIRST + 100;
        for (number, window, also_at_access_point) in numbers {
            let number = FIRST + number * 100;
            if number > highest {
                bench.radio(&promised(data(number - 100, 100)));
            }
            let packet = ack(number).window(window * 1000);
            let step = bench.core(&packet);
            if number <= highest || window == 0 {
                prop_assert!(step.passed.is_some());
                let on_air = step.passed.expect("just asserted");
                prop_assert!(!on_air.tcp().is_some_and(|tcp| Mark::from_segment(tcp).has(Mark::EVIDENCE)));
                if also_at_access_point {
                    let mut above = Bench::at_access_point(Settings::default());
                    (0..20).for_each(|n| drop(above.through(&data(FIRST + n * 100, 100))));
                    prop_assert!(above.radio(&on_air).passed.is_some());
                }
            }
            highest = highest.max(number);
        }
    }
}
