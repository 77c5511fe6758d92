//! The stations of a cell.

use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_sim::QueueLimit;
use lasthop_wifi::StationConfig;

use super::phy;
use super::table::WlanTable;
use crate::file::quantity::{StationQueue, Text};
use crate::file::reader::Reader;
use crate::model::{NodeModel, WlanStation};

/// The maximum number of stations: the pairs of more would exceed the maximum number of links.
const MAX_STATIONS: usize = 2_000;

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    nodes: &[NodeModel],
) -> Result<Vec<WlanStation>, FileError> {
    let least = if table.access_point.is_some() { 1 } else { 2 };
    if !(least..=MAX_STATIONS).contains(&table.stations.len()) {
        let problem = format!(
            "{}; expected {least} to {MAX_STATIONS}{}",
            counted(table.stations.len() as u64, "station"),
            if least == 2 { " without an access point" } else { "" }
        );
        return Err(reader.fail(&["wlans", name, "stations"], problem));
    }
    if let Some(unknown) = table
        .except
        .keys()
        .find(|station| !table.stations.contains(station) && table.access_point.as_ref() != Some(station))
    {
        let problem = "not a station of this cell; expected the name of one of its stations";
        return Err(reader.fail(&["wlans", name, "except", unknown], problem));
    }
    let places = table.stations.iter().enumerate().map(|(index, station)| (index.to_string(), station));
    let mut stations: Vec<WlanStation> = Vec::new();
    let access_point = table.access_point.iter().map(|node| (None, node));
    for (index, node) in access_point.chain(places.map(|(index, node)| (Some(index), node))) {
        let key: Vec<&str> = match &index {
            Some(index) => vec!["wlans", name, "stations", index],
            None => vec!["wlans", name, "access-point"],
        };
        let (found, _) = reader.node(&key, node)?;
        if stations.iter().any(|other| other.node == found) {
            return Err(reader.fail(&key, format!("{node:?} is listed twice; expected each node once")));
        }
        let own = table.except.get(node);
        let default = StationConfig::default();
        let own_queue = own.and_then(|own| own.queue);
        let written = own_queue.or(table.queue);
        let queue = written.map_or(default.queue, |Text(StationQueue(queue))| queue);
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
            .map(|written| phy::rate(reader, &key, table, written))
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
