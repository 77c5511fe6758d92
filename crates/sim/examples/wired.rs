//! The wired case of `benches/worlds`, as a program: `wired [linux|bbr|bbr3] SECONDS` prints the
//! number of data packets delivered, with Reno or with TCP as Linux has it: CUBIC or BBR. For
//! `benches/compare-ns.py` and `benches/instructions.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/worlds/mod.rs"]
mod worlds;

use lasthop_packet::Instant;
use lasthop_sim::QueueLimit;
use lasthop_tcp::{Config, Congestion};

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let controls =
        [("linux", Config::linux().congestion), ("bbr", Congestion::Bbr), ("bbr3", Congestion::Bbr3)];
    let of_linux = controls.into_iter().find(|(name, _)| arguments.next_if_eq(*name).is_some());
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok()).unwrap_or(1000);
    let (mut world, flow) = match of_linux {
        Some((_, congestion)) => {
            worlds::wired_with(&Config { congestion, ..Config::linux() }, QueueLimit::Packets(50).into())
        }
        None => worlds::wired(),
    };
    world.run(Instant::from_secs(seconds), false);
    let outcome = world.outcome(flow);
    assert!(outcome.intact && world.accounts().balance(), "a broken simulation");
    println!("{}", outcome.octets / u64::from(worlds::MSS));
}
