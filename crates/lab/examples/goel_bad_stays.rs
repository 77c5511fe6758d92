//! An experiment on the difference between the thesis's numbers and ours: all its tables with
//! longer stays of the channel in the bad state than stated.
//!
//! `cargo run --release -p lasthop-lab --example goel_bad_stays -- 1.0 1.3`

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use lasthop_lab::goel::tables::{Cell, measure, rows, settings};
use lasthop_lab::progress::Silent;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "factor  refined: mean distance, largest, degradation  simple: mean improvement where harmful (published)  rows that agree"
    );
    let seeds: Vec<u64> = (1..=20).collect();
    for factor in std::env::args().skip(1) {
        let factor: f64 = factor.parse()?;
        let mut settings = settings();
        for setting in &mut settings {
            setting.parameters.mean_bad = setting.parameters.mean_bad.mul_f64(factor);
        }
        let cells = measure(&settings, &seeds, &Silent)?;
        let distances: Vec<f64> = cells
            .iter()
            .filter_map(|cell| {
                cell.improvement(&cell.refined).map(|ours| (ours.mean - cell.setting.refined).abs())
            })
            .collect();
        let degradations: Vec<f64> = cells
            .iter()
            .filter_map(|cell| cell.degradation(&cell.refined))
            .map(|estimate| estimate.mean)
            .collect();
        let harmful: Vec<&Cell> = cells.iter().filter(|cell| cell.setting.simple < -10.0).collect();
        let ours: f64 =
            harmful.iter().filter_map(|cell| cell.improvement(&cell.simple)).map(|e| e.mean).sum();
        let theirs: f64 = harmful.iter().map(|cell| cell.setting.simple).sum();
        let rows = rows(&cells);
        let low = degradations.iter().copied().fold(f64::INFINITY, f64::min);
        let high = degradations.iter().copied().fold(0.0, f64::max);
        println!(
            "{factor:6.2}  {:22.2} {:8.2} {low:6.2} to {high:5.2}  {:36.1} ({:5.1})  {:18} of {}",
            distances.iter().sum::<f64>() / distances.len() as f64,
            distances.iter().copied().fold(0.0, f64::max),
            ours / harmful.len() as f64,
            theirs / harmful.len() as f64,
            rows.iter().filter(|row| row.agrees).count(),
            rows.len(),
        );
    }
    Ok(())
}
