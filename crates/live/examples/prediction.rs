//! What the simulator predicts for each run of `lasthop try`, without the real hosts: the mean over
//! seeds, with half the 95% confidence interval (normal).
//!
//!     cargo run -p lasthop-live --example prediction -- 20 scenarios/try-wifi.toml wlans.cell.standard=802.11g

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use lasthop_live::trial::{plan, prediction};
use lasthop_scenario::{Overrides, file};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "prediction SEEDS SCENARIO [KEY=VALUE]...";
    let (seeds, path): (u64, String) = (words.next().ok_or(usage)?.parse()?, words.next().ok_or(usage)?);
    let overrides = Overrides { settings: words.collect(), ..Overrides::default() };
    let mut scenario = file::read(Path::new(&path), &overrides)?;
    scenario.seeds = (1..=seeds).collect();
    let mut goodputs: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for case in plan::cases(&scenario) {
        if let Some(goodput) = prediction::goodput_bps(&scenario, &case)? {
            goodputs.entry((case.flow, case.congestion, case.scheme)).or_default().push(goodput / 1e6);
        }
    }
    for ((flow, congestion, scheme), runs) in goodputs {
        let count = runs.len() as f64;
        let mean = runs.iter().sum::<f64>() / count;
        let variance = runs.iter().map(|run| (run - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let half = 1.96 * (variance / count).sqrt();
        println!("{flow:10} {congestion:8} {scheme:12} {mean:6.3} ± {half:.3} Mbit/s");
    }
    Ok(())
}
