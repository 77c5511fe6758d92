//! The wired case of `benches/worlds`, as a program: `wired SECONDS` prints the number of data
//! packets delivered. For `benches/compare-ns2.sh` and `benches/instructions.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/worlds/mod.rs"]
mod worlds;

use lasthop_packet::Instant;

fn main() {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(1000);
    let (mut world, flow) = worlds::wired();
    world.run(Instant::from_secs(seconds), false);
    let outcome = world.outcome(flow);
    assert!(outcome.intact && world.accounts().balance(), "a broken simulation");
    println!("{}", outcome.octets / u64::from(worlds::MSS));
}
