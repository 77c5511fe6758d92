//! Losses of frames without a collision.

use std::collections::BTreeMap;

use lasthop_config::FileError;
use lasthop_packet::Probability;
use lasthop_sim::config::RadioErrors;
use lasthop_wifi::{BitErrorRates, ErrorConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::rates::Rates;
use crate::file::channel::{self, ChannelTable};
use crate::file::quantity::{DataRate, Text, Written};
use crate::file::reader::{Key, Reader};
use crate::model::{LinkModel, WlanStation};

/// Losses of frames without a collision. The parts are independent of each other.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ErrorTable {
    /// The probability that a frame is lost, regardless of its length; default "0%".
    packet_error_rate: Option<Text<Probability>>,
    /// The probability that a bit is wrong, at any rate, so that long frames are lost more often;
    /// default "0%".
    bit_error_rate: Option<Text<Probability>>,
    /// The bit error rate by data rate, if it differs: `{ "11 Mbit/s" = "0.001%" }`.
    #[serde(default)]
    bit_error_rates: BTreeMap<String, Text<Probability>>,
    /// A good and a bad state, with stays that are exponentially distributed or recorded.
    channel: Option<ChannelTable>,
    /// Whether RTS, CTS and ACK frames are also lost; default false.
    control_frames: Option<bool>,
}

/// Errors of one direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LinkErrorTable {
    /// The station that sends.
    from: String,
    /// The station that receives.
    to: String,
    /// The errors.
    errors: ErrorTable,
}

/// Reads the errors whose table is at `place`.
pub(super) fn read(
    reader: &Reader<'_>,
    place: &Key<'_>,
    table: &ErrorTable,
    rates: Rates<'_>,
) -> Result<RadioErrors, FileError> {
    let all = table.bit_error_rate.map(|Text(rate)| rate.value());
    let mut bit = all.map(|others| BitErrorRates { others, ..BitErrorRates::default() });
    for (written, Text(rate)) in &table.bit_error_rates {
        let key = [place, &["bit-error-rates", written]].concat();
        let of = DataRate::read(written).map_err(|problem| reader.fail(&key, problem))?;
        let of = rates.read(reader, &key, Text(of))?;
        bit.get_or_insert_default().by_rate.insert(of, rate.value());
    }
    let channel_place = [place, &["channel"]].concat();
    let channel =
        table.channel.as_ref().map(|table| channel::read(reader, &channel_place, table)).transpose()?;
    let frames = ErrorConfig {
        packet: table.packet_error_rate.map_or(Probability::ZERO, |Text(rate)| rate),
        bit,
        control: table.control_frames.unwrap_or(false),
    };
    Ok(RadioErrors { frames, channel })
}

/// Errors from one station of a cell to another, by their indices.
type DirectionErrors = (usize, usize, RadioErrors);

/// Reads the directions between two stations that have errors of their own.
pub(super) fn of_links(
    reader: &Reader<'_>,
    name: &str,
    (tables, rates): (&BTreeMap<String, LinkErrorTable>, Rates<'_>),
    stations: &[WlanStation],
    links: &[LinkModel],
) -> Result<Vec<DirectionErrors>, FileError> {
    let mut directions: Vec<DirectionErrors> = Vec::new();
    for (own_name, own) in tables {
        let key = |key| ["wlans", name, "link-errors", own_name, key];
        let from = reader.station(&key("from"), &own.from, stations)?;
        let to = reader.station(&key("to"), &own.to, stations)?;
        let (first, second) = (stations[from].node, stations[to].node);
        if !links.iter().any(|link| link.ends == (first, second) || link.ends == (second, first)) {
            let problem = format!("{:?} and {:?} do not talk to each other directly", own.from, own.to);
            return Err(reader.fail(&key("to"), problem));
        }
        if directions.iter().any(|other| (other.0, other.1) == (from, to)) {
            return Err(
                reader.fail(&key("to"), "errors for this direction are given twice; expected them once")
            );
        }
        directions.push((from, to, read(reader, &key("errors"), &own.errors, rates)?));
    }
    Ok(directions)
}
