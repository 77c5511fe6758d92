//! State that moves to an agent with other settings: with all obligations, or not at all.

use super::control::{SEGMENT, answer, segment, sender_with};
use super::keeping::asking;
use super::*;
use lasthop_config::preset::Presets as _;

#[test]
fn acknowledged_data_moves_only_to_an_agent_that_keeps_it() {
    let mut bench = Bench::at_access_point(Settings::default());
    let sent = bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    let state = bench.export();
    let published = Lle::new(Settings::published(), Role::Edge);
    let refusal = bench.import(published, &state).expect_err("it would be lost");
    assert_eq!(refusal, ImportError::NoRoom("what was acknowledged would not be kept"));
    assert_eq!(bench.import(Lle::new(Settings::default(), Role::Edge), &state), Ok(()));
    assert_eq!(bench.wait(400).timer().radio, [asking(&sent)]);
}

/// A phone whose TCP has ACKs of three segments that the server has not acknowledged, and these.
fn acknowledged_three(settings: Settings) -> (Bench, Vec<Packet>) {
    let mut bench = sender_with(settings);
    let sent: Vec<Packet> = (0..3).map(|n| bench.sent(&segment(n))).collect();
    for packet in &sent {
        bench.delivered(packet);
    }
    assert_eq!(bench.lle.unproven(), u64::from(3 * SEGMENT));
    (bench, sent)
}

/// Another phone's agent continues.
fn assert_it_is_repaired(mut bench: Bench, sent: &[Packet]) {
    assert_eq!(bench.lle.unproven(), u64::from(3 * SEGMENT));
    assert_eq!(bench.wait(1000).timer().radio, sent[..1]);
    bench.radio(&answer(3));
    assert_eq!(bench.lle.unproven(), 0);
}

#[test]
fn locally_acknowledged_data_moves_only_where_there_is_room() {
    let (mut bench, sent) = acknowledged_three(Settings { sender_buffer: 10_000, ..Settings::default() });
    let state = bench.export();
    let with = |sender_buffer| Lle::new(Settings { sender_buffer, ..Settings::default() }, Role::MobileHost);
    let octets = sent.iter().map(Packet::len).sum();
    for too_small in [0, octets - 1] {
        let refusal = bench.import(with(too_small), &state);
        assert_eq!(refusal, Err(ImportError::NoRoom("sender-buffer")));
    }
    assert_eq!(bench.import(with(octets), &state), Ok(()));
    assert_it_is_repaired(bench, &sent);
}

#[test]
fn locally_acknowledged_data_does_not_move_without_a_sender_buffer() {
    let mut bench = sender_with(Settings { sender_buffer: 10_000, ..Settings::default() });
    let state = bench.export();
    let refusal = bench.import(Lle::new(Settings::default(), Role::MobileHost), &state);
    assert_eq!(refusal, Err(ImportError::NoRoom("sender-buffer")));
}

#[test]
fn locally_acknowledged_data_is_kept_and_moves_as_published_too() {
    let (mut bench, sent) = acknowledged_three(Settings { sender_buffer: 10_000, ..Settings::published() });
    let state = bench.export();
    let settings = bench.lle.settings.clone();
    assert_eq!(bench.import(Lle::new(settings, Role::MobileHost), &state), Ok(()));
    assert_it_is_repaired(bench, &sent);
}
