//! The 802.11 case of `benches/worlds`, as a program: `cell STATIONS [dozing|per-flow] SECONDS`
//! prints the number of data packets delivered; with "dozing" all stations save power, with
//! "per-flow" flows take turns. For `benches/instructions.sh`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/worlds/mod.rs"]
mod worlds;

use lasthop_packet::Instant;

fn main() {
    let is_said = |word| std::env::args().any(|argument| argument == word);
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (stations, seconds) = (arguments.next().unwrap_or(20), arguments.next().unwrap_or(1000));
    let (mut world, flows) = match (is_said("dozing"), is_said("per-flow")) {
        (true, _) => worlds::dozing_wlan(stations),
        (false, true) => worlds::wlan_in_turns(stations),
        (false, false) => worlds::wlan(stations),
    };
    world.run(Instant::from_secs(u64::from(seconds)), false);
    let octets: u64 = flows.iter().map(|flow| world.outcome(*flow).octets).sum();
    assert!(world.accounts().balance(), "a broken simulation");
    println!("{}", octets / u64::from(worlds::MSS));
}
