//! A paper's numbers beside ours, with a verdict for each row.

mod explained;
mod null;
mod tally;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::stats::Estimate;
pub use explained::Explanations;
pub use tally::Tally;

/// The parameter of a row with the minimum difference of its claim, in percent.
pub(crate) const AT_LEAST: &str = "at_least_percent";

/// One number of a paper, or one claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The paper's short name, as on the command line.
    pub paper: String,
    /// The figure, table or claim in the paper.
    pub item: String,
    /// The conditions of the runs. A comparison has the other scheme in `than`.
    pub parameters: Map<String, Value>,
    /// The scheme.
    pub scheme: String,
    /// The measured quantity, or the claim.
    pub metric: String,
    /// The unit of the numbers.
    pub unit: String,
    /// The value in the paper; null for a claim without a number.
    pub published: Reference,
    /// The simulator's value, a mean over the runs; null if the verdict rests on no number.
    pub measured: Option<f64>,
    /// Half the width of its 95% confidence interval.
    pub ci95: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// The range in which `measured` must lie; a null end is infinite. Null if the verdict is
    /// computed otherwise: with `at_least_percent` in `parameters`, the whole confidence interval
    /// must lie above that number.
    pub tolerance: Reference,
    /// Whether the simulator agrees with the paper.
    pub agrees: bool,
    /// What the row would have without an agent, or with an effect of 0%; null if it is not about a
    /// scheme, or if the verdict rests on no number.
    pub no_effect: Option<f64>,
    /// Whether the row would agree then, too, so that its verdict says nothing about the scheme; null
    /// if it is not about a scheme.
    pub no_effect_agrees: Option<bool>,
    /// Whether the row repeats an experiment of the paper with another choice of what the paper leaves
    /// open.
    pub alternative: bool,
}

impl Row {
    /// A row that agrees if what was measured in this number of runs lies within the tolerance. The texts and `published` are to
    /// be filled in.
    pub(crate) fn within(tolerance: Reference, measured: Option<Estimate>, runs: usize) -> Self {
        Self {
            paper: String::new(),
            item: String::new(),
            parameters: Map::new(),
            scheme: String::new(),
            metric: String::new(),
            unit: String::new(),
            published: Reference::None,
            measured: measured.map(|estimate| estimate.mean),
            ci95: measured.and_then(|estimate| estimate.ci95),
            runs,
            tolerance,
            agrees: measured.is_some_and(|estimate| tolerance.contains(estimate.mean)),
            no_effect: None,
            no_effect_agrees: None,
            alternative: false,
        }
    }
}

/// A row with what the documents say of its disagreement; `lasthop reproduce --json` prints an array of
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainedRow {
    /// The number or claim.
    #[serde(flatten)]
    pub row: Row,
    /// Why the row disagrees; null if it agrees, or if no explanation is listed.
    pub explained: Option<String>,
}

/// A number, a range, or nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reference {
    /// A number.
    Number(f64),
    /// From, to; null in JSON for an infinite end.
    Range(f64, f64),
    /// The row is a claim whose verdict is computed otherwise.
    None,
}

impl Reference {
    /// Whether a number lies within the range, or equals the number.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Number(number) => (value - number).abs() < f64::EPSILON,
            Self::Range(from, to) => (from..=to).contains(&value),
            Self::None => true,
        }
    }

    /// The text in a table; `None` without a number.
    pub fn shown(self) -> Option<String> {
        match self {
            Self::Number(number) => Some(decimals(number)),
            Self::Range(from, f64::INFINITY) => Some(format!("at least {}", decimals(from))),
            Self::Range(f64::NEG_INFINITY, to) => Some(format!("at most {}", decimals(to))),
            Self::Range(from, to) => Some(format!("{} to {}", decimals(from), decimals(to))),
            Self::None => None,
        }
    }
}

/// A number with as many decimals as it needs, at most two.
fn decimals(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Range(from, to) => [from, to].serialize(serializer),
            Self::None => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Range(Option<f64>, Option<f64>),
            None,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Number(number) => Self::Number(number),
            Written::Range(from, to) => {
                Self::Range(from.unwrap_or(f64::NEG_INFINITY), to.unwrap_or(f64::INFINITY))
            }
            Written::None => Self::None,
        })
    }
}
