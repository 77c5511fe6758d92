//! Runs the engine to count its instructions: `engine long|short|frames SCHEME FLOWS BATCHES`.
//! `long` has FLOWS connections with data in turn, 64 frames per batch; `short` adds one connection
//! of 6 frames per batch to FLOWS existing ones; `frames` only creates the frames of `long`, to be
//! subtracted. Prints the number of frames. Count the instructions of two runs of different length
//! with `valgrind --tool=callgrind`, and divide their difference by the difference of the frames.
#![allow(clippy::print_stdout, reason = "a program")]

#[path = "../benches/engine/mod.rs"]
mod cases;

use std::hint::black_box;

use cases::Bench;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, scheme, flows, batches] = &arguments[..] else {
        panic!("usage: engine long|short|frames SCHEME FLOWS BATCHES");
    };
    let number = |text: &String| text.parse::<u32>().unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut bench = Bench::new(number(flows), scheme);
    let mut frames = 0;
    for _ in 0..number(batches) {
        let batch = if what == "short" { bench.short() } else { bench.batch() };
        frames += batch.len();
        if what == "frames" {
            black_box(batch);
        } else {
            bench.pass(batch);
        }
    }
    println!("{frames}");
}
