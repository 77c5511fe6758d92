//! Tables 5.4 to 5.12.

use std::time::Duration;

use lasthop_scenario::{Scenario, SchemeChoice};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::network::{Parameters, experiment};
use crate::compare::completions;
use crate::progress::Progress;
use crate::reproduce::{Reference, Row};
use crate::run::{RunError, RunSummary, run};
use crate::stats::Estimate;

/// The tolerance around the published improvement of Refined ICMP in any cell, in percentage
/// points.
pub const REFINED_TOLERANCE: f64 = 9.0;
/// A degradation by more than this, in percent, makes the thesis's Simple ICMP harmful: ours must
/// then be between a third and three times as much. Otherwise this is the tolerance around the
/// published number, in percentage points.
pub const SIMPLE_HARM: f64 = 10.0;

/// One setting with its numbers in the tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The table's number.
    pub table: String,
    /// The parameters.
    pub parameters: Parameters,
    /// Improvement of Simple ICMP over unmodified TCP, in percent.
    pub simple: f64,
    /// Improvement of Refined ICMP over unmodified TCP, in percent.
    pub refined: f64,
}

/// The runs of one setting, each scheme's in the order of the seeds.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The parameters, and the numbers of the thesis.
    pub setting: Setting,
    /// Without loss; a single run, since nothing in it is random.
    pub no_loss: RunSummary,
    /// Unmodified TCP.
    pub unmodified: Vec<RunSummary>,
    /// Simple ICMP.
    pub simple: Vec<RunSummary>,
    /// Refined ICMP.
    pub refined: Vec<RunSummary>,
}

/// The 45 settings with the published numbers, from `improvement.csv`.
pub fn settings() -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for line in include_str!("improvement.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [table, delay, bad, window, scheme, improvement] = fields[..] else { continue };
        let (Ok(delay), Ok(bad), Ok(window), Ok(improvement)) =
            (delay.parse(), bad.parse(), window.parse(), improvement.parse::<f64>())
        else {
            continue;
        };
        let parameters = Parameters {
            wired_delay: Duration::from_millis(delay),
            mean_bad: Duration::from_secs_f64(bad),
            window_kb: window,
        };
        let at = settings.iter().position(|setting| setting.parameters == parameters).unwrap_or_else(|| {
            settings.push(Setting { table: table.to_owned(), parameters, simple: 0.0, refined: 0.0 });
            settings.len() - 1
        });
        match scheme {
            "simple-icmp" => settings[at].simple = improvement,
            _ => settings[at].refined = improvement,
        }
    }
    settings
}

/// Runs every setting under every scheme and seed, in parallel.
pub fn measure(settings: &[Setting], seeds: &[u64], progress: &dyn Progress) -> Result<Vec<Cell>, RunError> {
    progress.expect(settings.len() as u64 * (3 * seeds.len() as u64 + 1));
    settings.par_iter().map(|setting| measure_cell(setting, seeds, progress)).collect()
}

fn measure_cell(setting: &Setting, seeds: &[u64], progress: &dyn Progress) -> Result<Cell, RunError> {
    let scenario = experiment(setting.parameters);
    let none: &[u64] = &[1];
    let all = |name, seeds| runs(&scenario, name, seeds, progress);
    let mut no_loss = all(SchemeChoice::NO_LOSS, none)?;
    Ok(Cell {
        setting: setting.clone(),
        // One seed, one run.
        no_loss: no_loss.swap_remove(0),
        unmodified: all("none", seeds)?,
        simple: all("simple-icmp", seeds)?,
        refined: all("refined-icmp", seeds)?,
    })
}

/// Why a scheme of the thesis is found: it is in the catalog, and its settings have defaults.
pub(super) const IN_CATALOG: &str = "the catalog has the thesis's schemes";

/// A scheme's runs, one per seed.
pub(super) fn runs(
    scenario: &Scenario,
    scheme: &str,
    seeds: &[u64],
    progress: &dyn Progress,
) -> Result<Vec<RunSummary>, RunError> {
    let scheme = SchemeChoice::new(scheme, toml::Table::new()).expect(IN_CATALOG);
    seeds
        .par_iter()
        .map(|seed| {
            let summary = run(scenario, &scheme, *seed, progress);
            progress.advance();
            summary
        })
        .collect()
}

