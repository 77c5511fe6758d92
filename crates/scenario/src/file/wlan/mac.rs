//! The medium access of a cell.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_packet::units::format_octets;
use lasthop_wifi::{Band, DataOverhead, MacConfig, PhyConfig, Standard};

use super::aggregation;
use super::table::WlanTable;
use crate::file::quantity::{Octets, Text, Whole};
use crate::file::reader::Reader;

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    phy: &PhyConfig,
) -> Result<MacConfig, FileError> {
    let default = MacConfig::new(table.standard.standard());
    let limit = |value: Option<Whole<1, 255>>, default| value.map_or(default, |Whole(limit)| limit);
    let cts_to_self = table.cts_to_self.unwrap_or(false);
    let protects = phy.band == Band::Ghz2_4 && phy.standard >= Standard::Erp;
    if cts_to_self && !protects {
        let problem =
            "there are no stations of 802.11b to protect; allowed only with 802.11g, n or ax at 2.4 GHz";
        return Err(reader.fail(&["wlans", name, "cts-to-self"], problem));
    }
    let (least, most) = (Duration::from_micros(1), Duration::from_millis(10));
    let key = ["wlans", name, "ack-timeout"];
    let response_timeout = reader.duration_if_given(&key, table.ack_timeout, least, most)?;
    let key = ["wlans", name, "txop-limit"];
    let most_of_txop = Duration::from_millis(20);
    let txop_limit = reader.duration_if_given(&key, table.txop_limit, Duration::ZERO, most_of_txop)?;
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(3600));
    let key = ["wlans", name, "options-probe-interval"];
    let probe_interval = reader.duration_if_given(&key, table.options_probe_interval, least, most)?;
    let threshold = table.rts_threshold.map_or(u64::from(default.rts_threshold), |Text(Octets(it))| it);
    let key = ["wlans", name, "llc-header"];
    let most = DataOverhead::STANDARD.llc;
    let llc = match table.llc_header.map(|Text(Octets(it))| it) {
        None => default.overhead.llc,
        Some(llc) if llc <= u64::from(most) => llc as u32,
        Some(llc) => {
            let problem = format!("{} is out of range; expected 0 B to {most} B", format_octets(llc));
            return Err(reader.fail(&key, problem));
        }
    };
    let aggregation = table.aggregation.as_ref().map(|entry| &entry.0);
    let in_cell = (phy.standard, table.power_save.is_some());
    let aggregation = aggregation::read(reader, name, aggregation, in_cell)?;
    Ok(MacConfig {
        rts_threshold: u32::try_from(threshold).unwrap_or(u32::MAX),
        aifsn: table.aifsn.map_or(default.aifsn, |Whole(slots)| slots),
        txop_limit: txop_limit.unwrap_or(default.txop_limit),
        short_retry_limit: limit(table.short_retry_limit, default.short_retry_limit),
        long_retry_limit: limit(table.long_retry_limit, default.long_retry_limit),
        overhead: DataOverhead { llc, ..default.overhead },
        aggregation,
        cts_to_self,
        eifs: table.eifs.unwrap_or(default.eifs),
        response_timeout,
        nav_reset: table.nav_reset.unwrap_or(default.nav_reset),
        options_probe_interval: probe_interval.unwrap_or(default.options_probe_interval),
    })
}
