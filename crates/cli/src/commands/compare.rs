//! `lasthop compare`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::{compare, table};

use crate::failure::Failure;
use crate::load::{self, Choices, Loaded};
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::progress::Bar;

/// The arguments of `compare`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  lasthop compare scenarios/first-look.toml\n  lasthop compare scenarios/measured-link.toml --trace \
                        my-link.down\n  lasthop compare scenarios/first-look.toml --schemes none,snoop --seeds 5 --json"
)]
pub struct Arguments {
    /// The scenario, a TOML file, or a data file (.dat)
    scenario: PathBuf,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    memory: MemoryLimit,
    /// Compare only these schemes (comma-separated labels of the scenario or names of the catalog)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    schemes: Vec<String>,
    /// Run with this many seeds (1, 2, 3 and so on) instead of the scenario's seeds
    #[arg(long, value_name = "N", value_parser = whole(1..=10_000))]
    seeds: Option<u64>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let mut scenario = match load::any(&arguments.scenario, &arguments.choices)? {
        Loaded::Scenario(scenario) => *scenario,
        // Every run would be the same, and an interval of no width would look like certainty.
        Loaded::DataFile(_) if arguments.seeds.is_some() => {
            let problem =
                "--seeds is allowed only with scenarios; in a data file (.dat) each link has its random_seed";
            return Err(Failure::usage(anyhow!(problem)));
        }
        Loaded::DataFile(data) => data.scenario,
    };
    if let Some(seeds) = arguments.seeds {
        scenario.seeds = (1..=seeds).collect();
    }
    if !arguments.schemes.is_empty() {
        load::keep_schemes(&mut scenario, &arguments.schemes)?;
    }
    load::note_idle_schemes(&scenario, &scenario.schemes)?;
    let bar = Bar::new();
    let comparison = compare(&scenario, &bar);
    bar.finish();
    let comparison = comparison?;
    if arguments.json {
        return output::print_json(&comparison);
    }
    let runs = match comparison.seeds.len() {
        1 => "one run each".to_owned(),
        seeds => format!("mean of {seeds} runs each, ± half the 95% confidence interval"),
    };
    let baseline = match comparison.rows.len() {
        1 => String::new(),
        _ => format!("; improvement over {:?}", comparison.baseline),
    };
    output::print(&format!(
        "{}\n{}\n{runs}{baseline}",
        load::title(&scenario),
        table::comparison(&comparison),
    ))
}
