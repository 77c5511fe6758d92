//! The stations of a cell.

use std::collections::BTreeMap;

use lasthop_config::FileError;
use lasthop_config::words::counted;
use lasthop_sim::StationId;
use lasthop_sim::queue::StationQueue;
use lasthop_wifi::{PhyConfig, StationConfig};

use super::queues::{self, Keys, RowTable};
use super::table::WlanTable;
use crate::file::quantity::Whole;
use crate::file::reader::Reader;
use crate::model::{NodeModel, Waiting, WlanStation};

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
    for (station, waiting) in stations.iter_mut().zip(queues(reader, name, table, None)?) {
        waiting.apply(station);
    }
    Ok(stations)
}

/// Where the packets of each station wait, in the row with an index and a table of its own if that is given.
pub(in crate::file) fn queues(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    row: Option<(&str, &RowTable)>,
) -> Result<Vec<Waiting>, FileError> {
    let nodes: Vec<&String> = access_points(table).map(|(_, node)| node).chain(&table.stations).collect();
    let of_cell = Keys::of_cell(name, table);
    let of_row = row.map(|(index, row)| Keys::of_row(index, name, row));
    let (standard, saves_power) = (table.standard.standard(), table.power_save.is_some());
    let mut all = Vec::new();
    for node in &nodes {
        let own = table.except.get(*node).map(|own| Keys::of_station(name, node, own));
        let tables: Vec<_> = [own, of_row.clone(), Some(of_cell.clone())].into_iter().flatten().collect();
        let waiting = queues::read(reader, &tables, standard, saves_power)?;
        all.push(waiting);
    }
    if let Some(of_row) = &of_row {
        of_row.refuse_driver_queue(reader, all.iter().map(|waiting| &waiting.above))?;
    }
    let weight = |(at, node): (usize, &&String)| {
        let Whole(weight) = table.except.get(*node)?.airtime_weight?;
        Some((StationId::from_index(at), weight))
    };
    let weights: BTreeMap<StationId, u32> = nodes.iter().enumerate().filter_map(weight).collect();
    all.iter_mut().filter_map(Waiting::weights_mut).for_each(|its| *its = weights.clone());
    Ok(all)
}

/// Refuses keys that have no effect. `variants`: where the packets of the station with an index wait, in the cell and in the
/// rows of the comparison that override that.
pub(in crate::file) fn refuse_without_effect<'a, V: Iterator<Item = &'a StationQueue>>(
    reader: &Reader<'_>,
    name: &str,
    table: &WlanTable,
    variants: impl Fn(usize) -> V,
) -> Result<(), FileError> {
    let nodes: Vec<&String> = access_points(table).map(|(_, node)| node).chain(&table.stations).collect();
    let all = || (0..nodes.len()).flat_map(&variants);
    Keys::of_cell(name, table).refuse_driver_queue(reader, all())?;
    let is_by_airtime = all().any(|queue| matches!(queue, StationQueue::Airtime(_)));
    for (index, node) in nodes.iter().enumerate() {
        let Some(own) = table.except.get(*node) else { continue };
        Keys::of_station(name, node, own).refuse_driver_queue(reader, variants(index))?;
        if own.airtime_weight.is_some() && !is_by_airtime {
            let problem = "has no effect unless a station has `scheduler = \"airtime\"`";
            return Err(reader.fail(&["wlans", name, "except", node, "airtime-weight"], problem));
        }
    }
    Ok(())
}

/// The access points, each with its key.
fn access_points(table: &WlanTable) -> impl Iterator<Item = (Vec<String>, &String)> {
    let one = table.access_point.iter().map(|node| (vec!["access-point".to_owned()], node));
    let several = table.roaming.iter().flat_map(|roaming| roaming.access_points.iter().enumerate());
    let key = |index: usize| vec!["roaming".to_owned(), "access-points".to_owned(), index.to_string()];
    one.chain(several.map(move |(index, node)| (key(index), node)))
}
