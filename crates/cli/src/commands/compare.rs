//! `lasthop compare`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use lasthop_lab::compare::{Comparison, ComparisonRow};
use lasthop_lab::table::{self, FlowsShown, paragraph};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::load::{self, Choices, Loaded};
use crate::memory::MemoryLimit;
use crate::number::whole;
use crate::output;
use crate::progress::Bar;
use crate::rectangle;

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
    #[arg(long, value_delimiter = ',', value_name = "NAME", value_parser = load::scheme_name())]
    schemes: Vec<String>,
    /// Run with this many seeds (1, 2, 3 and so on) instead of the scenario's seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1..=10_000))]
    seeds: Option<u64>,
    /// List every flow, also those that do not fit on a screen
    #[arg(long)]
    all_flows: bool,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
    /// Print one CSV table instead: for each scheme a row for all flows together (scope "all"), then one
    /// for each flow (scope "flow"). Column names have the units; an empty field is a missing value
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub fn execute(arguments: &Arguments) -> Result<(), Failure> {
    arguments.memory.apply();
    let mut scenario = match load::any(&arguments.scenario, &arguments.choices)? {
        Loaded::Scenario(scenario) => *scenario,
        // All runs would be equal, and a confidence interval of zero width would be misleading.
        Loaded::DataFile(data) if arguments.seeds.is_some() && data.scenario.wlans.is_empty() => {
            let problem = "--seeds is allowed only with scenarios and with data files (.dat) that have an 802.11 cell (shared_links); in other data files each link has its random_seed";
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
    let comparison = lasthop_lab::compare(&scenario, &bar);
    bar.finish();
    let comparison = comparison?;
    if arguments.json {
        return output::print_json(&comparison);
    }
    if arguments.csv {
        return rectangle::print(&["scheme", "scope", "flow", "transport"], &lines(&comparison)?);
    }
    let shown = if arguments.all_flows { FlowsShown::All } else { FlowsShown::Screenful };
    let runs = match comparison.seeds.len() {
        1 => "one run each".to_owned(),
        seeds if !comparison.runs_differ => {
            format!("{seeds} runs each, all equal: nothing here depends on the seed")
        }
        seeds => format!("mean of {seeds} runs each, ± half-width of the 95% confidence interval"),
    };
    output::print(&format!(
        "{}\n{}\n{}",
        paragraph(&load::title(&scenario, &arguments.choices)),
        table::comparison(&comparison, shown),
        paragraph(&format!("{runs}{}{}", improvement(&comparison), load::warm_up(&scenario))),
    ))
}

/// The explanation of the improvement, which refers to the completion time only if all runs
/// completed.
fn improvement(comparison: &Comparison) -> String {
    let completed = |row: &&ComparisonRow| row.completion_s.is_some();
    let baseline = comparison.rows.iter().find(|row| row.scheme == comparison.baseline);
    let compared: Vec<&ComparisonRow> =
        comparison.rows.iter().filter(|row| row.improvement_percent.is_some()).collect();
    if compared.is_empty() {
        return String::new();
    }
    let in_time =
        baseline.filter(completed).map_or(0, |_| compared.iter().filter(|row| completed(row)).count());
    let what = match in_time {
        0 => "goodput gained over",
        all if all == compared.len() => "completion time saved, compared with",
        _ => "completion time saved, or goodput gained if a run did not complete, compared with",
    };
    format!("; improvement: {what} {:?}", comparison.baseline)
}

/// The lines of the CSV table.
fn lines(comparison: &Comparison) -> Result<Vec<Value>, Failure> {
    let lines: Result<Vec<Vec<Value>>, _> = comparison.rows.iter().map(lines_of).collect();
    Ok(lines.map_err(|error| Failure::Run(error.into()))?.concat())
}

/// The lines of a scheme: one for all flows together, then one for each flow.
fn lines_of(row: &ComparisonRow) -> Result<Vec<Value>, serde_json::Error> {
    let mut all = serde_json::to_value(row)?;
    all["scope"] = json!("all");
    if let Some(fields) = all.as_object_mut() {
        // The flows have their own lines; a group's mean can be computed from them.
        fields.retain(|key, _| !["flows", "single_flows"].contains(&key.as_str()));
    }
    let mut lines = vec![all];
    for flow in &row.single_flows {
        let mut line = serde_json::to_value(flow)?;
        line["scheme"] = json!(row.scheme);
        line["runs"] = json!(row.runs);
        line["scope"] = json!("flow");
        lines.push(line);
    }
    Ok(lines)
}
