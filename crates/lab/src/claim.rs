//! A scenario's schemes side by side, and a claim about two of them.

use std::path::Path;

use lasthop_scenario::{Overrides, file};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::progress::Progress;
use crate::reproduce::{AT_LEAST, Reference, Row};
use crate::run::{RunError, RunSummary, run};
use crate::stats::Estimate;

/// The number and the length of the runs for one number.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of runs.
    pub seeds: u64,
    /// Simulated seconds of each run, instead of the scenario's.
    pub duration: Option<u64>,
}

/// Settings of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// Keys with values, as after `--set`.
    pub settings: Vec<String>,
    /// The settings as parameters of rows.
    pub parameters: Map<String, Value>,
    /// Labels of the schemes to run; if empty, all of the scenario's.
    pub schemes: &'static [&'static str],
}

impl Setting {
    /// One key with a value, or none if `setting` is empty; rows have it verbatim.
    pub fn key(setting: &str) -> Self {
        if setting.is_empty() {
            return Self::default();
        }
        let parameters = Map::from_iter([("set".to_owned(), json!(setting))]);
        Self { settings: vec![setting.to_owned()], parameters, schemes: &[] }
    }
}

/// The runs of a scenario, scheme by scheme.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The short name of the paper.
    paper: &'static str,
    /// The settings of the scenario, for the rows.
    parameters: Map<String, Value>,
    schemes: Vec<(String, Vec<RunSummary>)>,
}

/// The claim that a scheme has more, or less, of a quantity than another.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The place of the claim in the paper.
    item: &'static str,
    /// The labels of the scheme and of the one that it is compared with.
    schemes: (&'static str, &'static str),
    /// The claim, such as "goodput above Snoop's".
    metric: &'static str,
    /// The quantity that is compared.
    of: fn(&RunSummary) -> f64,
    relation: Relation,
    /// The size of the difference.
    by: By,
}

/// Whether the scheme has more of the quantity, or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    More,
    Less,
}

/// The size of a difference, in percent.
#[derive(Clone, Copy, Debug)]
enum By {
    /// The minimum: the complete confidence interval lies above it.
    AtLeast(f64),
    /// The published value and the tolerance around it.
    About(f64, f64),
    /// The range.
    Between(f64, f64),
}

impl Claim {
    /// The claim that a scheme has more goodput than another.
    pub const fn more_goodput(item: &'static str, schemes: (&'static str, &'static str)) -> Self {
        Self::more(item, schemes, "more goodput", goodput)
    }

    /// The claim that a scheme has more of a quantity than another.
    pub const fn more(
        item: &'static str,
        schemes: (&'static str, &'static str),
        metric: &'static str,
        of: fn(&RunSummary) -> f64,
    ) -> Self {
        Self { item, schemes, metric, of, relation: Relation::More, by: By::AtLeast(0.0) }
    }

    /// The claim that a scheme has less of a quantity than another.
    pub const fn less(
        item: &'static str,
        schemes: (&'static str, &'static str),
        metric: &'static str,
        of: fn(&RunSummary) -> f64,
    ) -> Self {
        Self { item, schemes, metric, of, relation: Relation::Less, by: By::AtLeast(0.0) }
    }

    /// The claim with a minimum difference in percent. A minimum below 0 allows a scheme to be a
    /// little worse.
    #[must_use]
    pub const fn by(self, min: f64) -> Self {
        Self { by: By::AtLeast(min), ..self }
    }

    /// The claim with a difference of `published` percent, plus or minus `tolerance`.
    #[must_use]
    pub const fn by_about(self, published: f64, tolerance: f64) -> Self {
        Self { by: By::About(published, tolerance), ..self }
    }

    /// The claim with a difference within this range, in percent.
    #[must_use]
    pub const fn by_between(self, from: f64, to: f64) -> Self {
        Self { by: By::Between(from, to), ..self }
    }
}

impl Runs {
    /// Runs a scenario of this repository for the claims of a paper, with one setting, or none if
    /// `setting` is empty.
    pub fn run(
        paper: &'static str,
        text: &str,
        setting: &'static str,
        effort: Effort,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        Self::run_with(paper, text, Setting::key(setting), effort, progress)
    }

