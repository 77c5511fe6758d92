//! CICADA as published: windows as in 4.3BSD, duplicate ACKs that are forwarded.

use lasthop_agent::Side;

use super::bench::{Bench, fixed, mobile};
use crate::cicada::Settings;
use lasthop_config::preset::Presets as _;

const MSS: u32 = 1460;

/// The first flight over the hop, of 20 segments from the fixed host.
fn first_flight(settings: Settings) -> (Bench, Vec<String>) {
    let mut bench = Bench::split_with(settings);
    let sent = (0..20).flat_map(|n| bench.core(&fixed(1001 + n * MSS, MSS, 5001)).to(Side::Radio)).collect();
    (bench, sent)
}

fn segment(n: u32) -> String {
    format!("A {}+{MSS} ack 5001", 1001 + n * MSS)
}

#[test]
fn a_leg_begins_with_one_segment_and_opens_its_window_by_one_for_each_ack() {
    let (mut bench, sent) = first_flight(Settings::published());
    assert_eq!(sent, [segment(0)]);
    let step = bench.radio(&mobile(5001, 0, 1001 + MSS));
    assert_eq!(step.to(Side::Radio), [segment(1), segment(2)]);
    let (_, sent) = first_flight(Settings::default());
    assert!(sent.len() >= 10, "today: {sent:?}");
}

#[test]
fn a_loss_on_the_hop_reduces_the_window_to_one_segment() {
    let (mut bench, _) = first_flight(Settings::published());
    for n in 1..=4 {
        bench.radio(&mobile(5001, 0, 1001 + n * MSS));
    }
    assert!(bench.wait(900).to(Side::Radio).is_empty(), "no time-out before a second");
    assert_eq!(bench.wait(600).to(Side::Radio), [segment(4)]);
    assert_eq!(bench.radio(&mobile(5001, 0, 1001 + 5 * MSS)).to(Side::Radio), [segment(5), segment(6)]);
}

#[test]
fn the_offered_window_is_the_free_part_of_64_kib() {
    let mut bench = Bench::split_with(Settings::published());
    let offered = |sent: &[(Side, lasthop_packet::Packet)]| {
        let to_fixed = sent.iter().rev().find(|(to, _)| *to == Side::Core);
        to_fixed.and_then(|(_, packet)| packet.tcp()).map(|tcp| u32::from(tcp.window))
    };
    // The mobile host acknowledges nothing: all data is in the VCache.
    let windows: Vec<u32> =
        (0..20).filter_map(|n| offered(&bench.core(&fixed(1001 + n * MSS, MSS, 5001)).sent)).collect();
    assert!(windows.is_sorted_by(|earlier, later| earlier >= later), "{windows:?}");
    // Of 20 segments 19 are acknowledged: the ACK of the last one is delayed.
    assert_eq!(windows.last(), Some(&(65_536 - 19 * MSS)));
}

/// A connection whose mobile host has acknowledged the fixed host's 500 octets.
fn acknowledged(settings: Settings) -> Bench {
    let mut bench = Bench::split_with(settings);
    bench.core(&fixed(1001, 500, 5001));
    bench.radio(&mobile(5001, 0, 1501));
    assert!(bench.obligation().is_free());
    bench
}

#[test]
fn a_duplicate_ack_of_data_outside_the_vcache_passes_to_the_other_end() {
    let duplicate = mobile(5001, 0, 1501);
    assert!(acknowledged(Settings::published()).radio(&duplicate).is_forwarded());
    assert!(!acknowledged(Settings::default()).radio(&duplicate).is_forwarded());
    // The other direction.
    let mut bench = acknowledged(Settings::published());
    bench.radio(&mobile(5001, 300, 1501));
    assert!(!bench.core(&fixed(1501, 0, 5301)).is_forwarded(), "it says something new");
    assert!(bench.core(&fixed(1501, 0, 5301)).is_forwarded());
}

#[test]
fn a_duplicate_ack_of_data_in_the_vcache_is_answered_from_there() {
    let (mut bench, _) = first_flight(Settings::published());
    for n in 1..=4 {
        bench.radio(&mobile(5001, 0, 1001 + n * MSS));
    }
    let duplicate = mobile(5001, 0, 1001 + 4 * MSS);
    let steps = [(); 3].map(|()| bench.radio(&duplicate));
    assert!(steps.iter().all(|step| !step.is_forwarded()));
    assert_eq!(steps[2].to(Side::Radio), [segment(4)]);
}

#[test]
fn the_preset_sets_the_values_in_the_schema_and_given_keys_override_it() {
    let read = |text: &str| Settings::read(toml::from_str(text).expect("well formed")).expect("it reads");
    assert_eq!(read("preset = 'published'"), Settings::published());
    let longer = Settings { vcache: 1 << 20, ..Settings::published() };
    assert_eq!(read("vcache = '1 MiB'\npreset = 'published'"), longer);
    assert_eq!(read(""), Settings::default());
}
