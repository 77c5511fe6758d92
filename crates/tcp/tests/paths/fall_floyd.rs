//! Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP" (ACM CCR 26(3),
//! 1996), figures 2 to 5: one to four packets of one window are lost.
//!
//! Their path: 8 Mbit/s and 0.1 ms, then 0.8 Mbit/s and 100 ms, packets of 1,000 octets. There,
//! other flows fill the queue so that the packets are lost; here they are just those that ns-2's
//! own scripts for these figures lose: 14; 14 and 28; 14, 26 and 28; 14, 24, 26 and 28, all of the
//! window that ends with 28, when cwnd is 15. Packets are numbered from 0.

use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_tcp::{Config, Recovery};

use crate::path::{Hop, Path};

const DROPS: [&[u32]; 4] = [&[14], &[14, 28], &[14, 26, 28], &[14, 24, 26, 28]];

/// A round trip with as much in the queue as there is during recovery: 212 ms and up to 150 ms of
/// queue.
const ROUND_TRIP: (f64, f64) = (0.2, 0.37);

/// What became of a flow.
#[derive(Debug)]
struct Run {
    timeouts: u64,
    fast_retransmits: u64,
    /// What was sent again, and how many seconds after the first of them.
    again: Vec<(u32, f64)>,
    /// Seconds from the first retransmission until everything up to packet 28 was acknowledged.
    recovered_after: f64,
    /// ssthresh in packets then.
    ssthresh: u32,
    /// The smallest cwnd in packets in between.
    least_cwnd: u32,
}

fn run(recovery: Recovery, figure: usize) -> Run {
    let config = Config {
        mss: 960,
        window: 28 * 960,
        initial_ssthresh: 28 * 960,
        sack: true,
        recovery,
        ..Config::default()
    };
    let hops =
        [Hop::new(8_000_000, Duration::from_micros(100)), Hop::new(800_000, Duration::from_millis(100))];
    let mut path = Path::new(&config, hops);
    path.drops = DROPS[figure - 2].to_vec();
    let behind_28 = path.sender.iss() + 1 + 29 * 960;
    let mut least_cwnd = u32::MAX;
    while path.sender.flight().una.before(behind_28) {
        let end = path.now + Duration::from_millis(1);
        path.run_until(end);
        assert!(path.now < Instant::from_secs(20), "it does not recover");
        if !path.retransmissions().is_empty() {
            least_cwnd = least_cwnd.min(path.sender.flight().cwnd / 960);
        }
    }
    let again = path.retransmissions();
    let seconds = |at: Instant| at.since(again[0].1).as_secs_f64();
    let stats = path.sender.stats();
    Run {
        timeouts: stats.timeouts,
        fast_retransmits: stats.fast_retransmits,
        recovered_after: seconds(path.now),
        ssthresh: path.sender.flight().ssthresh / 960,
        least_cwnd,
        again: again.iter().map(|(number, at)| (*number, seconds(*at))).collect(),
    }
}

fn numbers(run: &Run) -> Vec<u32> {
    run.again.iter().map(|(number, _)| *number).collect()
}

/// That each retransmission but the first follows the one before by a round trip.
#[track_caller]
fn assert_one_a_round_trip(run: &Run) {
    for pair in run.again.windows(2) {
        let apart = pair[1].1 - pair[0].1;
        assert!(ROUND_TRIP.0 < apart && apart < ROUND_TRIP.1, "{run:?}");
    }
}

#[test]
fn figure_2_one_loss_costs_tahoe_slow_start_and_the_others_half_of_the_window() {
    for recovery in Recovery::ALL {
        let run = run(recovery, 2);
        assert_eq!((run.timeouts, run.fast_retransmits, numbers(&run)), (0, 1, vec![14]), "{recovery:?}");
        assert_eq!(run.ssthresh, 7, "{recovery:?}: half of 15");
        assert_eq!(run.least_cwnd, if recovery == Recovery::Tahoe { 1 } else { 7 }, "{recovery:?}");
        assert!(run.recovered_after < ROUND_TRIP.1, "{recovery:?}: {run:?}");
    }
}

