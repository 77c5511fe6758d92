//! The error process of a wireless link or of an IEEE 802.11 cell.

use std::time::Duration;

use super::quantity::{Text, Written};
use super::reader::{Key, Reader};
use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_sim::{ChannelConfig, Sojourn, StateSource};
use schemars::JsonSchema;
use serde::Deserialize;

/// The shortest mean stay in a state. It is shorter than any frame.
const SHORTEST_STAY: Duration = Duration::from_micros(10);

/// An error process of two states, which starts in the good state. The stays have exponential
/// length, or are recorded. Loss from `loss` is added to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ChannelTable {
    /// The good state.
    #[serde(default)]
    good: StayTable,
    /// The bad state.
    #[serde(default)]
    bad: StayTable,
    /// A recorded trace of states instead of exponential stays. The path is relative to the
    /// scenario. Each line has a time in milliseconds and 1 for good or 0 for bad.
    states: Option<String>,
}

/// A state of a channel.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StayTable {
    /// Mean duration of a stay, at least "10 us"; for the bad state "0 s" means never. Required
    /// unless `states` names a trace.
    mean: Option<Text<MeanStay>>,
    /// Probability that a transmission in this state is lost; default "0%" in the good state and
    /// "100%" in the bad state.
    loss: Option<Text<Probability>>,
}

/// The mean duration of a stay. A number of packets has an error message of its own.
#[derive(Clone, Copy, Debug)]
struct MeanStay(Duration);

impl Written for MeanStay {
    const NAME: &'static str = Duration::NAME;
    const EXPECTED: &'static str = Duration::EXPECTED;
    const FORMS: &'static [&'static str] = Duration::FORMS;

    fn read(text: &str) -> Result<Self, String> {
        if text.trim_end().trim_end_matches('s').ends_with("packet") {
            let shown: String = text.chars().take(80).collect();
            return Err(format!(
                "{shown:?} counts packets, and a state lasts for a time, such as \"5 ms\"; for bursts of packets, leave out \
                 `channel` and give the link loss = \"1% in bursts of 4\""
            ));
        }
        Duration::read(text).map(Self)
    }
}

/// Reads the two-state error process whose table is at `place`.
pub(super) fn read(
    reader: &Reader<'_>,
    place: &Key<'_>,
    table: &ChannelTable,
) -> Result<ChannelConfig, FileError> {
    let stay = |state: &str, stay: &StayTable, default: Probability| {
        let key: &Key<'_> = &[place, &[state, "mean"]].concat();
        let loss = stay.loss.map_or(default, |Text(loss)| loss);
        let mean = match (stay.mean, &table.states) {
            (Some(_), Some(_)) => {
                return Err(
                    reader.fail(key, "the states are recorded; a mean is not allowed together with `states`")
                );
            }
            (None, Some(_)) => Duration::ZERO,
            (None, None) => {
                let problem =
                    "missing; expected the mean length of a stay in this state, such as mean = \"5 s\"";
                return Err(reader.fail(key, problem));
            }
            (Some(Text(MeanStay(mean))), None)
                if mean >= SHORTEST_STAY || (mean.is_zero() && state == "bad") =>
            {
                mean
            }
            (Some(_), None) => return Err(reader.fail(key, "expected a mean of \"10 us\" or more")),
        };
        Ok(Sojourn { mean, loss })
    };
    Ok(ChannelConfig {
        good: stay("good", &table.good, Probability::ZERO)?,
        bad: stay("bad", &table.bad, Probability::ONE)?,
        source: match &table.states {
            None => StateSource::Markov,
            Some(states) => {
                let path = reader.beside(states);
                let fail = |problem: String| reader.fail(&[place, &["states"]].concat(), problem);
                StateSource::Trace(reader.named_files.state_trace(&path).map_err(fail)?)
            }
        },
    })
}
