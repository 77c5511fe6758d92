//! Where stations of a cell stand at first, and how they move.

use std::time::Duration;

use lasthop_sim::mobility::RandomWaypoint;
use lasthop_sim::wifi::Position;

use super::station;
use super::tables::{MobilityName, MobilityTable, PlacementTable};
use crate::file::error::ScenarioError;
use crate::file::quantity::{Metres, Speed, Text};
use crate::file::reader::Reader;
use crate::model::{Mobility, NodeModel, Placement, WlanStation};

pub(super) fn placement(
    reader: &Reader<'_>,
    name: &str,
    table: &PlacementTable,
    (stations, nodes): (&[WlanStation], &[NodeModel]),
    is_on_demand: bool,
) -> Result<Placement, ScenarioError> {
    if !is_on_demand {
        let problem = "who hears whom differs from seed to seed; expected `routing = \"aodv\"` beside it";
        return Err(reader.fail(&["wlans", name, "placement"], problem));
    }
    for station in stations {
        let key = ["nodes", &nodes[station.node].name, "position"];
        if reader.document.get(&key).is_some() {
            let problem = format!("its cell {name:?} places its stations by the seed; leave one of them out");
            return Err(reader.fail(&key, problem));
        }
    }
    let area = area(reader, &["wlans", name, "placement", "area"], &table.area)?;
    let apart = table.apart.as_ref().map(|apart| {
        let key = |key| ["wlans", name, "placement", "apart", key];
        let (from, to) = (
            station(reader, &key("from"), &apart.from, stations)?,
            station(reader, &key("to"), &apart.to, stations)?,
        );
        if from == to {
            return Err(reader.fail(&key("to"), "no hops from itself; expected another station"));
        }
        let hops = super::count(reader, &key("hops"), Some(apart.hops), 1, (1, 100))?;
        Ok((from, to, hops as usize))
    });
    Ok(Placement { area, apart: apart.transpose()? })
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &MobilityTable,
    stations: &[WlanStation],
    keeps_links: bool,
) -> Result<Mobility, ScenarioError> {
    if !keeps_links {
        let problem = "shortest paths do not follow stations that move; expected `routing = \"aodv\"` beside it, or an access point";
        return Err(reader.fail(&["wlans", name, "mobility"], problem));
    }
    let key = |key| ["wlans", name, "mobility", key];
    let MobilityName::RandomWaypoint = table.model;
    let [Text(Speed(slowest)), Text(Speed(fastest))] = table.speed;
    if fastest < slowest {
        return Err(reader.fail(&key("speed"), "expected the slowest speed first"));
    }
    let (pause, interval) = (Duration::ZERO, Duration::from_millis(100));
    let model = RandomWaypoint {
        area: area(reader, &key("area"), &table.area)?,
        speed: (slowest, fastest),
        pause: reader.duration_in(&key("pause"), table.pause, pause, pause, Duration::from_secs(3600))?,
        interval: reader.duration_in(
            &key("interval"),
            table.interval,
            interval,
            Duration::from_millis(1),
            Duration::from_secs(60),
        )?,
    };
    let fixed = table.fixed.iter().enumerate().map(|(index, node)| {
        station(reader, &["wlans", name, "mobility", "fixed", &index.to_string()], node, stations)
    });
    let fixed: Vec<usize> = fixed.collect::<Result<_, _>>()?;
    let walkers = (0..stations.len()).filter(|station| !fixed.contains(station)).collect();
    Ok(Mobility { model, walkers })
}

/// The far corner of an area.
fn area(
    reader: &Reader<'_>,
    key: &[&str],
    [Text(Metres(width)), Text(Metres(depth))]: &[Text<Metres>; 2],
) -> Result<Position, ScenarioError> {
    if *width > 0.0 && *depth > 0.0 {
        return Ok(Position::new(*width, *depth));
    }
    Err(reader.fail(key, "expected a width and a depth above zero, such as [\"100 m\", \"100 m\"]"))
}
