//! The physical layer of a cell.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_wifi::{PhyConfig, Preamble, Rate, Standard};

use super::table::WlanTable;
use crate::file::quantity::{DataRate, Text, Whole};
use crate::file::reader::Reader;

pub(super) fn read(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<PhyConfig, FileError> {
    let standard = table.standard.standard();
    let mut phy = PhyConfig::new(standard);
    if let Some(preamble) = table.preamble {
        let preamble = preamble.preamble();
        let has_short = matches!(standard, Standard::HrDsss | Standard::Erp);
        if preamble == Preamble::Short {
            if !has_short {
                let problem = format!(
                    "{} has no short preamble; allowed only with 802.11b or 802.11g",
                    table.standard.as_written()
                );
                return Err(reader.fail(&["wlans", name, "preamble"], problem));
            }
            phy = phy.with_short_preamble();
        }
    }
    if let Some(written) = table.rate {
        phy.rate = rate(reader, &["wlans", name, "rate"], table, written)?;
    }
    if let Some(written) = &table.basic_rates {
        if written.is_empty() {
            return Err(
                reader.fail(&["wlans", name, "basic-rates"], "an empty list; expected one or more rates")
            );
        }
        let key = |index: usize| index.to_string();
        let rates = written.iter().enumerate();
        let rates =
            rates.map(|(index, it)| rate(reader, &["wlans", name, "basic-rates", &key(index)], table, *it));
        phy.basic_rates = rates.collect::<Result<_, _>>()?;
    }
    if let Some(written) = table.eifs_rate {
        phy.eifs_rate = rate(reader, &["wlans", name, "eifs-rate"], table, written)?;
    }
    let (least, most) = (Duration::from_micros(1), Duration::from_millis(1));
    phy.slot = reader.duration_in(&["wlans", name, "slot-time"], table.slot_time, phy.slot, least, most)?;
    let (key, delay) = (["wlans", name, "carrier-sense-delay"], table.carrier_sense_delay);
    phy.carrier_sense_delay = reader.duration_if_given(&key, delay, Duration::ZERO, phy.slot)?;
    phy.sifs = reader.duration_in(&["wlans", name, "sifs-time"], table.sifs_time, phy.sifs, least, most)?;
    phy.cw_min = table.cw_min.map_or(phy.cw_min, |Whole(cw)| cw);
    phy.cw_max = table.cw_max.map_or(phy.cw_max.max(phy.cw_min), |Whole(cw)| cw);
    if phy.cw_max < phy.cw_min {
        let problem = format!(
            "{} is less than cw-min; expected a whole number from {} to 32767",
            phy.cw_max, phy.cw_min
        );
        return Err(reader.fail(&["wlans", name, "cw-max"], problem));
    }
    Ok(phy)
}

/// A rate, which the physical layer must support.
pub(super) fn rate(
    reader: &Reader<'_>,
    key: &[&str],
    table: &WlanTable,
    Text(DataRate(rate)): Text<DataRate>,
) -> Result<Rate, FileError> {
    let standard = table.standard.standard();
    if rate.is_of(standard) {
        return Ok(rate);
    }
    let megabits = |rate: Rate| format!("{}", rate.kbps() as f64 / 1000.0);
    let mut known: Vec<Rate> = standard.rates().collect();
    known.sort_by_key(|rate| rate.kbps());
    let known: Vec<String> = known.into_iter().map(megabits).collect();
    let problem = format!(
        "{} Mbit/s is not a rate of {}; expected one of {} Mbit/s",
        megabits(rate),
        table.standard.as_written(),
        known.join(", ")
    );
    Err(reader.fail(key, problem))
}
