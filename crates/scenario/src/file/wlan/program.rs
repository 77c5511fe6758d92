//! The program of an event: rooms, and sessions between which the stations walk.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_wifi::Position;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::pair;
use crate::file::quantity::{Metres, Speed, Text, Whole};
use crate::file::reader::Reader;
use crate::model::{Program, ProgramSession, Room};

/// The maximum number of rooms, and of sessions: 5,000 stations and 200 sessions take 50 MB.
const MAX_ROOMS: usize = 200;

/// The program of an event. At the start of each session every client draws a room, and walks straight to a place in it,
/// both with other draws for each seed. One that draws the room that it is in stays where it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProgramTable {
    /// Rooms by name, 1 to 200.
    rooms: BTreeMap<String, RoomTable>,
    /// Sessions in order of time, 1 to 200. In the first one, which starts at "0 s", the clients are where they are.
    sessions: Vec<SessionTable>,
    /// From the slowest to the fastest client, "0.001 m/s" to "1000 m/s", uniformly distributed; default
    /// `["0.8 m/s", "1.6 m/s"]`.
    #[serde(default, deserialize_with = "pair::optional")]
    speed: Option<[Text<Speed>; 2]>,
    /// Clients set out at random times in this time from the start of a session on, at most "1 h"; default "3 min".
    spread: Option<Text<Duration>>,
    /// How often the positions of walking clients are updated, "10 ms" to "1 min"; default "1 s".
    interval: Option<Text<Duration>>,
}

/// A room: a rectangle.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RoomTable {
    /// Its corner farthest west and south: meters east and north.
    #[serde(deserialize_with = "pair::exact")]
    from: [Text<Metres>; 2],
    /// Its corner farthest east and north.
    #[serde(deserialize_with = "pair::exact")]
    to: [Text<Metres>; 2],
}

/// Sessions that take place at the same time, or a break.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SessionTable {
    /// When it starts.
    start: Text<Duration>,
    /// The rooms to which clients go, each with its weight, 0 to 10,000: with `{ hall = 3, foyer = 1 }` three of four
    /// go to the hall.
    rooms: BTreeMap<String, Whole<0, 10_000>>,
}

pub(super) fn read(reader: &Reader<'_>, name: &str, table: &ProgramTable) -> Result<Program, FileError> {
    let key = |key| ["wlans", name, "program", key];
    for (counted, count) in [("rooms", table.rooms.len()), ("sessions", table.sessions.len())] {
        if !(1..=MAX_ROOMS).contains(&count) {
            return Err(reader.fail(&key(counted), format!("{count} {counted}; expected 1 to {MAX_ROOMS}")));
        }
    }
    let rooms = table.rooms.iter().map(|(room, table)| read_room(reader, name, (room, table)));
    let rooms = rooms.collect::<Result<_, _>>()?;
    let sessions = table.sessions.iter().enumerate();
    let sessions = sessions.map(|(index, session)| read_session(reader, name, table, (index, session)));
    let sessions: Vec<ProgramSession> = sessions.collect::<Result<_, _>>()?;
    let of_session =
        |index: usize| ["wlans", name, "program", "sessions", &index.to_string(), "start"].map(str::to_owned);
    let fail = |index: usize, problem: &str| {
        let key = of_session(index);
        reader.fail(&key.each_ref().map(String::as_str), problem)
    };
    if sessions[0].start != Duration::ZERO {
        return Err(fail(0, "expected \"0 s\": the first session says where the clients are at first"));
    }
    if let Some(late) = sessions.windows(2).position(|pair| pair[1].start <= pair[0].start) {
        return Err(fail(late + 1, "not after the session before it; expected sessions in order of time"));
    }
    let speed =
        table.speed.map_or((0.8, 1.6), |[Text(Speed(slowest)), Text(Speed(fastest))]| (slowest, fastest));
    if speed.1 < speed.0 {
        return Err(reader.fail(&key("speed"), "expected the slowest speed first"));
    }
    let (second, minute, hour) =
        (Duration::from_secs(1), Duration::from_secs(60), Duration::from_secs(3_600));
    let least = Duration::from_millis(10);
    Ok(Program {
        rooms,
        sessions,
        speed,
        spread: reader.duration_in(&key("spread"), table.spread, 3 * minute, Duration::ZERO, hour)?,
        interval: reader.duration_in(&key("interval"), table.interval, second, least, minute)?,
    })
}

fn read_room(reader: &Reader<'_>, name: &str, (room, table): (&str, &RoomTable)) -> Result<Room, FileError> {
    let corner = |[Text(Metres(east)), Text(Metres(north))]: [Text<Metres>; 2]| Position::new(east, north);
    let [from, to] = [table.from, table.to].map(corner);
    if from.x > to.x || from.y > to.y {
        let key = ["wlans", name, "program", "rooms", room, "to"];
        return Err(reader.fail(&key, "expected a corner to the east and north of `from`"));
    }
    Ok(Room { from, to })
}

fn read_session(
    reader: &Reader<'_>,
    name: &str,
    table: &ProgramTable,
    (index, session): (usize, &SessionTable),
) -> Result<ProgramSession, FileError> {
    let index = index.to_string();
    let key = |room| ["wlans", name, "program", "sessions", &index, "rooms", room];
    let names: Vec<&String> = table.rooms.keys().collect();
    let mut weights = vec![0; names.len()];
    for (room, Whole(weight)) in &session.rooms {
        let Ok(found) = names.binary_search(&room) else {
            return Err(reader.fail(&key(room), "no such room; expected the name of one of the `rooms`"));
        };
        weights[found] = *weight;
    }
    if weights.iter().all(|weight| *weight == 0) {
        let key = ["wlans", name, "program", "sessions", &index, "rooms"];
        return Err(reader.fail(&key, "expected a room with a weight above zero"));
    }
    let Text(start) = session.start;
    Ok(ProgramSession { start, weights })
}
