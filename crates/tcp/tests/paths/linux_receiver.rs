//! How many ACKs a receiver sends, against a kernel of 6.18.44.
//!
//! There, a program at a TUN device was the sender and the path: slow start from ten segments to sixty,
//! segments of 1448 octets with timestamps, 25 ms each way, no PSH; a process read at once. Ranges are those
//! of four runs. The kernel's counts for the second hundred are lower if its reader was late by a segment or
//! two; ours reads at once. Above the gap, the kernel sent ACKs after the arrivals 801, 802, 803, 804, 814,
//! 824, 834 and 844.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{AckPolicy, Config, Recovery};

use crate::path::{Hop, Path};

fn path(bits_a_second: u64, segments: u32) -> Path {
    let config = Config {
        window_max: Some(3840 << 10),
        send_window: Some(segments * 1448),
        timestamps: true,
        sack: true,
        dsack: true,
        recovery: Recovery::Sack,
        initial_window: 10,
        initial_ssthresh: u32::MAX,
        ack_policy: AckPolicy::Linux,
        ack_compression: true,
        ..Config::default()
    };
    let hops = [Hop::new(10_000_000_000, Duration::ZERO), Hop::new(bits_a_second, Duration::from_millis(25))];
    Path::new(&config, hops)
}

/// ACKs after the arrival of one segment until that of another.
fn acks(path: &Path, from: u32, to: u32) -> usize {
    path.acks.iter().filter(|arrived| (from + 1..=to).contains(*arrived)).count()
}

#[test]
fn a_transfer_begins_with_quick_acks_and_settles_at_one_for_two_segments() {
    let mut path = path(10_000_000, 60);
    path.run_until(Instant::from_secs(3));
    let counts = [(0, 100), (100, 200), (200, 500), (1000, 2000)].map(|(from, to)| acks(&path, from, to));
    assert!((87..=92).contains(&counts[0]), "87 to 91 of the first 100 segments: {counts:?}");
    assert!((60..=80).contains(&counts[1]), "67 to 69 of the next: {counts:?}");
    assert_eq!(counts[2..], [150, 500]);
}

#[test]
fn above_a_gap_three_acks_are_sent_at_once_and_then_one_a_millisecond() {
    let mut path = path(100_000_000, 200);
    path.drops = vec![800];
    path.run_until(Instant::from_secs(1));
    let behind: Vec<u32> = path.acks.iter().copied().filter(|arrived| *arrived > 800).take(8).collect();
    // The first is quick, because the window opened for the data above the gap.
    assert_eq!(behind, [801, 802, 803, 804, 814, 824, 834, 844]);
}
