//! Where the bridge of this access point learns that clients are: at a radio interface, or behind another one. It
//! learns that from the first frame of a client, also one that no rule selects; an access point sends such a frame in
//! the name of a station that has associated.

use std::io;
use std::sync::Weak;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use lasthop_linux::bridge_table::{BridgeTable, Learned, Received};
use tracing::{debug, warn};

use super::event::Event;
use crate::frame::MacAddress;

/// How often the thread looks whether it is to end.
const WAIT: Duration = Duration::from_secs(1);

/// Starts to report the clients that a bridge learns, as long as `owner` exists. `radio`: the names of the radio
/// interfaces.
pub(super) fn start<O: Send + Sync + 'static>(
    table: BridgeTable,
    radio: Vec<String>,
    events: SyncSender<Event>,
    owner: Weak<O>,
) -> io::Result<()> {
    let run = move || {
        if let Err(error) = run(table, &radio, &events, &owner) {
            warn!(%error, "changes of the bridge are no longer seen; clients are noticed by their packets");
        }
    };
    thread::Builder::new().name("bridge".into()).spawn(run).map(drop)
}

fn run<O>(
    mut table: BridgeTable,
    radio: &[String],
    events: &SyncSender<Event>,
    owner: &Weak<O>,
) -> io::Result<()> {
    while owner.strong_count() > 0 {
        let Received { learned, malformed, is_incomplete } = table.receive(WAIT)?;
        if malformed > 0 || is_incomplete {
            debug!(malformed, is_incomplete, "changes of the bridge are missing");
        }
        for Learned { station, port } in learned {
            let client = MacAddress(station);
            let event =
                if radio.contains(&port) { Event::Noticed { client } } else { Event::Left { client } };
            if events.send(event).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
