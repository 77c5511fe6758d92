//! The distribution of a delay, as written in a file.

use std::sync::Arc;
use std::time::Duration;

use crate::file::named::Named;
use crate::file::quantity::{LONGEST_DELAY, Text};
use crate::file::reader::{Key, Reader};
use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_sim::Distribution;
use lasthop_sim::delay::{Band, Bands, BandsError};
use schemars::JsonSchema;
use serde::Deserialize;

/// The maximum number of bands.
const MAX_BANDS: usize = 1_000;

/// A delay that is drawn for each packet.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct DelayTable {
    /// A single duration instead of a table.
    #[serde(skip)]
    pub(super) constant: Option<Duration>,
    /// The distribution that the delay is drawn from; left out with `table`.
    distribution: Option<DistributionName>,
    /// With "uniform": the shortest delay. With "exponential": the minimum delay of every packet,
    /// default "0 s".
    min: Option<Text<Duration>>,
    /// With "uniform": the longest delay.
    max: Option<Text<Duration>>,
    /// With "normal" and "exponential": the mean delay, including `min`.
    mean: Option<Text<Duration>>,
    /// With "normal": the standard deviation.
    deviation: Option<Text<Duration>>,
    /// With "bands": 1 to 1,000 bands, whose shares sum to "100%".
    bands: Option<Vec<BandTable>>,
    /// Instead of a distribution: a CSV file with a table of bands, with a path relative to the
    /// scenario. It has the column `share_percent`, one column whose name ends in `delay_ms_low`,
    /// and one whose name ends in `delay_ms_high`.
    table: Option<String>,
}

/// The distribution that a delay is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum DistributionName {
    /// Every delay from `min` to `max` is equally likely.
    Uniform,
    /// Normal, truncated at three standard deviations on either side and at a delay of zero.
    Normal,
    /// `min` plus an exponentially distributed time, which is truncated at 20 times its mean.
    Exponential,
    /// A mixture of uniform distributions.
    Bands,
}

/// A share of the packets whose delays are uniformly distributed.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct BandTable {
    /// The share of the packets, above "0%".
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

/// The context of reading a delay.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) key: &'a Key<'a>,
}

impl Place<'_> {
    fn fail(self, key: &Key<'_>, problem: impl Into<String>) -> FileError {
        self.reader.fail(&[self.key, key].concat(), problem)
    }

    /// A delay, at least `least`.
    pub(super) fn time(
        self,
        key: &Key<'_>,
        value: Option<Text<Duration>>,
        least: Duration,
    ) -> Result<Duration, FileError> {
        let key = [self.key, key].concat();
        let time = self.reader.duration_if_given(&key, value, least, LONGEST_DELAY)?;
        time.ok_or_else(|| self.reader.fail(&key, "missing; expected a duration, such as \"50 ms\""))
    }

    /// The distribution in a table.
    pub(super) fn distribution(self, table: &DelayTable) -> Result<Distribution, FileError> {
        use DistributionName::{Bands, Exponential, Normal, Uniform};
        let none = Duration::ZERO;
        self.refuse_keys_without_effect(table)?;
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

    fn bands(self, tables: &[BandTable]) -> Result<Distribution, FileError> {
        if !(1..=MAX_BANDS).contains(&tables.len()) {
            let problem = format!("{} bands; expected 1 to {MAX_BANDS}", tables.len());
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

    fn table(self, file: Option<&str>) -> Result<Distribution, FileError> {
        let Some(file) = file else {
            let problem = "missing; expected a `distribution` (\"uniform\", \"normal\", \
                           \"exponential\", \"bands\") or table = \"FILE\"";
            return Err(self.fail(&[], problem));
        };
        let bands = self.reader.named_files.delay_table(&self.reader.beside(file));
        bands.map(Distribution::Bands).map_err(|problem| self.fail(&["table"], problem))
    }

    fn refuse_keys_without_effect(self, table: &DelayTable) -> Result<(), FileError> {
        use DistributionName::{Bands, Exponential, Normal, Uniform};
        let keys: [(&str, bool, &[DistributionName]); 6] = [
            ("min", table.min.is_some(), &[Uniform, Exponential]),
            ("max", table.max.is_some(), &[Uniform]),
            ("mean", table.mean.is_some(), &[Normal, Exponential]),
            ("deviation", table.deviation.is_some(), &[Normal]),
            ("bands", table.bands.is_some(), &[Bands]),
            ("table", table.table.is_some(), &[]),
        ];
        let has_effect = |with: &[DistributionName], key: &str| match table.distribution {
            Some(distribution) => with.contains(&distribution),
            // With a file, no other key has an effect. Without a file the missing key is the error.
            None => key == "table" || table.table.is_none(),
        };
        match keys.into_iter().find(|(key, given, with)| *given && !has_effect(with, key)) {
            Some((key, ..)) => {
                let beside = if table.distribution.is_some() { "distribution" } else { "table" };
                let problem = format!("has no effect with this `{beside}`; leave it out");
                Err(self.fail(&[key], problem))
            }
            None => Ok(()),
        }
    }
}