#[test]
fn figure_3_two_losses_send_reno_into_recovery_twice_and_newreno_and_sack_once() {
    let reno = run(Recovery::Reno, 3);
    assert_eq!((reno.timeouts, reno.fast_retransmits, numbers(&reno)), (0, 2, vec![14, 28]));
    assert_eq!(reno.ssthresh, 3, "halved twice");
    let newreno = run(Recovery::NewReno, 3);
    assert_eq!((newreno.timeouts, newreno.fast_retransmits, numbers(&newreno)), (0, 1, vec![14, 28]));
    assert_one_a_round_trip(&newreno);
    let sack = run(Recovery::Sack, 3);
    assert_eq!((sack.timeouts, sack.fast_retransmits, numbers(&sack)), (0, 1, vec![14, 28]));
    assert_eq!((newreno.ssthresh, sack.ssthresh), (7, 7), "halved once");
    let tahoe = run(Recovery::Tahoe, 3);
    assert_eq!((tahoe.timeouts, tahoe.fast_retransmits, tahoe.least_cwnd), (0, 1, 1));
    assert!(reno.recovered_after > newreno.recovered_after, "{reno:?} {newreno:?}");
}

#[test]
fn figure_4_three_losses_cost_reno_a_time_out() {
    let reno = run(Recovery::Reno, 4);
    assert_eq!((reno.timeouts, reno.fast_retransmits), (1, 2), "{reno:?}");
    assert_eq!(numbers(&reno)[..3], [14, 26, 28], "the first two by fast retransmit");
    assert_one_loss_a_round_trip_without_sack_and_all_in_one_with_it(4);
}

#[test]
fn figure_5_four_losses_cost_reno_a_time_out_too() {
    let reno = run(Recovery::Reno, 5);
    assert_eq!((reno.timeouts, reno.fast_retransmits), (1, 2), "{reno:?}");
    assert_eq!(numbers(&reno)[..3], [14, 24, 26], "the first two by fast retransmit");
    assert_one_loss_a_round_trip_without_sack_and_all_in_one_with_it(5);
}

/// What figures 4 and 5 have in common.
fn assert_one_loss_a_round_trip_without_sack_and_all_in_one_with_it(figure: usize) {
    let losses = DROPS[figure - 2];
    let of_the_paper = [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack];
    let [tahoe, reno, newreno, sack] = of_the_paper.map(|recovery| run(recovery, figure));

    assert_eq!((newreno.timeouts, newreno.fast_retransmits), (0, 1));
    assert_eq!(numbers(&newreno), losses, "NewReno sends what was lost, and nothing else");
    assert_one_a_round_trip(&newreno);

    assert_eq!((sack.timeouts, sack.fast_retransmits), (0, 1));
    assert_eq!(numbers(&sack), losses, "SACK sends what was lost, and nothing else");
    let last = sack.again.last().expect("it retransmits").1;
    assert!(last < 1.5 * ROUND_TRIP.0, "all of it in about a round trip: {sack:?}");

    assert_eq!((tahoe.timeouts, tahoe.fast_retransmits, tahoe.least_cwnd), (0, 1, 1));
    assert!(numbers(&tahoe).len() > losses.len(), "Tahoe sends again what had arrived: {tahoe:?}");

    assert!(sack.recovered_after < 2.0 * ROUND_TRIP.1, "{sack:?}");
    assert!(sack.recovered_after < newreno.recovered_after, "{sack:?} {newreno:?}");
    assert!(newreno.recovered_after < reno.recovered_after, "{newreno:?} {reno:?}");
    assert!(reno.recovered_after > 1.0, "the timer takes a second at least: {reno:?}");
    assert_eq!((newreno.ssthresh, sack.ssthresh), (7, 7));
}

/// The whole comparison, for docs/src/validation/tcp.md: `cargo test -p lasthop-tcp --test paths table
/// -- --ignored --nocapture`.
#[test]
#[ignore = "prints, checks nothing"]
#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn table() {
    for figure in 2..=5 {
        for recovery in Recovery::ALL {
            println!("figure {figure}, {recovery:?}: {:?}", run(recovery, figure));
        }
    }
}
