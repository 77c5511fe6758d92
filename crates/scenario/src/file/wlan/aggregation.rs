//! What the stations of a cell aggregate.

use std::time::Duration;

use lasthop_config::FileError;
use lasthop_packet::units::format_octets;
use lasthop_wifi::{Aggregation, Standard};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::named::Named;
use crate::file::quantity::{Octets, Text, Whole};
use crate::file::reader::Reader;

/// Aggregation of packets to one receiver, from 802.11n on, under block acks. Stations in a cell with power save go
/// without.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AggregationTable {
    /// Whether packets are aggregated; default "block-ack".
    #[serde(default)]
    kind: AggregationName,
    /// The largest A-MPDU: MPDUs in one frame on the air; default the most of the standard: "65535 B" (802.11n), "1048575 B"
    /// (802.11ac), "4194303 B" (802.11ax). "0 B": each MPDU goes alone.
    ampdu: Option<Text<Octets>>,
    /// The largest A-MSDU: packets in one MPDU, which arrives or is lost as a whole; at most "7935 B" with 802.11n, of them "4065
    /// B" in an A-MPDU, otherwise "11454 B". Default "0 B": each packet has an MPDU of its own.
    amsdu: Option<Text<Octets>>,
    /// The block ack window: how many MPDUs may be on their way from the first that is not acknowledged, 1 to 256; default 64,
    /// with 802.11ax 256.
    block_ack_window: Option<Whole<1, 256>>,
    /// The longest frame on the air, "100 us" to "20 ms"; default "5.484 ms".
    ppdu_duration: Option<Text<Duration>>,
}

/// Whether packets are aggregated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AggregationName {
    /// Each frame carries one packet, and is acknowledged by an ACK.
    None,
    /// As many as fit.
    #[default]
    BlockAck,
}

impl Named for AggregationTable {
    type Name = AggregationName;
    const SCHEMA: &'static str = "Aggregation";
    const EXPECTED: &'static str = "\"block-ack\", \"none\", or a table";

    fn named(kind: AggregationName) -> Self {
        Self { kind, ..Self::default() }
    }
}

/// `None`: no aggregation. `saves_power`: whether stations of the cell doze.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: Option<&AggregationTable>,
    (standard, saves_power): (Standard, bool),
) -> Result<Option<Aggregation>, FileError> {
    let default = standard.format().map(Aggregation::new);
    let Some(table) = table else { return Ok(default.filter(|_| !saves_power)) };
    let Some(default) = default else {
        let problem =
            "frames are aggregated from 802.11n on; requires `standard` 802.11n, 802.11ac or 802.11ax";
        return Err(reader.fail(&["wlans", name, "aggregation"], problem));
    };
    if table.kind == AggregationName::None {
        return table.without_parameters(reader, name);
    }
    if saves_power {
        let problem = "a cell with `power-save` does not aggregate; leave one of the two out";
        return Err(reader.fail(&["wlans", name, "aggregation"], problem));
    }
    let octets = |value: Option<Text<Octets>>, default| value.map_or(default, |Text(Octets(it))| it);
    let (ampdu, amsdu) =
        (octets(table.ampdu, default.ampdu.into()), octets(table.amsdu, default.amsdu.into()));
    let within = |key, value: u64, most: u32| match u32::try_from(value) {
        Ok(value) if value <= most => Ok(value),
        _ => {
            let problem = format!("{} is out of range; expected 0 B to {most} B", format_octets(value));
            Err(reader.fail(&["wlans", name, "aggregation", key], problem))
        }
    };
    let ampdu = within("ampdu", ampdu, default.ampdu)?;
    let default = Aggregation { ampdu, ..default };
    let amsdu = within("amsdu", amsdu, default.largest_amsdu(standard))?;
    let (least, most) = (Duration::from_micros(100), Duration::from_millis(20));
    let key = ["wlans", name, "aggregation", "ppdu-duration"];
    let duration = reader.duration_if_given(&key, table.ppdu_duration, least, most)?;
    let window = table.block_ack_window.map_or(default.window, |Whole(window)| window as u16);
    Ok(Some(Aggregation { amsdu, window, duration: duration.unwrap_or(default.duration), ..default }))
}

impl AggregationTable {
    fn without_parameters(&self, reader: &Reader<'_>, name: &str) -> Result<Option<Aggregation>, FileError> {
        let given = [
            ("ampdu", self.ampdu.is_some()),
            ("amsdu", self.amsdu.is_some()),
            ("block-ack-window", self.block_ack_window.is_some()),
            ("ppdu-duration", self.ppdu_duration.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(None),
            Some((key, _)) => {
                let problem = "nothing is aggregated with `kind = \"none\"`; leave one of the two out";
                Err(reader.fail(&["wlans", name, "aggregation", key], problem))
            }
        }
    }
}
