//! The IEEE 802.11 cells of a scenario, and their links.

mod errors;
mod links;
mod mac;
mod mobility;
mod phy;
mod power_save;
mod propagation;
mod routing;
mod stations;
mod table;

use super::reader::Reader;
use crate::model::{LinkModel, NodeModel, WlanModel};
use lasthop_config::FileError;
use lasthop_sim::config::RadioErrors;
use lasthop_wifi::{Propagation, WlanConfig};

pub(super) use table::WlanTable;

/// Reads a cell and the links between its stations.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    index: usize,
    table: &WlanTable,
    nodes: &[NodeModel],
) -> Result<(WlanModel, Vec<LinkModel>), FileError> {
    let phy = phy::read(reader, name, table)?;
    let mac = mac::read(reader, name, table)?;
    let propagation = match &table.propagation {
        Some(entry) => propagation::read(reader, name, &entry.0)?,
        None => Propagation::Everywhere,
    };
    let capture = table.capture.as_ref();
    let capture = capture.map(|table| propagation::capture(reader, name, table, &propagation)).transpose()?;
    let errors = table.errors.as_ref();
    let errors = errors.map(|table| errors::read(reader, &["wlans", name, "errors"], table)).transpose()?;
    let RadioErrors { frames, channel } = errors.unwrap_or_default();
    let config = WlanConfig {
        phy,
        mac,
        propagation,
        capture,
        errors: frames,
        ..WlanConfig::new(table.standard.standard())
    };
    let stations = stations::read(reader, name, table, nodes)?;
    let has_access_point = table.access_point.is_some();
    let routing = table.routing.as_ref();
    let routing = routing.map(|entry| routing::read(reader, name, &entry.0, has_access_point));
    let routing = routing.transpose()?.flatten();
    let links = if routing.is_some() {
        links::pairs(reader, name, index, table, &stations, nodes)?
    } else {
        links::audible(reader, name, index, table, &config, &stations, nodes)?
    };
    let errors = errors::of_links(reader, name, &table.link_errors, &stations, &links)?;
    let placement = table.placement.as_ref();
    let placement = placement
        .map(|placement| mobility::placement(reader, name, placement, (&stations, nodes), routing.is_some()))
        .transpose()?;
    let mobility = table.mobility.as_ref();
    let keeps_links = routing.is_some() || has_access_point;
    let mobility = mobility
        .map(|mobility| mobility::read(reader, name, mobility, &stations, keeps_links))
        .transpose()?;
    let power_save = table.power_save.as_ref();
    let power_save = power_save
        .map(|table| power_save::read(reader, name, table, &stations, has_access_point))
        .transpose()?;
    let name = name.to_owned();
    Ok((
        WlanModel { name, config, stations, channel, errors, power_save, routing, placement, mobility },
        links,
    ))
}
