//! The initial positions of the stations of a cell, and their movement.

use std::time::Duration;

use crate::file::pair;
use crate::file::quantity::{Metres, Speed, Text, Whole};
use crate::file::reader::Reader;
use crate::model::{Mobility, NodeModel, Placement, WlanStation};
use lasthop_config::FileError;
use lasthop_sim::mobility::RandomWaypoint;
use lasthop_wifi::Position;
use schemars::JsonSchema;
use serde::Deserialize;

/// The initial positions of the stations, or of clients that roam.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PlacementTable {
    /// Anywhere in an area of this width and depth, each station independently, with other
    /// positions for each seed.
    #[serde(deserialize_with = "pair::exact")]
    area: [Text<Metres>; 2],
    /// Two stations and their distance in hops: positions are drawn until the distance is right.
    apart: Option<ApartTable>,
}

/// Two stations and the number of hops between them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ApartTable {
    /// The first station.
    from: String,
    /// The second station.
    to: String,
    /// Hops on the shortest path, 1 to 100.
    hops: Whole<1, 100>,
}

/// How stations move.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MobilityTable {
    /// The mobility model.
    model: MobilityName,
    /// Waypoints are anywhere in an area of this width and depth.
    #[serde(deserialize_with = "pair::exact")]
    area: [Text<Metres>; 2],
    /// From the slowest to the fastest speed, "0.001 m/s" to "1000 m/s", uniformly distributed. It
    /// must be above zero: with zero some walks never end, and the mean speed falls all the time.
    #[serde(deserialize_with = "pair::exact")]
    speed: [Text<Speed>; 2],
    /// The pause at each waypoint, at most "1 h"; default "0 s".
    pause: Option<Text<Duration>>,
    /// How often the positions of walking stations are updated, "1 ms" to "1 min"; default
    /// "100 ms".
    interval: Option<Text<Duration>>,
    /// Stations that do not move; default none.
    #[serde(default)]
    fixed: Vec<String>,
}

/// A mobility model.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum MobilityName {
    /// A station walks straight to a random point in the area, at a random speed for each walk. It
    /// pauses, and then walks again.
    RandomWaypoint,
}

pub(super) fn placement(
    reader: &Reader<'_>,
    name: &str,
    table: &PlacementTable,
    (stations, nodes): (&[WlanStation], &[NodeModel]),
    (is_on_demand, roams): (bool, bool),
) -> Result<Placement, FileError> {
    if !is_on_demand && !roams {
        let problem = "connectivity differs from seed to seed; requires `routing = \"aodv\"` or `roaming`";
        return Err(reader.fail(&["wlans", name, "placement"], problem));
    }
    if roams && table.apart.is_some() {
        let problem = "clients that roam have no hops between them; leave it out";
        return Err(reader.fail(&["wlans", name, "placement", "apart"], problem));
    }
    refuse_positions(reader, name, "placement", (stations, nodes))?;
    let area = area(reader, &["wlans", name, "placement", "area"], &table.area)?;
    let apart = table.apart.as_ref().map(|apart| {
        let key = |key| ["wlans", name, "placement", "apart", key];
        let (from, to) = (
            reader.station(&key("from"), &apart.from, stations)?,
            reader.station(&key("to"), &apart.to, stations)?,
        );
        if from == to {
            return Err(reader.fail(&key("to"), "the same station as `from`; expected another station"));
        }
        let Whole(hops) = apart.hops;
        Ok((from, to, hops as usize))
    });
    Ok(Placement { area, apart: apart.transpose()? })
}

/// Refuses positions of stations whose places are drawn, as this key of their cell has it.
pub(super) fn refuse_positions(
    reader: &Reader<'_>,
    name: &str,
    drawn_by: &str,
    (stations, nodes): (&[WlanStation], &[NodeModel]),
) -> Result<(), FileError> {
    for station in stations {
        let key = ["nodes", &nodes[station.node].name, "position"];
        if reader.document.get(&key).is_some() {
            let problem = format!(
                "its cell {name:?} draws the places of its stations by seed; leave out either `position` or `{drawn_by}`"
            );
            return Err(reader.fail(&key, problem));
        }
    }
    Ok(())
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &MobilityTable,
    stations: &[WlanStation],
    keeps_links: bool,
) -> Result<Mobility, FileError> {
    if !keeps_links {
        let problem = "shortest paths do not follow stations that move; requires `routing = \"aodv\"` or an access point";
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
        reader.station(&["wlans", name, "mobility", "fixed", &index.to_string()], node, stations)
    });
    let fixed: Vec<usize> = fixed.collect::<Result<_, _>>()?;
    let walkers = (0..stations.len()).filter(|station| !fixed.contains(station)).collect();
    Ok(Mobility { model, walkers })
}

/// The north-east corner of an area.
fn area(
    reader: &Reader<'_>,
    key: &[&str],
    [Text(Metres(width)), Text(Metres(depth))]: &[Text<Metres>; 2],
) -> Result<Position, FileError> {
    if *width > 0.0 && *depth > 0.0 {
        return Ok(Position::new(*width, *depth));
    }
    Err(reader.fail(key, "expected a width and a depth above zero, such as [\"100 m\", \"100 m\"]"))
}