    /// Runs a scenario of this repository for the claims of a paper, with several settings.
    pub fn run_with(
        paper: &'static str,
        text: &str,
        setting: Setting,
        effort: Effort,
        progress: &dyn Progress,
    ) -> Result<Self, RunError> {
        let Setting { settings, parameters, schemes } = setting;
        let duration = effort.duration.map(|seconds| format!("duration={seconds} s"));
        let overrides =
            Overrides { settings: settings.into_iter().chain(duration).collect(), ..Overrides::default() };
        let scenario = file::parse(text, "scenario.toml", Path::new("."), &overrides);
        let mut scenario = scenario.expect("the file is ours, and a test reads it");
        scenario.schemes.retain(|choice| schemes.is_empty() || schemes.contains(&choice.label.as_str()));
        scenario.check_all()?;
        progress.expect(scenario.schemes.len() as u64 * effort.seeds);
        let of_scheme = |choice: &lasthop_scenario::SchemeChoice| {
            let seeds = (1..=effort.seeds).into_par_iter();
            let runs = seeds.map(|seed| {
                let summary = run(&scenario, choice, seed, progress)?;
                progress.advance();
                Ok(summary)
            });
            Ok((choice.label.clone(), runs.collect::<Result<_, RunError>>()?))
        };
        Ok(Self {
            paper,
            parameters,
            schemes: scenario.schemes.par_iter().map(of_scheme).collect::<Result<_, RunError>>()?,
        })
    }

    /// Invented runs.
    #[cfg(test)]
    pub(crate) fn made_up(paper: &'static str, schemes: Vec<(String, Vec<RunSummary>)>) -> Self {
        Self { paper, parameters: Map::new(), schemes }
    }

    /// A quantity of each run under a scheme; empty if the scheme was not run.
    pub fn samples(&self, label: &str, of: fn(&RunSummary) -> f64) -> Vec<f64> {
        let found = self.schemes.iter().find(|(known, _)| known == label);
        found.map_or(Vec::new(), |(_, runs)| runs.iter().map(of).collect())
    }

    /// The settings as parameters of rows.
    pub const fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// The row of a claim.
    pub fn row(&self, claim: &Claim) -> Row {
        let (ours, others) =
            (self.samples(claim.schemes.0, claim.of), self.samples(claim.schemes.1, claim.of));
        let measured = match claim.relation {
            Relation::More => Estimate::percent_above(&ours, &others),
            Relation::Less => Estimate::percent_below(&ours, &others),
        };
        let (published, tolerance, agrees) = match claim.by {
            By::AtLeast(min) => {
                let certain = measured.map(|gain| gain.mean - gain.ci95.unwrap_or(f64::INFINITY));
                (Reference::None, Reference::None, certain.is_some_and(|certain| certain > min))
            }
            By::About(published, distance) => {
                let range = Reference::Range(published - distance, published + distance);
                let agrees = measured.is_some_and(|gain| range.contains(gain.mean));
                (Reference::Number(published), range, agrees)
            }
            By::Between(from, to) => {
                let range = Reference::Range(from, to);
                (range, range, measured.is_some_and(|gain| range.contains(gain.mean)))
            }
        };
        let mut parameters = self.parameters.clone();
        parameters.insert("than".to_owned(), json!(claim.schemes.1));
        if let By::AtLeast(min) = claim.by {
            parameters.insert(AT_LEAST.to_owned(), json!(min));
        }
        let row = Row {
            paper: self.paper.to_owned(),
            item: claim.item.to_owned(),
            parameters,
            scheme: claim.schemes.0.to_owned(),
            metric: claim.metric.to_owned(),
            unit: "percent".to_owned(),
            published,
            measured: measured.map(|estimate| estimate.mean),
            ci95: measured.and_then(|estimate| estimate.ci95),
            runs: ours.len(),
            tolerance,
            agrees,
            no_effect: None,
            no_effect_agrees: None,
            alternative: false,
        };
        row.without_effect(Some(0.0))
    }
}

/// The goodput of all flows, in bits per second: the quantity of most claims.
pub fn goodput(run: &RunSummary) -> f64 {
    run.aggregate.goodput_bps
}

/// Expiries of the senders' retransmission timers.
pub fn timeouts(run: &RunSummary) -> f64 {
    run.aggregate.timeouts as f64
}

/// Reductions of the senders' windows: fast retransmits and time-outs.
pub fn window_reductions(run: &RunSummary) -> f64 {
    (run.aggregate.fast_retransmits + run.aggregate.timeouts) as f64
}

/// Segments that senders sent again.
pub fn retransmits(run: &RunSummary) -> f64 {
    run.aggregate.retransmits as f64
}

/// The mean of the round-trip times that the first flow's sender measured.
pub fn round_trip(run: &RunSummary) -> f64 {
    run.flows.first().and_then(|flow| flow.rtt_mean_s).unwrap_or(f64::NAN)
}
