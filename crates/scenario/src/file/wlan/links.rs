//! The links of a cell.

use lasthop_config::FileError;
use lasthop_sim::RadioLinkConfig;
use lasthop_wifi::{Position, WlanConfig};

use super::table::WlanTable;
use crate::file::link::MAX_LINKS;
use crate::file::reader::Reader;
use crate::model::{Link, LinkModel, NodeModel, WlanStation};

/// The links between the access point and each station, or between all stations that hear each
/// other.
pub(super) fn audible(
    reader: &Reader<'_>,
    name: &str,
    wlan: usize,
    table: &WlanTable,
    config: &WlanConfig,
    stations: &[WlanStation],
    nodes: &[NodeModel],
) -> Result<Vec<LinkModel>, FileError> {
    let place = |station: &WlanStation| station.config.position;
    let name_of = |station: &WlanStation| nodes[station.node].name.as_str();
    let reaches = |one: Position, other: Position| config.propagation.reaches(one, other);
    let link = |first: &WlanStation, second: &WlanStation, name_of_link: String| LinkModel {
        queue_keys: Some([first, second].map(|station| queue_key(reader, name, table, name_of(station)))),
        ..LinkModel::new(
            (first.node, second.node),
            Link::Radio { config: RadioLinkConfig::new(name_of_link), wlan },
        )
    };
    let mut links = Vec::new();
    if let (Some(_), [access_point, others @ ..]) = (&table.access_point, stations) {
        for (index, station) in others.iter().enumerate() {
            if !reaches(place(access_point), place(station)) {
                let problem = format!(
                    "station {:?} is {:.0} m from the access point, out of its range; expected a nearer station or a longer range",
                    name_of(station),
                    place(access_point).distance(place(station))
                );
                return Err(reader.fail(&["wlans", name, "stations", &index.to_string()], problem));
            }
            links.push(link(access_point, station, format!("{name}.{}", name_of(station))));
        }
        return Ok(links);
    }
    for (index, station) in stations.iter().enumerate() {
        let mut is_heard = false;
        for (other_index, other) in stations.iter().enumerate() {
            if other_index == index || !reaches(place(station), place(other)) {
                continue;
            }
            is_heard = true;
            if other_index > index {
                links.push(link(station, other, format!("{name}.{}.{}", name_of(station), name_of(other))));
            }
        }
        if !is_heard {
            let problem = format!("station {:?} is out of range of all other stations", name_of(station));
            return Err(reader.fail(&["wlans", name, "stations", &index.to_string()], problem));
        }
        if links.len() > MAX_LINKS {
            let problem = format!(
                "more than {MAX_LINKS} pairs of stations hear each other; expected fewer stations, or an access point"
            );
            return Err(reader.fail(&["wlans", name, "stations"], problem));
        }
    }
    Ok(links)
}

/// A link for each client, which leads to one access point after another, the first one at first. The access points come
/// first among the stations.
pub(super) fn to_clients(
    reader: &Reader<'_>,
    name: &str,
    wlan: usize,
    table: &WlanTable,
    (stations, access_points): (&[WlanStation], usize),
    nodes: &[NodeModel],
) -> Vec<LinkModel> {
    let name_of = |station: &WlanStation| nodes[station.node].name.as_str();
    let link = |client: &WlanStation| {
        let config = RadioLinkConfig::new(format!("{name}.{}", name_of(client)));
        LinkModel {
            queue_keys: Some(
                [&stations[0], client].map(|station| queue_key(reader, name, table, name_of(station))),
            ),
            ..LinkModel::new((stations[0].node, client.node), Link::Radio { config, wlan })
        }
    };
    stations[access_points..].iter().map(link).collect()
}

/// Links between any two stations, because stations come into and out of range during a run.
pub(super) fn pairs(
    reader: &Reader<'_>,
    name: &str,
    wlan: usize,
    table: &WlanTable,
    stations: &[WlanStation],
    nodes: &[NodeModel],
) -> Result<Vec<LinkModel>, FileError> {
    if stations.len() * (stations.len() - 1) / 2 > MAX_LINKS {
        let problem = format!(
            "more than {MAX_LINKS} pairs of stations that might come into range; expected fewer stations"
        );
        return Err(reader.fail(&["wlans", name, "stations"], problem));
    }
    let mut links = Vec::new();
    for (index, first) in stations.iter().enumerate() {
        for second in &stations[index + 1..] {
            let names = [first, second].map(|station| nodes[station.node].name.as_str());
            let config = RadioLinkConfig::new(format!("{name}.{}.{}", names[0], names[1]));
            links.push(LinkModel {
                queue_keys: Some(names.map(|station| queue_key(reader, name, table, station))),
                ..LinkModel::new((first.node, second.node), Link::Radio { config, wlan })
            });
        }
    }
    Ok(links)
}

/// The key that limits the queue of a station.
fn queue_key(reader: &Reader<'_>, wlan: &str, table: &WlanTable, station: &str) -> String {
    let has_own = table.except.get(station).is_some_and(|own| own.queue.is_some());
    if has_own {
        reader.document.display(&["wlans", wlan, "except", station, "queue"])
    } else {
        reader.document.display(&["wlans", wlan, "queue"])
    }
}
