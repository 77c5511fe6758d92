//! FAILURE.

use super::*;
use lasthop_config::preset::Presets as _;

#[test]
fn failure_sends_three_duplicates_to_the_sender() {
    let mut bench = Bench::at_access_point(Settings::published());
    bench.through(&data(FIRST, 100));
    let lost = bench.sent(&data(FIRST + 100, 100));
    let step = bench.fate(&lost, Fate::GivenUp);
    assert_eq!(step.acks(), [FIRST + 100; 3]);
    let windows: Vec<u16> = step.core.iter().filter_map(|packet| Some(packet.tcp()?.window)).collect();
    assert_eq!(windows, [windows[0]; 3]);
}

#[test]
fn only_the_first_loss_in_a_sequence_is_reported() {
    let mut bench = Bench::at_access_point(Settings::published());
    let lost: Vec<Packet> = (0..3).map(|n| bench.sent(&data(FIRST + n * 100, 100))).collect();
    let duplicates: Vec<usize> =
        lost.iter().map(|packet| bench.fate(packet, Fate::GivenUp).core.len()).collect();
    assert_eq!(duplicates, [3, 0, 0]);
    // The hole is filled: the next loss is a first one again.
    let again = bench.sent(&data(FIRST, 100));
    assert_eq!(bench.delivered(&again).acks(), [FIRST + 100]);
    let again = bench.sent(&data(FIRST + 100, 100));
    assert_eq!(bench.fate(&again, Fate::GivenUp).core.len(), 3);
}

#[test]
fn a_failure_of_delivered_data_is_ignored() {
    let mut bench = Bench::at_access_point(Settings::published());
    let sent = bench.sent(&data(FIRST, 100));
    bench.delivered(&sent);
    assert!(bench.fate(&sent, Fate::GivenUp).core.is_empty());
}

#[test]
fn the_last_segment_is_sent_again_by_the_agent() {
    let mut bench = Bench::at_access_point(Settings::default());
    let lost = bench.sent(&data(FIRST, 100));
    let step = bench.fate(&lost, Fate::GivenUp);
    assert!(step.core.is_empty());
    assert_eq!(step.radio, std::slice::from_ref(&lost));
    assert_eq!(bench.fate(&lost, Fate::GivenUp).core.len(), 3, "once");
}

#[test]
fn a_segment_followed_by_others_triggers_duplicates() {
    let mut bench = Bench::at_access_point(Settings::default());
    let lost = bench.sent(&data(FIRST, 100));
    bench.sent(&data(FIRST + 100, 100));
    let step = bench.fate(&lost, Fate::GivenUp);
    assert_eq!((step.acks(), step.radio.len()), (vec![FIRST; 3], 0));
}

#[test]
fn duplicates_of_the_receiver_pass_unchanged() {
    for settings in [Settings::default(), Settings::published()] {
        let mut bench = Bench::at_access_point(settings);
        bench.through(&data(FIRST, 100));
        bench.radio(&evidence(FIRST + 100));
        let duplicate = ack(FIRST + 100).sack(&[(FIRST + 200, FIRST + 300)]);
        for _ in 0..5 {
            assert_eq!(bench.radio(&accepting(duplicate.clone())).passed, Some(duplicate.clone()));
        }
    }
}