impl Cell {
    /// Improvement of the completion time over unmodified TCP, in percent.
    pub fn improvement(&self, scheme: &[RunSummary]) -> Option<Estimate> {
        Estimate::percent_below(&completions(scheme)?, &completions(&self.unmodified)?)
    }

    /// Degradation of the completion time from the case without loss, in percent.
    pub fn degradation(&self, scheme: &[RunSummary]) -> Option<Estimate> {
        let ideal = self.no_loss.aggregate.completion_s?;
        let percent: Vec<f64> =
            completions(scheme)?.iter().map(|completion| (completion / ideal - 1.0) * 100.0).collect();
        Estimate::from_samples(&percent)
    }
}

/// The thesis's range of degradation in figure 5.8, which has the settings of table 5.4 (section
/// 5.5.4). The tolerance is half a point on both sides.
const FIGURE_5_8: (f64, f64) = (2.45, 6.35);

/// The tables' 90 numbers and their signs, then the degradation of Refined ICMP in the 45 settings.
pub fn rows(cells: &[Cell]) -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in cells {
        rows.push(improvement_row(cell, "simple-icmp", &cell.simple, cell.setting.simple));
        rows.push(improvement_row(cell, "refined-icmp", &cell.refined, cell.setting.refined));
    }
    rows.extend(rows.iter().filter_map(Row::sign).collect::<Vec<_>>());
    for cell in cells {
        let all = ("figures 5.8 to 5.16", Reference::Range(2.45, 24.88), Reference::Range(2.0, 25.0));
        rows.push(degradation_row(cell, all));
    }
    for cell in cells.iter().filter(|cell| cell.setting.table == "5.4") {
        let (from, to) = FIGURE_5_8;
        let one = ("figure 5.8", Reference::Range(from, to), Reference::Range(from - 0.5, to + 0.5));
        rows.push(degradation_row(cell, one));
    }
    rows
}

fn degradation_row(cell: &Cell, (item, published, tolerance): (&str, Reference, Reference)) -> Row {
    let measured = cell.degradation(&cell.refined);
    let metric = ("refined-icmp", "degradation against no loss", "percent");
    let row = number_row(item, metric, 0.0, measured, cell.refined.len(), tolerance);
    let unmodified = cell.degradation(&cell.unmodified).map(|estimate| estimate.mean);
    Row { parameters: parameters(cell.setting.parameters), published, ..row }.without_effect(unmodified)
}

fn improvement_row(cell: &Cell, scheme: &str, runs: &[RunSummary], published: f64) -> Row {
    let tolerance = match scheme {
        "refined-icmp" => Reference::Range(published - REFINED_TOLERANCE, published + REFINED_TOLERANCE),
        _ if published < -SIMPLE_HARM => Reference::Range(published * 3.0, published / 3.0),
        _ => Reference::Range(published - SIMPLE_HARM, published + SIMPLE_HARM),
    };
    let measured = cell.improvement(runs);
    let item = format!("table {}", cell.setting.table);
    let metric = (scheme, "improvement over unmodified", "percent");
    let row = number_row(&item, metric, published, measured, runs.len(), tolerance);
    Row { parameters: parameters(cell.setting.parameters), ..row }.without_effect(Some(0.0))
}

/// A row whose published value is a number and whose tolerance is a range around it.
pub(super) fn number_row(
    item: &str,
    (scheme, metric, unit): (&str, &str, &'static str),
    published: f64,
    measured: Option<Estimate>,
    runs: usize,
    tolerance: Reference,
) -> Row {
    Row {
        paper: "goel".to_owned(),
        item: item.to_owned(),
        parameters: Map::new(),
        scheme: scheme.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        published: Reference::Number(published),
        ..Row::within(tolerance, measured, runs)
    }
}

pub(super) fn parameters(parameters: Parameters) -> Map<String, Value> {
    let entries = [
        ("wired_delay_ms", json!(parameters.wired_delay.as_millis() as u64)),
        ("mean_bad_s", json!(parameters.mean_bad.as_secs_f64())),
        ("window_kb", json!(parameters.window_kb)),
    ];
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_45_settings_with_two_numbers_each() {
        let settings = settings();
        assert_eq!(settings.len(), 45);
        assert!(settings.iter().all(|setting| setting.refined > 0.0 && setting.simple < 10.0));
        let last = settings.last().expect("45 settings");
        assert_eq!((last.table.as_str(), last.simple, last.refined), ("5.12", -48.67, 18.33));
    }
}
