//! The rates of a cell.

use lasthop_config::FileError;
use lasthop_wifi::{Format, GuardInterval, Mcs, PhyConfig, Rate};

use super::table::WlanTable;
use crate::file::quantity::{DataRate, Guard, Text, Whole, WrittenMcs};
use crate::file::reader::Reader;

/// A rate, which the physical layer must support.
pub(super) fn read(
    reader: &Reader<'_>,
    key: &[&str],
    (table, phy): (&WlanTable, &PhyConfig),
    Text(written): Text<DataRate>,
) -> Result<Rate, FileError> {
    let rate = match written {
        DataRate::NonHt(rate) => rate,
        DataRate::Mcs(written) => {
            let mcs = complete(written, table, phy).map_err(|problem| reader.fail(key, problem))?;
            return Ok(mcs.into());
        }
    };
    if phy.has_rate(rate) {
        return Ok(rate);
    }
    let megabits = |rate: Rate| format!("{}", rate.kbps() as f64 / 1000.0);
    let mut known: Vec<Rate> = phy.non_ht_rates().collect();
    known.sort_by_key(|rate| rate.kbps());
    let known: Vec<String> = known.into_iter().map(megabits).collect();
    let or_mcs = if phy.standard.format().is_some() { ", or a rate such as \"MCS 7\"" } else { "" };
    let problem = format!(
        "{} Mbit/s is not a rate of {}; expected one of {} Mbit/s{or_mcs}",
        megabits(rate),
        table.standard.as_written(),
        known.join(", ")
    );
    Err(reader.fail(key, problem))
}

/// The fastest rate with the cell's streams, width and guard interval.
pub(super) fn fastest(
    reader: &Reader<'_>,
    name: &str,
    (table, phy): (&WlanTable, &PhyConfig),
) -> Result<Rate, FileError> {
    let Some(format) = phy.standard.format() else { return Ok(phy.rate) };
    let fastest = (0..format.indices()).rev().find_map(|index| {
        let written = WrittenMcs { index, ..WrittenMcs::default() };
        complete(written, table, phy).ok()
    });
    let problem = || {
        let streams = format!("at most {} streams", format.streams());
        let guards = GuardInterval::ALL.into_iter().filter(|guard| format.has(*guard));
        let guards: Vec<String> = guards.map(|guard| format!("{} ns", guard.nanos())).collect();
        let what = format!(
            "no rate of {} has these streams and this guard interval; expected {streams}, and {}",
            table.standard.as_written(),
            guards.join(", ")
        );
        let key = if table.streams.is_some_and(|Whole(streams)| streams > u32::from(format.streams())) {
            "streams"
        } else {
            "guard-interval"
        };
        reader.fail(&["wlans", name, key], what)
    };
    fastest.map(Rate::from).ok_or_else(problem)
}

/// A modulation and coding scheme with all that is left out of it.
fn complete(written: WrittenMcs, table: &WlanTable, phy: &PhyConfig) -> Result<Mcs, String> {
    let standard = table.standard.as_written();
    let Some(own) = phy.standard.format() else {
        return Err(format!("{standard} has no MCS; expected a rate such as \"11 Mbit/s\""));
    };
    let format = written.format.unwrap_or(own);
    if !phy.standard.has_format(format, phy.band) {
        return Err(format!("{standard} has no {} frames in this band", name_of(format)));
    }
    let of_index = written.index / Format::Ht.indices() + 1;
    let of_table = table.streams.map_or(1, |Whole(streams)| streams as u8);
    let (index, streams) = if format == Format::Ht && of_index > 1 {
        if written.streams.is_some_and(|streams| streams != of_index) {
            let problem = format!("MCS {} of HT has {of_index} streams", written.index);
            return Err(problem);
        }
        (written.index % Format::Ht.indices(), of_index)
    } else {
        (written.index, written.streams.unwrap_or(of_table))
    };
    let width = written.width.unwrap_or_else(|| phy.width.min(format.width()));
    if width > phy.width {
        return Err(format!(
            "{} MHz are more than the width of the cell, {} MHz",
            width.mhz(),
            phy.width.mhz()
        ));
    }
    // Frames of an older generation that do not have the cell's have the usual one.
    let of_table = table.guard_interval.map(|Text(Guard(guard))| guard);
    let of_table = of_table.filter(|guard| format == own || format.has(*guard));
    let guard_interval = written.guard_interval.or(of_table).unwrap_or(GuardInterval::Ns800);
    Mcs::new(format, index, streams, width, guard_interval).ok_or_else(|| {
        format!(
            "{} has no MCS {} with {streams} stream{}, {} MHz and a guard interval of {} ns",
            name_of(format),
            written.index,
            if streams == 1 { "" } else { "s" },
            width.mhz(),
            guard_interval.nanos()
        )
    })
}

const fn name_of(format: Format) -> &'static str {
    match format {
        Format::Ht => "HT",
        Format::Vht => "VHT",
        Format::He => "HE",
    }
}
