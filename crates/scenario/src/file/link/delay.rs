//! The propagation delay of one direction of a link: what it is drawn from, and whether packets may
//! overtake each other.

use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Probability;
use lasthop_sim::delay::{Band, Bands, BandsError};
use lasthop_sim::{Delay, Distribution, Order};
use schemars::JsonSchema;
use serde::Deserialize;

use super::table::{DirectionTable, JitterDistribution, LinkTable, OrderName};
use crate::file::error::ScenarioError;
use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::Text;
use crate::file::reader::{Key, LONGEST_DELAY, Reader};

/// Bands at most.
const MOST_BANDS: usize = 1_000;

/// A delay that is drawn for each packet.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct DelayTable {
    /// What stands alone.
    #[serde(skip)]
    constant: Option<Duration>,
    /// What it is drawn from; left out with `table`.
    distribution: Option<DistributionName>,
    /// With "uniform" the shortest delay; with "exponential" what every packet takes at least,
    /// default "0 s".
    min: Option<Text<Duration>>,
    /// With "uniform": the longest delay.
    max: Option<Text<Duration>>,
    /// With "normal" and "exponential": the mean delay, that of `min` included.
    mean: Option<Text<Duration>>,
    /// With "normal": the standard deviation.
    deviation: Option<Text<Duration>>,
    /// With "bands": 1 to 1,000 of them, whose shares sum to "100%".
    bands: Option<Vec<BandTable>>,
    /// Instead of a distribution: a table of bands in CSV, relative to the scenario, with the
    /// columns `share_percent` and one each whose name ends in `delay_ms_low` and `delay_ms_high`.
    table: Option<String>,
}

/// What a delay is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum DistributionName {
    /// Every delay from `min` to `max` is as likely.
    Uniform,
    /// Normal, cut at three deviations to either side and at a delay of zero.
    Normal,
    /// `min`, and on top of it an exponentially distributed time; that is cut at 20 times its mean.
    Exponential,
    /// A mixture of uniform distributions.
    Bands,
}

/// A part of the packets, whose delays are distributed uniformly.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct BandTable {
    /// The part of the packets, above "0%".
    share: Text<Probability>,
    /// Their shortest delay.
    min: Text<Duration>,
    /// Their longest delay.
    max: Text<Duration>,
}

impl Named for DelayTable {
    type Name = Text<Duration>;
    const SCHEMA: &'static str = "Delay";
    const EXPECTED: &'static str = "a duration of zero or more, such as \"5 ms\", or a table with a \
                                    distribution (\"uniform\", \"normal\", \"exponential\", \"bands\") or a `table`";

    fn named(Text(delay): Self::Name) -> Self {
        Self { constant: Some(delay), ..Self::default() }
    }
}

/// The delay in one direction: what the direction has of its own, and else what the link has.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    link: &LinkTable,
    (side, own): (&str, &DirectionTable),
) -> Result<Delay, ScenarioError> {
    let key_of = |key, is_own: bool| {
        if is_own { vec!["links", name, side, key] } else { vec!["links", name, key] }
    };
    let delay = own.delay.as_ref().or(link.delay.as_ref()).map(|NameOrTable(table)| table);
    let place = Place { reader, key: &key_of("delay", own.delay.is_some()) };
    // A direction that has its own distribution leaves out the jitter of the link.
    let leaves_out = own.delay.as_ref().is_some_and(|NameOrTable(table)| table.constant.is_none());
    let of_link = |jitter| if leaves_out { None } else { jitter };
    let jitter = Jitter {
        spread: own.jitter.or(of_link(link.jitter)),
        spread_key: &key_of("jitter", own.jitter.is_some()),
        distribution: own.jitter_distribution.or(if leaves_out { None } else { link.jitter_distribution }),
        distribution_key: &key_of("jitter-distribution", own.jitter_distribution.is_some()),
    };
    let distribution = match delay {
        None => jitter.around(reader, Duration::ZERO)?,
        Some(DelayTable { constant: Some(delay), .. }) => {
            jitter.around(reader, place.time(&[], Some(Text(*delay)), Duration::ZERO)?)?
        }
        Some(table) => {
            jitter.refuse(reader)?;
            place.distribution(table)?
        }
    };
    let order = match own.order.or(link.order) {
        None | Some(OrderName::Kept) => Order::Kept,
        Some(OrderName::Overtake) => Order::Overtake,
    };
    Ok(Delay { distribution, order })
}

/// How a delay varies around one duration.
struct Jitter<'a> {
    spread: Option<Text<Duration>>,
    spread_key: &'a Key<'a>,
    distribution: Option<JitterDistribution>,
    distribution_key: &'a Key<'a>,
}

