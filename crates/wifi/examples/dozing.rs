//! A case of `benches/dozing.rs`, as a program: `dozing SECONDS STATIONS [awake]` prints the number
//! of packets delivered. For instructions: `valgrind --tool=callgrind`.

#![expect(clippy::print_stdout, reason = "a program")]

#[path = "../benches/cells/mod.rs"]
mod cells;

fn main() {
    let argument = |index, default| {
        std::env::args().nth(index).and_then(|argument| argument.parse().ok()).unwrap_or(default)
    };
    let (seconds, stations) = (argument(1, 1000), argument(2, 50));
    let dozing = std::env::args().all(|argument| argument != "awake");
    println!("{}", cells::run_sparse(cells::sparse(stations as u32, dozing), seconds));
}
