//! RED's average and its uniform spacing (Floyd and Jacobson 1993).

use lasthop_packet::{Ecn, Instant, Probability, Rng};

use super::support::{Site, ms};
use crate::accounts::DropCause;
use crate::queue::red::{Chance, Red};
use crate::queue::{Discipline, Pushed, QueueLimit, RedConfig, Thresholds};

/// Seconds for an octet at 8 Mbit/s.
const OCTET_TIME: f64 = 1e-6;

fn red(config: RedConfig) -> Red {
    Red::new(config, OCTET_TIME, Rng::named(1, "red"))
}

fn probability(value: f64) -> Probability {
    Probability::new(value).expect("0 to 1")
}

/// A queue that has been of this length for so long that its average is the same.
fn settled(config: RedConfig, queue: usize) -> Red {
    let mut red = red(RedConfig { weight: 1.0, ..config });
    red.on_arrival((queue, queue as u64 * 500), 500, Instant::ZERO);
    red.set(config);
    red
}

/// The gaps between the packets that are dropped of many that find a queue of this length.
fn gaps(config: RedConfig, queue: usize, packets: u32) -> Vec<u32> {
    let mut red = settled(config, queue);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for _ in 0..packets {
        gap += 1;
        if red.on_arrival((queue, queue as u64 * 500), 500, Instant::ZERO) != Chance::Passes {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps.remove(0);
    gaps
}

// Section 6: L packets arrive at an empty queue, which begins at 0, without one leaving; then the
// average is L + 1 + ((1 - w)^(L + 1) - 1) / w. The paper's example: with w = 0.001 and L = 100 it
// is 4.88, below a lower threshold of 5.
#[test]
fn the_average_after_a_burst_is_that_of_the_paper() {
    let config = RedConfig { weight: 0.001, ..RedConfig::default() };
    let mut red = red(config);
    for queue in 1..=100 {
        red.on_arrival((queue, 0), 500, Instant::ZERO);
    }
    let (w, l): (f64, f64) = (0.001, 100.0);
    let paper = l + 1.0 + (libm::pow(1.0 - w, l + 1.0) - 1.0) / w;
    assert!((paper - 4.88).abs() < 0.01, "{paper}");
    assert!((red.average() - paper).abs() < 1e-9, "{} for {paper}", red.average());
}

// Section 4: the gateway estimates how many small packets could have been transmitted by an idle
// link.
#[test]
fn an_idle_link_lets_the_average_fall_as_if_typical_packets_had_found_it_empty() {
    let config = RedConfig { weight: 0.01, ..RedConfig::default() };
    let mut red = settled(config, 10);
    red.on_departure(500, ms(0));
    // Busy for half a millisecond, idle for 20 typical packets' time; and the packet itself.
    red.on_arrival((0, 0), 500, Instant::from_nanos(10_500_000));
    let expected = 10.0 * libm::pow(0.99, 21.0);
    assert!((red.average() - expected).abs() < 1e-9, "{} for {expected}", red.average());
    // A queue that is empty while the link is busy counts as one packet's finding.
    red.on_departure(500, Instant::from_nanos(10_500_000));
    red.on_arrival((0, 0), 500, Instant::from_nanos(10_600_000));
    assert!((red.average() - expected * 0.99).abs() < 1e-9);
}

// Section 7, figure 8: with method 2 the number of packets between two marks is uniform; its mean is
// half of that of independent marks. By figure 2 the count is 1 for the first packet behind a mark.
#[test]
fn the_gaps_between_drops_are_uniform() {
    let config = RedConfig { max_probability: probability(0.02), ..RedConfig::default() };
    let gaps = gaps(config, 10, 2_000_000);
    // Half way between 5 and 15: one in a hundred.
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&1), Some(&99)));
    let mut parts = [0_u32; 11];
    for gap in &gaps {
        parts[(*gap as usize - 1) / 9] += 1;
    }
    let expected = gaps.len() as f64 / 11.0;
    let chi: f64 = parts.iter().map(|part| (f64::from(*part) - expected).powi(2) / expected).sum();
    // 10 degrees of freedom: above 29.6 in one of a thousand cases.
    assert!(chi < 29.6, "{chi}: {parts:?}");
}

#[test]
fn the_part_that_is_dropped_grows_with_the_average() {
    let config = RedConfig { weight: 1e-12, ..RedConfig::default() };
    let part = |config, queue| {
        let gaps = gaps(config, queue, 200_000);
        gaps.len() as f64 / gaps.iter().sum::<u32>() as f64
    };
    assert!(matches!(settled(config, 4).on_arrival((4, 0), 500, Instant::ZERO), Chance::Passes));
    // The mean gap is half of 1 / p.
    for (queue, p) in [(6, 0.01), (10, 0.05), (14, 0.09), (18, 0.1 + 0.9 * 0.2), (22, 0.1 + 0.9 * 7.0 / 15.0)]
    {
        let by_figure_2: f64 = 1.0 / mean_gap(p);
        let measured = part(config, queue);
        assert!((measured / by_figure_2 - 1.0).abs() < 0.03, "{queue}: {measured} for {by_figure_2}");
    }
    let strict = RedConfig { gentle: false, ..config };
    for (config, queue) in [(config, 30), (strict, 15), (strict, 29)] {
        assert!((part(config, queue) - 1.0).abs() < 1e-12, "all at {queue}");
    }
}

/// The mean gap where the packet behind a drop has the count 1.
fn mean_gap(p: f64) -> f64 {
    let (mut left, mut mean, mut gap) = (1.0, 0.0, 1.0);
    while left > 1e-12 {
        let now = if gap * p < 1.0 { (p / (1.0 - gap * p)).min(1.0) } else { 1.0 };
        mean += gap * left * now;
        left *= 1.0 - now;
        gap += 1.0;
    }
    mean
}

#[test]
fn with_thresholds_in_octets_a_packet_of_twice_the_length_has_twice_the_chance() {
    let config = RedConfig {
        thresholds: Thresholds::Octets(2500, 7500),
        max_probability: probability(0.02),
        weight: 1e-12,
        ..RedConfig::default()
    };
    let dropped = |len| {
        let mut red = settled(config, 10);
        (0..200_000).filter(|_| red.on_arrival((1, 5000), len, Instant::ZERO) != Chance::Passes).count()
    };
    let (small, large) = (dropped(500), dropped(1000));
    assert!((large as f64 / small as f64 - 2.0).abs() < 0.05, "{small} and {large}");
}

// RFC 3168, section 7: above the upper threshold packets are dropped, not marked.
#[test]
fn marks_take_the_place_of_drops_below_the_upper_threshold_only() {
    let queue_of = |weight| {
        let thresholds = Thresholds::Packets(5, 50);
        let red = RedConfig { thresholds, weight, ecn: true, ..RedConfig::default() };
        let mut site = Site::new(Discipline::Red(red), QueueLimit::Unlimited);
        let pushed: Vec<_> = (0..1000).map(|_| site.push(1, 500, Ecn::Ect0, Instant::ZERO)).collect();
        let dropped = Pushed::Dropped(DropCause::QueueManagement);
        (site, pushed.into_iter().filter(|pushed| *pushed == dropped).count())
    };
    let (mut site, dropped) = queue_of(0.0001);
    assert!(dropped == 0 && site.queue.marked() > 5, "{dropped}");
    let left = std::iter::from_fn(|| site.pop(Instant::ZERO)).filter(|left| left.is_marked).count();
    assert_eq!(left as u64, site.queue.marked());
    let (site, dropped) = queue_of(1.0);
    assert!(dropped > 500 && site.queue.marked() > 0, "{dropped}");
}