impl Jitter<'_> {
    fn around(&self, reader: &Reader<'_>, mean: Duration) -> Result<Distribution, ScenarioError> {
        let none = Duration::ZERO;
        let spread = reader.duration_in(self.spread_key, self.spread, none, none, mean)?;
        if self.spread.is_none() && self.distribution.is_some() {
            let problem = "there is no jitter; expected jitter = \"2 ms\" or so with it";
            return Err(reader.fail(self.distribution_key, problem));
        }
        Ok(match self.distribution {
            _ if spread.is_zero() => Distribution::Constant(mean),
            None | Some(JitterDistribution::Uniform) => {
                Distribution::Uniform { min: mean.saturating_sub(spread), max: mean + spread }
            }
            Some(JitterDistribution::Normal) => Distribution::Normal { mean, deviation: spread },
        })
    }

    /// A delay with a distribution has none.
    fn refuse(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        if self.spread.is_some_and(|Text(spread)| !spread.is_zero()) {
            let problem = "the delay has a distribution of its own; expected no jitter with it";
            return Err(reader.fail(self.spread_key, problem));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Place<'a> {
    reader: &'a Reader<'a>,
    key: &'a Key<'a>,
}

impl Place<'_> {
    fn fail(self, key: &Key<'_>, problem: impl Into<String>) -> ScenarioError {
        self.reader.fail(&[self.key, key].concat(), problem)
    }

    /// A delay, at least `least`.
    fn time(
        self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        least: Duration,
    ) -> Result<Duration, ScenarioError> {
        let key = [self.key, key].concat();
        let time = self.reader.duration_if_given(&key, value, least, LONGEST_DELAY)?;
        time.ok_or_else(|| self.reader.fail(&key, "it is missing; expected a duration, such as \"50 ms\""))
    }

    fn distribution(self, table: &DelayTable) -> Result<Distribution, ScenarioError> {
        use DistributionName::{Bands, Exponential, Normal, Uniform};
        let none = Duration::ZERO;
        self.refuse_what_means_nothing(table)?;
        Ok(match table.distribution {
            Some(Uniform) => {
                let min = self.time(&["min"], table.min, none)?;
                Distribution::Uniform { min, max: self.time(&["max"], table.max, min)? }
            }
            Some(Normal) => {
                let mean = self.time(&["mean"], table.mean, none)?;
                Distribution::Normal { mean, deviation: self.time(&["deviation"], table.deviation, none)? }
            }
            Some(Exponential) => {
                let min = self.time(&["min"], table.min.or(Some(Text(none))), none)?;
                Distribution::Exponential { min, mean: self.time(&["mean"], table.mean, min)? }
            }
            Some(Bands) => self.bands(table.bands.as_deref().unwrap_or_default())?,
            None => self.table(table.table.as_deref())?,
        })
    }

    fn bands(self, tables: &[BandTable]) -> Result<Distribution, ScenarioError> {
        if !(1..=MOST_BANDS).contains(&tables.len()) {
            let problem = format!("{} of them; expected 1 to {MOST_BANDS} bands", tables.len());
            return Err(self.fail(&["bands"], problem));
        }
        let mut bands = Vec::with_capacity(tables.len());
        for (index, &BandTable { share: Text(share), min, max }) in tables.iter().enumerate() {
            let index = index.to_string();
            let min = self.time(&["bands", &index, "min"], Some(min), Duration::ZERO)?;
            let max = self.time(&["bands", &index, "max"], Some(max), min)?;
            bands.push(Band { share: share.value(), min, max });
        }
        Bands::new(bands).map(|bands| Distribution::Bands(Arc::new(bands))).map_err(|error| match error {
            BandsError::Share { band } => {
                self.fail(&["bands", &band.to_string(), "share"], error.to_string())
            }
            BandsError::Range { band } => self.fail(&["bands", &band.to_string(), "max"], error.to_string()),
            BandsError::Sum { .. } => self.fail(&["bands"], error.to_string()),
        })
    }

    fn table(self, file: Option<&str>) -> Result<Distribution, ScenarioError> {
        let Some(file) = file else {
            let problem = "what is it drawn from? expected a `distribution` (\"uniform\", \"normal\", \
                           \"exponential\", \"bands\") or table = \"FILE\"";
            return Err(self.fail(&[], problem));
        };
        let bands = self.reader.named_files.delay_table(&self.reader.beside(file));
        bands.map(Distribution::Bands).map_err(|problem| self.fail(&["table"], problem))
    }

    fn refuse_what_means_nothing(self, table: &DelayTable) -> Result<(), ScenarioError> {
        use DistributionName::{Bands, Exponential, Normal, Uniform};
        let keys: [(&str, bool, &[DistributionName]); 6] = [
            ("min", table.min.is_some(), &[Uniform, Exponential]),
            ("max", table.max.is_some(), &[Uniform]),
            ("mean", table.mean.is_some(), &[Normal, Exponential]),
            ("deviation", table.deviation.is_some(), &[Normal]),
            ("bands", table.bands.is_some(), &[Bands]),
            ("table", table.table.is_some(), &[]),
        ];
        let means = |of: &[DistributionName], key: &str| match table.distribution {
            Some(distribution) => of.contains(&distribution),
            // A table has all in its file; where there is neither, that is what is said.
            None => key == "table" || table.table.is_none(),
        };
        match keys.into_iter().find(|(key, given, of)| *given && !means(of, key)) {
            Some((key, ..)) => {
                let beside = if table.distribution.is_some() { "distribution" } else { "table" };
                let problem = format!("it means nothing beside this `{beside}`; leave it out");
                Err(self.fail(&[key], problem))
            }
            None => Ok(()),
        }
    }
}
