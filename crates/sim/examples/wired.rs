//! The wired case of `benches/worlds`, as a program: `wired [linux] SECONDS` prints the number of
//! data packets delivered, with Reno or with TCP as Linux has it. For `benches/compare-ns2.sh` and
//! `benches/instructions.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/worlds/mod.rs"]
mod worlds;

use lasthop_packet::Instant;
use lasthop_sim::QueueLimit;
use lasthop_tcp::Config;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let is_linux = arguments.next_if_eq("linux").is_some();
    let seconds = arguments.next().and_then(|seconds| seconds.parse().ok()).unwrap_or(1000);
    let (mut world, flow) = if is_linux {
        worlds::wired_with(&Config::linux(), QueueLimit::Packets(50).into())
    } else {
        worlds::wired()
    };
    world.run(Instant::from_secs(seconds), false);
    let outcome = world.outcome(flow);
    assert!(outcome.intact && world.accounts().balance(), "a broken simulation");
    println!("{}", outcome.octets / u64::from(worlds::MSS));
}
