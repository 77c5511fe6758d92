//! Two gateways as daemons, a client that moves between them with many connections, and `kill -9` of either gateway at
//! random moments of hand-offs.
//!
//! ```text
//!                  +-- core [hall]   radio --+
//! server --- lan --+                         +-- air --- lossy cable --- client
//!                  +-- core [stairs] radio --+
//! ```
//!
//! `LASTHOP_STRESS_CONNECTIONS` (20), `LASTHOP_STRESS_MOVES` (3) and `LASTHOP_STRESS_SEED` say how many, and
//! which. The cable loses 1% of the frames in each direction. Half of the connections are downloads, half uploads; half
//! of each have CUBIC, half BBR where the kernel has it.
//!
//!     LASTHOP_STRESS_CONNECTIONS=100 LASTHOP_STRESS_MOVES=50 cargo test -p lasthop-cli --test roaming_stress -- --nocapture
#![allow(clippy::disallowed_methods, reason = "real hosts take real time")]
#![allow(clippy::print_stdout, reason = "the figures are a result")]

#[path = "roaming_stress/streams.rs"]
mod streams;
#[path = "roaming_stress/testbed.rs"]
mod testbed;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use lasthop_needs::{namespaces, tests};

use streams::{Ended, Streams};
use testbed::{Registry, Testbed};

fn main() -> ExitCode {
    lasthop_needs::run(tests! {
        [namespaces]:
            connections_follow_their_client_without_a_loss,
            connections_of_which_nothing_is_owed_outlive_the_kill_of_a_gateway,
            split_connections_outlive_the_kill_of_the_gateway_that_their_client_has_left,
            a_split_connection_whose_gateway_is_killed_never_gets_an_octet_that_was_not_sent;
        [namespaces, etcd]:
            hand_offs_go_on_while_a_member_of_etcd_is_killed_and_while_all_are_away;
    })
}

fn etcd() -> Result<(), String> {
    lasthop_needs::program("etcd")
}

/// Octets of a connection after a move are awaited for this long.
const WINDOW: Duration = Duration::from_secs(1);

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
}

fn connections_follow_their_client_without_a_loss() {
    for scheme in ["snoop", "i-tcp"] {
        let figures = walk(scheme, Registry::File, |_| Mishap::None);
        assert_eq!((figures.lost.len(), figures.wrong), (0, 0), "{scheme}: {:?}", figures.lost);
        assert_eq!(figures.broken, 0, "{scheme}");
    }
}

fn connections_of_which_nothing_is_owed_outlive_the_kill_of_a_gateway() {
    let figures = walk("snoop", Registry::File, each_third_move_has_a_kill);
    assert_eq!((figures.lost.len(), figures.wrong), (0, 0), "{:?}", figures.lost);
}

fn split_connections_outlive_the_kill_of_the_gateway_that_their_client_has_left() {
    let figures = walk("i-tcp", Registry::File, |number| match number % 3 {
        0 => Mishap::KillFormerGateway,
        _ => Mishap::None,
    });
    assert_eq!((figures.lost.len(), figures.wrong), (0, 0), "{:?}", figures.lost);
}

fn a_split_connection_whose_gateway_is_killed_never_gets_an_octet_that_was_not_sent() {
    let figures = walk("i-tcp", Registry::File, each_third_move_has_a_kill);
    assert_eq!(figures.wrong, 0);
}

fn hand_offs_go_on_while_a_member_of_etcd_is_killed_and_while_all_are_away() {
    let moves = setting("LASTHOP_STRESS_MOVES", 3);
    let mishap = |number| match number {
        2 => Mishap::KillMember,
        _ if number == moves => Mishap::AllMembersAway,
        _ => Mishap::None,
    };
    for scheme in ["snoop", "i-tcp"] {
        let figures = walk(scheme, Registry::Etcd, mishap);
        assert_eq!((figures.lost.len(), figures.wrong), (0, 0), "{scheme}: {:?}", figures.lost);
    }
}

/// What happens at a move.
enum Mishap {
    None,
    /// One of the gateways is killed, a random moment after the client has moved.
    KillGateway,
    /// The gateway that the client has left is killed, once the other one serves the client.
    KillFormerGateway,
    /// A member of etcd is killed, and started again after the move.
    KillMember,
    /// All members of etcd are killed before the move, and started again some time after it.
    AllMembersAway,
}

