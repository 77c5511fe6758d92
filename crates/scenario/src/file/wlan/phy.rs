//! The physical layer of a cell.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_wifi::{Format, PhyConfig, Preamble, Rate, Standard};

use super::rates::Rates;
use super::table::{BandName, WlanTable};
use crate::file::quantity::{ChannelWidth, DataRate, Text, Whole};
use crate::file::reader::Reader;

pub(super) fn read(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<PhyConfig, FileError> {
    let standard = table.standard.standard();
    let band = match table.band {
        None => standard.usual_band(),
        Some(band) if standard.is_in(band.band()) => band.band(),
        Some(band) => {
            let expected = BandName::ALL.into_iter().filter(|known| standard.is_in(known.band()));
            let expected: Vec<String> = expected.map(|known| format!("{:?}", known.as_written())).collect();
            let problem = format!(
                "{} is not at {}; expected {}",
                table.standard.as_written(),
                band.as_written(),
                expected.join(" or ")
            );
            return Err(reader.fail(&["wlans", name, "band"], problem));
        }
    };
    let mut phy = PhyConfig::in_band(standard, band);
    refuse_of_others(reader, name, table)?;
    phy.durations = table.durations.map_or(phy.durations, Into::into);
    if let Some(Text(ChannelWidth(width))) = table.width {
        if let Some(most) = standard.format().map(Format::width).filter(|most| width > *most) {
            let problem = format!(
                "{} has no channels of {} MHz; expected at most {} MHz",
                table.standard.as_written(),
                width.mhz(),
                most.mhz()
            );
            return Err(reader.fail(&["wlans", name, "width"], problem));
        }
        phy.width = width;
    }
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
    phy.rate = match table.rate {
        Some(written) => table.rates(&phy).read(reader, &["wlans", name, "rate"], written)?,
        None => table.rates(&phy).fastest(reader, name)?,
    };
    if let Some(written) = &table.basic_rates {
        if written.is_empty() {
            return Err(
                reader.fail(&["wlans", name, "basic-rates"], "an empty list; expected one or more rates")
            );
        }
        let key = |index: usize| index.to_string();
        let rates = written.iter().enumerate();
        let rates = rates.map(|(index, it)| {
            basic_rate(reader, &["wlans", name, "basic-rates", &key(index)], table.rates(&phy), *it)
        });
        phy.basic_rates = rates.collect::<Result<_, _>>()?;
    }
    if let Some(written) = table.eifs_rate {
        phy.eifs_rate = basic_rate(reader, &["wlans", name, "eifs-rate"], table.rates(&phy), written)?;
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

/// Refuses keys of 802.11n, ac and ax with an older standard.
fn refuse_of_others(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<(), FileError> {
    if table.standard.standard().format().is_some() {
        return Ok(());
    }
    let keys = [
        ("width", table.width.is_some()),
        ("streams", table.streams.is_some()),
        ("guard-interval", table.guard_interval.is_some()),
        ("durations", table.durations.is_some()),
    ];
    let Some((key, _)) = keys.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let problem =
        format!("{} has no such parameter; allowed with 802.11n, ac and ax", table.standard.as_written());
    Err(reader.fail(&["wlans", name, key], problem))
}

/// A rate of responses.
fn basic_rate(
    reader: &Reader<'_>,
    key: &[&str],
    rates: Rates<'_>,
    written: Text<DataRate>,
) -> Result<Rate, FileError> {
    let rate = rates.read(reader, key, written)?;
    if rate.mcs().is_some() {
        let problem = "responses are frames of DSSS, CCK or OFDM; expected a rate such as \"24 Mbit/s\"";
        return Err(reader.fail(key, problem));
    }
    Ok(rate)
}
