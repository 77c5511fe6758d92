//! The rates of a cell.

use lasthop_config::FileError;
use lasthop_wifi::{Format, GuardInterval, Mcs, PhyConfig, Rate};

use crate::file::quantity::{DataRate, Text, WrittenMcs};
use crate::file::reader::Reader;

/// What is known of rates when they are read.
#[derive(Clone, Copy)]
pub(super) struct Rates<'a> {
    pub(super) phy: &'a PhyConfig,
    /// The name of the standard.
    pub(super) standard: &'static str,
    /// The streams of rates that do not give them.
    pub(super) streams: Option<u8>,
    /// The guard interval of rates that do not give it.
    pub(super) guard_interval: Option<GuardInterval>,
}

impl Rates<'_> {
    /// A rate, which the physical layer must support.
    pub(super) fn read(
        self,
        reader: &Reader<'_>,
        key: &[&str],
        Text(written): Text<DataRate>,
    ) -> Result<Rate, FileError> {
        let rate = match written {
            DataRate::NonHt(rate) => rate,
            DataRate::Mcs(written) => {
                return self.complete(written).map(Rate::from).map_err(|problem| reader.fail(key, problem));
            }
        };
        if self.phy.has_rate(rate) {
            return Ok(rate);
        }
        let megabits = |rate: Rate| format!("{}", rate.kbps() as f64 / 1000.0);
        let mut known: Vec<Rate> = self.phy.non_ht_rates().collect();
        known.sort_by_key(|rate| rate.kbps());
        let known: Vec<String> = known.into_iter().map(megabits).collect();
        let or_mcs = if self.phy.standard.format().is_some() { ", or a rate such as \"MCS 7\"" } else { "" };
        let problem = format!(
            "{} Mbit/s is not a rate of {}; expected one of {} Mbit/s{or_mcs}",
            megabits(rate),
            self.standard,
            known.join(", ")
        );
        Err(reader.fail(key, problem))
    }

    /// The fastest rate with the cell's streams, width and guard interval.
    pub(super) fn fastest(self, reader: &Reader<'_>, name: &str) -> Result<Rate, FileError> {
        let Some(format) = self.phy.standard.format() else { return Ok(self.phy.rate) };
        let problem = || {
            let streams = format!("at most {} streams", format.streams());
            let guards = GuardInterval::ALL.into_iter().filter(|guard| format.has(*guard));
            let guards: Vec<String> = guards.map(|guard| format!("{} ns", guard.nanos())).collect();
            let what = format!(
                "no rate of {} has these streams and this guard interval; expected {streams}, and {}",
                self.standard,
                guards.join(", ")
            );
            let has_too_many = self.streams.is_some_and(|streams| streams > format.streams());
            let key = if has_too_many { "streams" } else { "guard-interval" };
            reader.fail(&["wlans", name, key], what)
        };
        let width = self.phy.width.min(format.width());
        let guard_interval = self.guard_interval.unwrap_or(GuardInterval::Ns800);
        let fastest = Mcs::fastest(format, self.streams.unwrap_or(1), width, guard_interval);
        fastest.map(Rate::from).ok_or_else(problem)
    }

    /// A modulation and coding scheme with all that is left out of it.
    fn complete(self, written: WrittenMcs) -> Result<Mcs, String> {
        let Self { phy, standard, .. } = self;
        let Some(own) = phy.standard.format() else {
            return Err(format!("{standard} has no MCS; expected a rate such as \"11 Mbit/s\""));
        };
        let format = written.format.unwrap_or(own);
        if !phy.standard.has_format(format, phy.band) {
            let name = name_of(format);
            return Err(format!("{standard} has no {name} frames in this band; expected another MCS"));
        }
        let of_index = written.index / Format::Ht.indices() + 1;
        let (index, streams) = if format == Format::Ht && of_index > 1 {
            if written.streams.is_some_and(|streams| streams != of_index) {
                let problem =
                    format!("MCS {} of HT has {of_index} streams; expected no other number", written.index);
                return Err(problem);
            }
            (written.index % Format::Ht.indices(), of_index)
        } else {
            (written.index, written.streams.or(self.streams).unwrap_or(1))
        };
        let width = written.width.unwrap_or_else(|| phy.width.min(format.width()));
        if width > phy.width {
            return Err(format!(
                "{} MHz are more than the width of the cell; expected at most {} MHz",
                width.mhz(),
                phy.width.mhz()
            ));
        }
        // Frames of an older generation that do not have the cell's have the usual one.
        let of_cell = self.guard_interval.filter(|guard| format == own || format.has(*guard));
        let guard_interval = written.guard_interval.or(of_cell).unwrap_or(GuardInterval::Ns800);
        Mcs::new(format, index, streams, width, guard_interval).ok_or_else(|| {
            format!(
                "{} has no MCS {} with {streams} stream{}, {} MHz and a guard interval of {} ns; expected others",
                name_of(format),
                written.index,
                if streams == 1 { "" } else { "s" },
                width.mhz(),
                guard_interval.nanos()
            )
        })
    }
}

const fn name_of(format: Format) -> &'static str {
    match format {
        Format::Ht => "HT",
        Format::Vht => "VHT",
        Format::He => "HE",
    }
}
