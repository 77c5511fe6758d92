//! Saturated stations over 802.11b, as a program: `saturated SECONDS STATIONS` prints the number of exchanges begun. For CPU time, which a
//! busy machine changes less than the clock: `perf stat -e user_time target/release/examples/saturated 1000 20`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/cells/mod.rs"]
mod cells;

use lasthop_sim::wifi::{Standard, WlanConfig};

fn main() {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, stations) = (argument(1, 1000), argument(2, 20));
    let cell = cells::cell(stations as u32, WlanConfig::new(Standard::HrDsss));
    println!("{}", cells::run(cell, seconds));
}
