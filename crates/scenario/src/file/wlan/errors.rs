//! Frames that are lost without a collision.

use lasthop_packet::Probability;
use lasthop_sim::wifi::{ErrorConfig, Rate};

use super::tables::ErrorTable;
use crate::file::error::ScenarioError;
use crate::file::link::channel;
use crate::file::quantity::{DataRate, Text, Written};
use crate::file::reader::{Key, Reader};

/// The errors whose table stands at `place`.
pub(super) fn read(
    reader: &Reader<'_>,
    place: &Key<'_>,
    table: &ErrorTable,
) -> Result<ErrorConfig, ScenarioError> {
    let all = table.bit_error_rate.map(|Text(rate)| rate.value());
    let mut bit = all.map(|rate| [rate; Rate::ALL.len()]);
    for (written, Text(rate)) in &table.bit_error_rates {
        let key = [place, &["bit-error-rates", written]].concat();
        let DataRate(of) = DataRate::read(written).map_err(|problem| reader.fail(&key, problem))?;
        bit.get_or_insert([0.0; Rate::ALL.len()])[of as usize] = rate.value();
    }
    let channel_place = [place, &["channel"]].concat();
    let channel = table.channel.as_ref().map(|table| channel(reader, &channel_place, table)).transpose()?;
    Ok(ErrorConfig {
        packet: table.packet_error_rate.map_or(Probability::ZERO, |Text(rate)| rate),
        bit,
        channel,
        control: table.control_frames.unwrap_or(false),
    })
}