const fn each_third_move_has_a_kill(number: u64) -> Mishap {
    if number.is_multiple_of(3) { Mishap::KillGateway } else { Mishap::None }
}

struct Figures {
    /// The connections that ended early: why.
    lost: Vec<String>,
    /// Connections with an octet that was not sent.
    wrong: usize,
    /// Obligations that the gateways that are left have counted as broken.
    broken: u64,
}

/// A stream of numbers that is the same for the same seed (Knuth's LCG).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Lets the client walk.
fn walk(scheme: &str, registry: Registry, mishap: impl Fn(u64) -> Mishap) -> Figures {
    let connections = setting("LASTHOP_STRESS_CONNECTIONS", 20) as usize;
    let moves = setting("LASTHOP_STRESS_MOVES", 3);
    let mut draw = Draw(setting("LASTHOP_STRESS_SEED", 1));
    let mut site = Testbed::new(scheme, registry);
    let streams = Streams::start(&site, connections);
    thread::sleep(Duration::from_secs(2));
    let quiet = Instant::now();
    thread::sleep(WINDOW);
    let (mut moved, mut killed) = (Vec::new(), Vec::new());
    for number in 1..=moves {
        thread::sleep(Duration::from_millis(300 + draw.below(200)));
        let to = (number % 2) as usize;
        let mishap = mishap(number);
        if matches!(mishap, Mishap::AllMembersAway) {
            (0..3).for_each(|member| site.kill_member(member));
        }
        let at = Instant::now();
        site.move_to(to);
        match &mishap {
            Mishap::None => moved.push(at),
            Mishap::KillGateway => {
                thread::sleep(Duration::from_micros(draw.below(15_000)));
                site.kill_and_start_again(draw.below(2) as usize);
                killed.push(at);
            }
            Mishap::KillFormerGateway => {
                site.wait_for(to);
                site.kill_and_start_again(1 - to);
                killed.push(at);
            }
            Mishap::KillMember => {
                site.kill_member(0);
                killed.push(at);
            }
            Mishap::AllMembersAway => {
                site.wait_for(to);
                thread::sleep(Duration::from_secs(setting("LASTHOP_STRESS_AWAY_SECONDS", 3)));
                (0..3).for_each(|member| site.start_member(member));
                killed.push(at);
            }
        }
        site.wait_for(to);
        if matches!(mishap, Mishap::KillMember) {
            site.start_member(0);
        }
        thread::sleep(WINDOW.saturating_sub(at.elapsed()));
    }
    let reports = [0, 1].map(|index| site.report(index));
    let ended = streams.end();
    let figures = Figures {
        lost: ended.iter().filter_map(|ended| ended.failure.clone()).collect(),
        wrong: ended.iter().filter(|ended| ended.is_wrong).count(),
        broken: [0, 1].map(|index| site.broken(index)).iter().sum(),
    };
    println!("{scheme}, {connections} connections, {moves} moves, {} with a mishap:", killed.len());
    for (what, times) in [("no move", &vec![quiet]), ("a move", &moved), ("a move and a mishap", &killed)] {
        let mut pauses: Vec<u128> = times.iter().flat_map(|at| pauses(&ended, *at)).collect();
        pauses.sort_unstable();
        let quantile =
            |share: usize| pauses.get((pauses.len().max(1) - 1) * share / 100).copied().unwrap_or(0);
        println!(
            "  longest pause of a connection within {WINDOW:?} of {what}: median {} ms, 99% {} ms, most {} ms ({} of them)",
            quantile(50),
            quantile(99),
            quantile(100),
            pauses.len()
        );
    }
    println!(
        "  {} connections lost, {} with wrong octets, {} obligations broken; {} octets received",
        figures.lost.len(),
        figures.wrong,
        figures.broken,
        ended.iter().map(|ended| ended.received).sum::<u64>()
    );
    for report in reports {
        println!("  {}: {:?}", report.access_point, report.counters);
    }
    figures
}

/// The longest pause of each connection that is open then, in milliseconds.
fn pauses(ended: &[Ended], at: Instant) -> Vec<u128> {
    let until = at + WINDOW;
    let is_open = |ended: &&Ended| ended.last > until;
    let longest = |ended: &Ended| {
        let within = ended.pauses.iter().filter(|(began, end)| *end > at && *began < until);
        within.map(|(began, end)| end.duration_since(*began).as_millis()).max().unwrap_or(0)
    };
    ended.iter().filter(is_open).map(longest).collect()
}
