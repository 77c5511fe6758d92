//! The stations of a cell.

use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_sim::queue::StationQueue;
use lasthop_wifi::{PhyConfig, StationConfig};

use super::queues;
use super::table::WlanTable;
use crate::file::reader::Reader;
use crate::model::{NodeModel, WlanStation};

/// The maximum number of stations: that of nodes.
const MAX_STATIONS: usize = 5_000;

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    (table, phy): (&WlanTable, &PhyConfig),
    nodes: &[NodeModel],
) -> Result<Vec<WlanStation>, FileError> {
    let least = if table.access_point.is_some() || table.roaming.is_some() { 1 } else { 2 };
    if !(least..=MAX_STATIONS).contains(&table.stations.len()) {
        let problem = format!(
            "{}; expected {least} to {MAX_STATIONS}{}",
            counted(table.stations.len() as u64, "station"),
            if least == 2 { " without an access point" } else { "" }
        );
        return Err(reader.fail(&["wlans", name, "stations"], problem));
    }
    if let Some(unknown) = table.except.keys().find(|station| {
        !table.stations.contains(station) && !table.access_points().any(|(_, it)| it == *station)
    }) {
        let problem = "not a station of this cell; expected the name of one of its stations";
        return Err(reader.fail(&["wlans", name, "except", unknown], problem));
    }
    if table.roaming.as_ref().is_some_and(|roaming| roaming.access_points.is_empty()) {
        let key = ["wlans", name, "roaming", "access-points"];
        return Err(reader.fail(&key, "expected one access point or more"));
    }
    let places = table.stations.iter().enumerate();
    let places = places.map(|(index, station)| (vec!["stations".to_owned(), index.to_string()], station));
    let mut stations: Vec<WlanStation> = Vec::new();
    for (place, node) in table.access_points().chain(places) {
        let place = place.iter().map(String::as_str);
        let key: Vec<&str> = ["wlans", name].into_iter().chain(place).collect();
        let (found, _) = reader.node(&key, node)?;
        if stations.iter().any(|other| other.node == found) {
            return Err(reader.fail(&key, format!("{node:?} is listed twice; expected each node once")));
        }
        let own = table.except.get(node);
        let key = ["wlans", name, "except", node, "rate"];
        let rate = own
            .and_then(|own| own.rate)
            .map(|written| table.rates(phy).read(reader, &key, written))
            .transpose()?;
        let knows_options = own.and_then(|own| own.link_options).or(table.link_options).unwrap_or(false);
        let config = StationConfig {
            position: nodes[found].position,
            rate,
            knows_options,
            ..StationConfig::default()
        };
        stations.push(WlanStation { node: found, config, queue: StationQueue::Mac });
    }
    for (station, waiting) in stations.iter_mut().zip(queues::of_cell(reader, name, table, None)?) {
        waiting.apply(station);
    }
    Ok(stations)
}
