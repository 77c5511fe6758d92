//! Power save around an access point.

use std::time::Duration;

use crate::file::quantity::{Text, Whole};
use crate::file::reader::Reader;
use crate::model::{PowerSave, WlanStation};
use lasthop_config::FileError;
use lasthop_sim::QueueLimit;
use lasthop_wifi::PowerSaveConfig;
use schemars::JsonSchema;
use serde::Deserialize;

/// The interval in a beacon has 16 bits: at most 65,535 TU, which are 67 s.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// The longest beacon, at 1 Mbit/s, takes under 3 ms.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(5);
/// Octets of the longest packet that a frame carries (the standard's `MSDU`).
const LONGEST_PACKET: u64 = 2304;

/// Power save: the access point sends beacons, and keeps frames for dozing stations until they
/// fetch them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PowerSaveTable {
    /// The time between beacons, "5 ms" to "1 min"; default "102.4 ms": 100 of the standard's TU.
    beacon_interval: Option<Text<Duration>>,
    /// `dot11DTIMPeriod`: group frames follow every n-th beacon; 1 to 255, default 1.
    dtim_period: Option<Whole<1, 255>>,
    /// The stations in power-save mode; default all except the access point.
    stations: Option<Vec<String>>,
    /// `ListenInterval`: stations wake for every n-th beacon; 1 to 65,535, default 1.
    listen_interval: Option<Whole<1, 65_535>>,
    /// Whether stations also wake for every DTIM, the beacons that group frames may follow; default
    /// false.
    receive_dtims: Option<bool>,
    /// How many packets the access point keeps per dozing station; default "64 packets".
    buffer: Option<Text<QueueLimit>>,
    /// The access point drops a packet that its station has not fetched within this time, and at
    /// the earliest after one listen interval; at most "1 h", default "10 s".
    ageing: Option<Text<Duration>>,
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &PowerSaveTable,
    stations: &[WlanStation],
    has_access_point: bool,
) -> Result<PowerSave, FileError> {
    let key = |key| ["wlans", name, "power-save", key];
    if !has_access_point {
        let problem = "only an access point sends beacons and buffers frames; requires an `access-point`";
        return Err(reader.fail(&["wlans", name, "power-save"], problem));
    }
    let default = PowerSaveConfig::default();
    let buffer = table.buffer.map_or(default.buffer, |Text(buffer)| buffer);
    if !matches!(
        buffer,
        QueueLimit::Packets(1..) | QueueLimit::Unlimited | QueueLimit::Octets(LONGEST_PACKET..)
    ) {
        return Err(reader.fail(
            &key("buffer"),
            "expected room for a packet or more, such as \"64 packets\" or \"2304 B\"",
        ));
    }
    let (hour, interval) = (Duration::from_secs(3_600), default.beacon_interval);
    let config = PowerSaveConfig {
        beacon_interval: reader.duration_in(
            &key("beacon-interval"),
            table.beacon_interval,
            interval,
            SHORTEST_INTERVAL,
            LONGEST_INTERVAL,
        )?,
        dtim_period: table.dtim_period.map_or(default.dtim_period, |Whole(period)| period),
        listen_interval: table.listen_interval.map_or(default.listen_interval, |Whole(interval)| interval),
        receive_dtims: table.receive_dtims.unwrap_or(default.receive_dtims),
        buffer,
        ageing: reader.duration_in(&key("ageing"), table.ageing, default.ageing, Duration::ZERO, hour)?,
        first_beacon: None,
    };
    let Some(names) = &table.stations else {
        return Ok(PowerSave { config, stations: (1..stations.len()).collect() });
    };
    let mut dozing = Vec::new();
    for (index, node) in names.iter().enumerate() {
        let index = index.to_string();
        let key = ["wlans", name, "power-save", "stations", &index];
        match reader.station(&key, node, stations)? {
            0 => return Err(reader.fail(&key, "an access point never dozes; expected one of its stations")),
            twice if dozing.contains(&twice) => {
                return Err(reader.fail(&key, format!("{node:?} is listed twice; expected each node once")));
            }
            station => dozing.push(station),
        }
    }
    Ok(PowerSave { config, stations: dozing })
}
