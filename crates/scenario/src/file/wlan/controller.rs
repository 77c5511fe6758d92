//! The controller that steers clients between access points.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_sim::ess::{ControllerConfig, Dbm};
use lasthop_sim::{Load, SteeringConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::quantity::{Text, Whole};
use crate::file::reader::Reader;

/// A controller of the access points. At intervals it asks clients of overloaded access points which others they receive
/// (beacon requests of 802.11k), and to go to the strongest of those that have less load (BSS transition requests of 802.11v).
/// The defaults are those of `OpenWrt`'s usteer where it has the option that is named.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ControllerTable {
    /// The load of an access point.
    load: LoadName,
    /// The time between two looks at the loads, "1 s" to "1 h"; default "10 s" (`load_kick_delay`).
    interval: Option<Text<Duration>>,
    /// The load from which on an access point is overloaded: with "clients" their number, 1 to 5,000, default 10
    /// (`load_kick_min_clients`); with "air-time" percent, 1 to 100, default 75 (`load_kick_threshold`).
    overload: Option<Whole<1, 5_000>>,
    /// How much less loaded another access point must be: with "clients" 1 to 5,000, default 5 (`load_balancing_threshold`,
    /// which is off by default); with "air-time" percentage points, 1 to 100, default 20.
    difference: Option<Whole<1, 5_000>>,
    /// The number of clients of an overloaded access point that are asked at each look, 1 to 5,000; default 3.
    requests: Option<Whole<1, 5_000>>,
    /// The weakest signal, in dBm, at which a client is to receive its new access point, -100 to -30; default -70.
    min_signal: Option<i16>,
    /// How long a client that has associated or was asked is left alone, at most "24 h"; default "60 s"
    /// (`roam_trigger_interval`).
    client_interval: Option<Text<Duration>>,
    /// How long a client that has refused is left alone, at most "24 h"; default "60 s" (`steer_reject_timeout`).
    refusal_interval: Option<Text<Duration>>,
}

/// The load of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum LoadName {
    /// The number of its clients.
    Clients,
    /// The share of time in which it and its clients transmit data frames.
    AirTime,
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &ControllerTable,
) -> Result<SteeringConfig, FileError> {
    let key = |key| ["wlans", name, "roaming", "controller", key];
    let default = ControllerConfig::default();
    let (load, overload, difference) = match table.load {
        LoadName::Clients => (Load::Clients, default.overload, default.difference),
        LoadName::AirTime => (Load::AirTime, 75.0, 20.0),
    };
    let of = |name, value: Option<Whole<1, 5_000>>, default| match value {
        None => Ok(default),
        Some(Whole(percent @ 101..)) if load == Load::AirTime => {
            Err(reader.fail(&key(name), format!("{percent}% of the time; expected 1 to 100")))
        }
        Some(Whole(value)) => Ok(f64::from(value)),
    };
    let min_signal = match table.min_signal {
        None => default.min_signal,
        Some(dbm @ -100..=-30) => Dbm(dbm),
        Some(dbm) => {
            let problem = format!("{dbm} dBm is out of range; expected -100 to -30");
            return Err(reader.fail(&key("min-signal"), problem));
        }
    };
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
    let interval =
        |name, value, default, least, most| reader.duration_in(&key(name), value, default, least, most);
    let controller = ControllerConfig {
        interval: interval("interval", table.interval, default.interval, second, hour)?,
        overload: of("overload", table.overload, overload)?,
        difference: of("difference", table.difference, difference)?,
        requests: table.requests.map_or(default.requests, |Whole(requests)| requests as usize),
        min_signal,
        client_interval: interval(
            "client-interval",
            table.client_interval,
            default.client_interval,
            Duration::ZERO,
            24 * hour,
        )?,
        refusal_interval: interval(
            "refusal-interval",
            table.refusal_interval,
            default.refusal_interval,
            Duration::ZERO,
            24 * hour,
        )?,
    };
    Ok(SteeringConfig { load, controller })
}
