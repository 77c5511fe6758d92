//! CoDel's control loop (RFC 8289, section 5).

use std::time::Duration;

use lasthop_packet::{Ecn, Instant};

use super::support::{Site, ms};
use crate::queue::{CoDelConfig, Discipline, Pushed, QueueLimit};

const INTERVAL: f64 = 100.0;

fn site(ecn: bool) -> Site {
    Site::new(Discipline::CoDel(CoDelConfig { ecn, ..CoDelConfig::default() }), QueueLimit::Unlimited)
}

/// Fills a queue at time 0 and takes a packet each millisecond, for `millis`. Returns when packets
/// were dropped, in milliseconds.
fn drops_of_a_standing_queue(site: &mut Site, millis: u64) -> Vec<u64> {
    for _ in 0..5_000 {
        site.push(1, 1000, Ecn::NotEct, Instant::ZERO);
    }
    let mut drops = Vec::new();
    for now in 0..millis {
        site.pop(ms(now));
        drops.extend(site.dropped().iter().map(|_| now));
    }
    drops
}

// RFC 8289, section 3.3: the next drop is due in inverse proportion to the square root of the number of
// drops.
#[test]
fn drops_of_a_standing_queue_come_an_interval_over_the_root_of_their_number_apart() {
    let drops = drops_of_a_standing_queue(&mut site(false), 2000);
    // Above the target from 5 ms on; an interval later the first is dropped.
    let mut expected = vec![105.0];
    let mut next = 105.0;
    for count in 1.. {
        next += INTERVAL / f64::from(count).sqrt();
        if next >= 1999.0 {
            break;
        }
        expected.push(next);
    }
    assert_eq!(drops.len(), expected.len());
    for (drop, expected) in drops.iter().zip(expected) {
        // Packets leave once in a millisecond.
        assert_eq!(*drop, expected.ceil() as u64);
    }
}

#[test]
fn a_queue_below_the_target_loses_nothing_and_one_good_packet_in_an_interval_is_enough() {
    let mut site = site(false);
    for now in 0..10_000 {
        // Ten packets wait; they are served every 6 ms, but one in each 90 ms is fresh.
        site.push(1, 1000, Ecn::NotEct, ms(now * 6));
        let is_fresh = now % 15 == 0;
        if now >= 4 {
            site.pop(ms(now * 6));
        }
        if is_fresh && now >= 4 {
            while site.queue.size().0 > 0 {
                site.pop(ms(now * 6));
            }
            for _ in 0..4 {
                site.push(1, 1000, Ecn::NotEct, ms(now * 6));
            }
        }
    }
    assert_eq!(site.dropped(), []);
}

/// Keeps a queue standing until `drops` packets were dropped, then empties it. Returns when each was
/// dropped, and when the queue was empty.
fn episode(site: &mut Site, start: u64, drops: usize) -> (Vec<u64>, u64) {
    let mut at = Vec::new();
    for _ in 0..5_000 {
        site.push(1, 1000, Ecn::NotEct, ms(start));
    }
    let mut now = start;
    while at.len() < drops {
        now += 1;
        site.pop(ms(now));
        at.extend(site.dropped().iter().map(|_| now));
    }
    while site.queue.size().0 > 0 {
        site.pop(ms(now));
        at.extend(site.dropped().iter().map(|_| now));
    }
    (at, now)
}

/// The spacing of the first two drops of a second episode, and the number of drops of the first one
/// after its first.
fn second_episode(pause: u64) -> (u64, usize) {
    let mut site = site(false);
    let (first, end) = episode(&mut site, 0, 20);
    let (second, _) = episode(&mut site, end + pause, 3);
    (second[1] - second[0], first.len() - 1)
}

//= RFC 8289, section 5.5: if min went above TARGET close to when it last went below, assume that
//= the drop rate that controlled the queue on the last cycle is a good starting point to control it
//= now.
#[test]
fn the_dropping_state_that_is_entered_again_soon_goes_on_at_the_rate_that_it_had() {
    let (spacing, delta) = second_episode(100);
    // The first count was 1; what it rose by is what the second begins with.
    assert_eq!(spacing, (INTERVAL / (delta as f64).sqrt()).ceil() as u64, "{delta}");
    let (spacing, _) = second_episode(16 * 100 + 100);
    assert_eq!(spacing, 100, "after 16 intervals it starts from the beginning");
}

// RFC 8289, section 5.6: the queue never gets smaller than what arrives in the time of one packet.
#[test]
fn what_is_no_more_than_the_largest_packet_is_left_alone_however_late() {
    let mut site = site(false);
    site.push(1, 1500, Ecn::NotEct, Instant::ZERO);
    site.pop(Instant::ZERO);
    for now in 0..10_000 {
        // Two packets of 750 octets: behind the one that leaves there is never more than 1500.
        site.push(1, 750, Ecn::NotEct, ms(now * 200));
        if now >= 2 {
            site.pop(ms(now * 200));
        }
    }
    assert_eq!(site.dropped(), []);
    for now in 10_000..10_010 {
        site.push(1, 760, Ecn::NotEct, ms(now * 200));
        site.push(1, 760, Ecn::NotEct, ms(now * 200));
        site.pop(ms(now * 200));
    }
    assert!(!site.dropped().is_empty());
}

#[test]
fn packets_that_understand_ecn_are_marked_at_the_times_at_which_others_are_dropped() {
    let drops = drops_of_a_standing_queue(&mut site(false), 2000);
    let mut site = site(true);
    for number in 0..5_000 {
        let ecn = [Ecn::Ect0, Ecn::Ect1, Ecn::Ce][number % 3];
        site.push(1, 1000, ecn, Instant::ZERO);
    }
    let mut marked = 0;
    for now in 0..2000 {
        let before = site.queue.marked();
        let left = site.pop(ms(now)).expect("there are enough");
        assert_eq!(site.dropped(), []);
        if site.queue.marked() > before {
            assert!(left.is_marked);
            assert_eq!(now, drops[marked]);
            marked += 1;
        }
    }
    assert_eq!(marked, drops.len());
}

#[test]
fn without_ecn_among_its_settings_it_drops_what_could_be_marked() {
    let mut site = site(false);
    for _ in 0..1000 {
        site.push(1, 1000, Ecn::Ect0, Instant::ZERO);
    }
    for now in 0..300 {
        assert_eq!(site.pop(ms(now)).map(|left| left.is_marked), Some(false));
    }
    assert!(site.dropped().len() > 2 && site.queue.marked() == 0);
}

#[test]
fn a_limit_drops_what_comes_last_and_the_last_packet_always_leaves() {
    let codel = CoDelConfig { target: Duration::ZERO, interval: Duration::from_millis(1), ecn: false };
    let mut site = Site::new(Discipline::CoDel(codel), QueueLimit::Packets(3));
    let pushed: Vec<_> = (0..5).map(|_| site.push(1, 1000, Ecn::NotEct, Instant::ZERO)).collect();
    assert_eq!(pushed.iter().filter(|pushed| **pushed == Pushed::Waits).count(), 3);
    for now in 1..1000 {
        assert!(site.pop(ms(now * 50)).is_some());
        site.push(1, 1000, Ecn::NotEct, ms(now * 50));
        site.push(1, 1000, Ecn::NotEct, ms(now * 50));
        site.push(1, 1000, Ecn::NotEct, ms(now * 50));
    }
    assert!(site.dropped().len() > 100);
}
