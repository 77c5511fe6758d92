//! The IEEE 802.11 cells of a scenario, and their links.

mod aggregation;
mod controller;
mod errors;
mod links;
mod mac;
mod mobility;
mod nat;
mod paths;
mod phy;
mod power_save;
mod program;
mod propagation;
pub(super) mod queues;
mod rates;
pub(super) mod roaming;
mod routing;
mod scheduler;
mod stations;
mod table;

use super::reader::Reader;
use crate::model::{LinkModel, NodeModel, Program, WlanModel, WlanStation};
use lasthop_config::FileError;
use lasthop_packet::Instant;
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
    if table.roaming.is_some() {
        refuse_others(reader, name, table)?;
    }
    let phy = phy::read(reader, name, table)?;
    let mac = mac::read(reader, name, table, &phy)?;
    let propagation = match &table.propagation {
        Some(entry) => propagation::read(reader, name, &entry.0)?,
        None => Propagation::Everywhere,
    };
    let capture = table.capture.as_ref();
    let capture = capture.map(|table| propagation::capture(reader, name, table, &propagation)).transpose()?;
    let errors = table.errors.as_ref();
    let errors = errors
        .map(|errors| errors::read(reader, &["wlans", name, "errors"], errors, table.rates(&phy)))
        .transpose()?;
    let RadioErrors { frames, channel } = errors.unwrap_or_default();
    let config = WlanConfig {
        phy,
        mac,
        propagation,
        capture,
        errors: frames,
        ..WlanConfig::new(table.standard.standard())
    };
    let mut stations = stations::read(reader, name, (table, &config.phy), nodes)?;
    let roaming = match &table.roaming {
        Some(roaming) => Some(roaming::read(reader, name, roaming, (&mut stations, nodes))?),
        None => None,
    };
    let standing = roaming.as_ref().map_or(0, |roaming| roaming.access_points);
    let paths = paths::read(reader, name, &table.paths, (&stations, standing))?;
    for (station, path) in &paths {
        stations[*station].config.position = path.position(Instant::ZERO);
    }
    for (key, given) in [("mobility", table.mobility.is_some()), ("placement", table.placement.is_some())] {
        if given && !paths.is_empty() {
            let problem = "stations follow `paths` or are moved at random; leave one of the two out";
            return Err(reader.fail(&["wlans", name, key], problem));
        }
    }
    let program = read_program(reader, name, table, (&stations[standing..], nodes))?;
    let has_access_point = table.access_point.is_some();
    let routing = table.routing.as_ref();
    let routing = routing.map(|entry| routing::read(reader, name, &entry.0, has_access_point));
    let routing = routing.transpose()?.flatten();
    let links = if let Some(roaming) = &roaming {
        links::to_clients(reader, name, index, table, (&stations, roaming.access_points), nodes)
    } else if routing.is_some() {
        links::pairs(reader, name, index, table, &stations, nodes)?
    } else {
        links::audible(reader, name, index, table, &config, &stations, nodes)?
    };
    let errors =
        errors::of_links(reader, name, (&table.link_errors, table.rates(&config.phy)), &stations, &links)?;
    let placement = table.placement.as_ref();
    let placement = placement
        .map(|placement| {
            // Access points stand where they are given.
            let clients = roaming.as_ref().map_or(0, |roaming| roaming.access_points);
            let kinds = (routing.is_some(), roaming.is_some());
            mobility::placement(reader, name, placement, (&stations[clients..], nodes), kinds)
        })
        .transpose()?;
    let mobility = table.mobility.as_ref();
    let keeps_links = routing.is_some() || has_access_point || roaming.is_some();
    if !paths.is_empty() && !keeps_links {
        let problem = "shortest paths do not follow stations that move; requires `routing = \"aodv\"`, an access point or `roaming`";
        return Err(reader.fail(&["wlans", name, "paths"], problem));
    }
    let mobility = mobility
        .map(|mobility| mobility::read(reader, name, mobility, &stations, keeps_links))
        .transpose()?;
    // Access points stand still.
    let mobility = mobility.map(|mut mobility| {
        let access_points = roaming.as_ref().map_or(0, |roaming| roaming.access_points);
        mobility.walkers.retain(|walker| *walker >= access_points);
        mobility
    });
    let power_save = table.power_save.as_ref();
    let power_save = power_save
        .map(|table| power_save::read(reader, name, table, &stations, has_access_point))
        .transpose()?;
    let name = name.to_owned();
    Ok((
        WlanModel {
            name,
            config,
            stations,
            has_access_point,
            channel,
            errors,
            power_save,
            routing,
            placement,
            mobility,
            paths,
            program,
            roaming,
        },
        links,
    ))
}

fn read_program(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    (clients, nodes): (&[WlanStation], &[NodeModel]),
) -> Result<Option<Program>, FileError> {
    let Some(program) = &table.program else { return Ok(None) };
    let key = ["wlans", name, "program"];
    if table.roaming.is_none() {
        return Err(reader.fail(
            &key,
            "requires `roaming`: without access points to choose from, clients get out of range",
        ));
    }
    let others = [
        ("mobility", table.mobility.is_some()),
        ("placement", table.placement.is_some()),
        ("paths", !table.paths.is_empty()),
    ];
    if let Some((other, _)) = others.into_iter().find(|(_, given)| *given) {
        let problem = "the `program` says where stations are; leave one of the two out";
        return Err(reader.fail(&["wlans", name, other], problem));
    }
    mobility::refuse_positions(reader, name, "program", (clients, nodes))?;
    program::read(reader, name, program).map(Some)
}

/// The keys of a cell that roaming excludes.
fn refuse_others(reader: &Reader<'_>, name: &str, table: &WlanTable) -> Result<(), FileError> {
    let others = [
        ("access-point", table.access_point.is_some()),
        ("power-save", table.power_save.is_some()),
        ("routing", table.routing.is_some()),
        ("link-errors", !table.link_errors.is_empty()),
    ];
    match others.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((key, _)) => {
            let problem = "does not go with `roaming`; leave one of the two out";
            Err(reader.fail(&["wlans", name, key], problem))
        }
    }
}
