//! The sessions of a scenario: dialogues, calls and videos between two hosts.

mod dialogue;
mod objects;
mod reading;
mod size;
mod speech;
mod table;
mod video;
mod voice;
use super::quantity::Text;
use super::reader::Reader;
use super::tcp::TcpTable;
use crate::model::{ActivityModel, SessionModel};
use lasthop_config::words::did_you_mean;
use lasthop_config::{Document, FileError};
use reading::Reading;
use table::{KEYS, Kind, SessionTable};

pub(super) use table::SessionTable as Table;

/// The maximum number of sessions.
pub(super) const MAX_SESSIONS: usize = 5_000;

/// Refuses a key that no session has, before serde does: serde's message lists the keys of all
/// kinds.
pub(super) fn refuse_unknown_keys(document: &Document<'_>) -> Result<(), FileError> {
    for name in document.keys(&["sessions"]) {
        let kind = document.get(&["sessions", name, "kind"]).and_then(|kind| kind.get_ref().as_str());
        let Some(kind) = kind.and_then(Kind::named) else { continue };
        let unknown =
            document.keys(&["sessions", name]).find(|key| KEYS.iter().all(|(known, _)| known != key));
        if let Some(key) = unknown {
            let of_kind = KEYS.iter().filter(|(_, kinds)| kinds.contains(&kind));
            let of_kind: Vec<&str> = of_kind.map(|(key, _)| *key).collect();
            let (kind, keys, meant) = (kind.name(), of_kind.join("`, `"), did_you_mean(key, &of_kind));
            let problem = format!("unknown key `{key}`{meant}; a session of kind {kind:?} has: `{keys}`");
            return Err(document.error(&["sessions", name, key], problem));
        }
    }
    Ok(())
}

pub(super) fn read(
    reader: &Reader<'_>,
    name: &str,
    table: &SessionTable,
    tcp_of_all: &TcpTable,
) -> Result<SessionModel, FileError> {
    let reading = Reading { reader, name };
    if let Some((key, kinds)) = KEYS.iter().find(|(key, kinds)| {
        !kinds.contains(&table.kind) && reader.document.get(&["sessions", name, key]).is_some()
    }) {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("{:?}", kind.name())).collect();
        return Err(
            reading.fail(&[key], format!("allowed only with kind = {}; leave it out", kinds.join(" or ")))
        );
    }
    let [client, server] = ends(&reading, table)?;
    let start = reader.start(&reading.key(&["start"]), table.start)?;
    let stop = table.stop.map(|Text(stop)| stop);
    if stop.is_some_and(|stop| stop <= start) {
        return Err(reading.fail(&["stop"], "the session stops before it starts; expected a later stop"));
    }
    let activity = match dialogue::read(&reading, table)? {
        Some(dialogue) => ActivityModel::Dialogue {
            dialogue,
            pace: dialogue::pace(&reading, table)?,
            tcp: Box::new(tcp(reader, name, table, tcp_of_all)?),
        },
        None if table.kind == Kind::Video => ActivityModel::Call([None, Some(video::read(&reading, table)?)]),
        None => {
            let media = Some(voice::read(&reading, table)?);
            ActivityModel::Call([media, media])
        }
    };
    Ok(SessionModel { name: name.to_owned(), client, server, start, stop, activity })
}

/// The TCP settings of both ends of a session's connections.
pub(super) fn tcp(
    reader: &Reader<'_>,
    name: &str,
    table: &SessionTable,
    tcp_of_all: &TcpTable,
) -> Result<lasthop_tcp::Config, FileError> {
    let own = table.tcp.as_ref().unwrap_or(tcp_of_all);
    super::tcp::read(reader, ["sessions", name], own, tcp_of_all)
}

/// The two hosts.
fn ends(reading: &Reading<'_>, table: &SessionTable) -> Result<[usize; 2], FileError> {
    let is_call = table.kind == Kind::Voice;
    let (written, keys) = match (&table.between, &table.client, &table.server) {
        (Some([one, other]), None, None) if is_call => ([one, other], ["between"; 2]),
        (None, Some(client), Some(server)) if !is_call => ([client, server], ["client", "server"]),
        _ if is_call => {
            return Err(reading.fail(&[], "expected the two parties of the call: between = [\"a\", \"b\"]"));
        }
        _ => {
            let problem = "expected a client and a server: client = \"laptop\", server = \"server\"";
            return Err(reading.fail(&[], problem));
        }
    };
    let host = |which: usize| reading.reader.host(&["sessions", reading.name, keys[which]], written[which]);
    let ends = [host(0)?, host(1)?];
    if ends[0] == ends[1] {
        let problem = format!("a session between {:?} and itself; expected another host", written[0]);
        return Err(reading.fail(&[keys[1]], problem));
    }
    Ok(ends)
}
