//! Paths that stations follow.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_packet::Instant;
use lasthop_sim::mobility::Path;
use lasthop_wifi::Position;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::quantity::{Metres, Speed, Text, Whole};
use crate::file::reader::Reader;
use crate::model::WlanStation;

/// The maximum number of points of a path, with all laps.
const MAX_POINTS: usize = 100_000;

/// A path that a station follows. It begins at the first point.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PathTable {
    /// The points, east and north, which it visits in this order; at least two.
    points: Vec<Vec<Text<Metres>>>,
    /// Its speed, "0.001 m/s" to "1000 m/s"; default "1.4 m/s".
    speed: Option<Text<Speed>>,
    /// When it sets out; default "0 s".
    start: Option<Text<Duration>>,
    /// How often it goes along the path: there, back, there and so on; 1 to 10,000, default 1.
    laps: Option<Whole<1, 10_000>>,
}

/// The paths of stations, by their indices. The first point of each is where its station stands at first. The first
/// `standing` stations are access points, which stand still.
pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    tables: &BTreeMap<String, PathTable>,
    (stations, standing): (&[WlanStation], usize),
) -> Result<Vec<(usize, Path)>, FileError> {
    let path = |(node, table): (&String, &PathTable)| {
        let key = ["wlans", name, "paths", node];
        let station = reader.station(&key, node, stations)?;
        if station < standing {
            return Err(
                reader.fail(&key, "an access point, which stands still; expected one of the stations")
            );
        }
        Ok((station, path(reader, &key, table)?))
    };
    tables.iter().map(path).collect()
}

fn path(reader: &Reader<'_>, key: &[&str; 4], table: &PathTable) -> Result<Path, FileError> {
    let [wlans, name, paths, node] = *key;
    let key = |key| [wlans, name, paths, node, key];
    let mut points = Vec::new();
    for (index, point) in table.points.iter().enumerate() {
        let [Text(Metres(x)), Text(Metres(y))] = point[..] else {
            let problem = "expected a point east and north, such as [\"10 m\", \"5 m\"]";
            return Err(reader.fail(&[wlans, name, paths, node, "points", &index.to_string()], problem));
        };
        points.push(Position::new(x, y));
    }
    points.dedup();
    if points.len() < 2 {
        return Err(reader.fail(&key("points"), "expected two points or more that differ"));
    }
    let Whole(laps) = table.laps.unwrap_or(Whole(1));
    let laps = laps as usize;
    if points.len().saturating_mul(laps) > MAX_POINTS {
        let problem = format!("more than {MAX_POINTS} points with all laps; expected fewer");
        return Err(reader.fail(&key("laps"), problem));
    }
    let Text(Speed(speed)) = table.speed.unwrap_or(Text(Speed(1.4)));
    let start = table.start.map_or(Duration::ZERO, |Text(start)| start);
    let mut timed = vec![(Instant::ZERO + start, points[0])];
    for _ in 0..laps {
        for pair in points.windows(2) {
            let (at, _) = timed[timed.len() - 1];
            let walk =
                Duration::try_from_secs_f64(pair[0].distance(pair[1]) / speed).unwrap_or(Duration::MAX);
            timed.push((at + walk.max(Duration::from_nanos(1)), pair[1]));
        }
        points.reverse();
    }
    // Each step takes time, and there are two points or more.
    Path::new(timed)
        .ok_or_else(|| reader.fail(&key("points"), "expected a path that ends before the end of time"))
}
