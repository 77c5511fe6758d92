//! Saturated stations over 802.11b, as a program: `saturated SECONDS STATIONS [PERCENT] [by-frame]`
//! prints the number of exchanges begun; so many per cent of all frames are lost; with "by-frame"
//! no exchange is settled when it begins. For CPU time, which a busy machine changes less than the
//! clock: `perf stat -e user_time target/release/examples/saturated 1000 20`; for instructions,
//! which it does not change at all: `valgrind --tool=callgrind`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/cells/mod.rs"]
mod cells;

use lasthop_packet::Probability;
use lasthop_wifi::{ErrorConfig, Standard, WlanConfig};

fn main() {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, stations, percent) = (argument(1, 1000), argument(2, 20), argument(3, 0));
    let lost = Probability::new(percent as f64 / 100.0).unwrap_or(Probability::ONE);
    let settle = std::env::args().all(|argument| argument != "by-frame");
    let errors = ErrorConfig::packets(lost, true);
    let config = WlanConfig { errors, settle, ..WlanConfig::new(Standard::HrDsss) };
    let cell = cells::cell(stations as u32, config);
    println!("{}", cells::run(cell, seconds));
}
