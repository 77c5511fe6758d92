//! The stations of a cell.

use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_sim::QueueLimit;
use lasthop_wifi::{PhyConfig, StationConfig};

use super::table::WlanTable;
use crate::file::quantity::{StationQueue, Text};
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
        !table.stations.contains(station) && !access_points(table).any(|(_, it)| it == *station)
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
    for (place, node) in access_points(table).chain(places) {
        let place = place.iter().map(String::as_str);
        let key: Vec<&str> = ["wlans", name].into_iter().chain(place).collect();
        let (found, _) = reader.node(&key, node)?;
        if stations.iter().any(|other| other.node == found) {
            return Err(reader.fail(&key, format!("{node:?} is listed twice; expected each node once")));
        }
        let own = table.except.get(node);
        let default = StationConfig::default();
        let own_queue = own.and_then(|own| own.queue);
        let written = own_queue.or(table.queue);
        let usual = match table.standard.standard().format() {
            None => default.queue,
            // `txqueuelen` of a network interface in Linux.
            Some(_) => QueueLimit::Packets(1_000),
        };
        let queue = written.map_or(usual, |Text(StationQueue(queue))| queue);
        if !matches!(queue, QueueLimit::Packets(1..) | QueueLimit::Unlimited | QueueLimit::Octets(1..)) {
            let own_key = ["wlans", name, "except", node, "queue"];
            let key = if own_queue.is_some() { &own_key[..] } else { &["wlans", name, "queue"] };
            return Err(reader.fail(key, "expected room for a packet or more"));
        }
        let scheduler = own.and_then(|own| own.scheduler).or(table.scheduler);
        let scheduler = scheduler.map_or(default.scheduler, Into::into);
        let key = ["wlans", name, "except", node, "rate"];
        let rate = own
            .and_then(|own| own.rate)
            .map(|written| table.rates(phy).read(reader, &key, written))
            .transpose()?;
        let knows_options = own.and_then(|own| own.link_options).or(table.link_options).unwrap_or(false);
        let config = StationConfig {
            position: nodes[found].position,
            channel: default.channel,
            rate,
            queue,
            scheduler,
            short_retry_limit: None,
            knows_options,
        };
        stations.push(WlanStation { node: found, config });
    }
    Ok(stations)
}

/// The access points, each with its key.
fn access_points(table: &WlanTable) -> impl Iterator<Item = (Vec<String>, &String)> {
    let one = table.access_point.iter().map(|node| (vec!["access-point".to_owned()], node));
    let several = table.roaming.iter().flat_map(|roaming| roaming.access_points.iter().enumerate());
    let key = |index: usize| vec!["roaming".to_owned(), "access-points".to_owned(), index.to_string()];
    one.chain(several.map(move |(index, node)| (key(index), node)))
}
