//! Calls.

use std::time::Duration;

use lasthop_apps::traffic::{Codec, Media, Spurts, Voice};
use lasthop_config::FileError;
use lasthop_sim::Playout;

use super::reading::Reading;
use super::speech::{CodecName, SpurtsTable};
use super::table::SessionTable;
use crate::file::named::NameOrTable;

/// The stream from each party of a call.
pub(super) fn read(reading: &Reading<'_>, table: &SessionTable) -> Result<Media, FileError> {
    let millis = Duration::from_millis;
    let codec = match table.codec.unwrap_or(CodecName::G711) {
        CodecName::G711 => Codec::G711 { concealment: table.concealment.unwrap_or(true) },
        CodecName::G729 if table.concealment.is_some() => {
            let problem = "allowed only with codec = \"g711\": \"g729\" always conceals losses";
            return Err(reading.fail(&["concealment"], problem));
        }
        CodecName::G729 => Codec::G729,
    };
    let packet_time =
        reading.duration_in(&["packet-time"], table.packet_time, millis(20), (millis(10), millis(100)))?;
    if packet_time.as_nanos() % codec.frame().as_nanos() != 0 {
        let frame = lasthop_packet::units::format_duration(codec.frame());
        return Err(reading.fail(&["packet-time"], format!("expected a multiple of {frame}")));
    }
    let spurts = match table.talk_spurts {
        None => None,
        Some(NameOrTable(SpurtsTable { talk, pause })) => {
            let range = (millis(10), Duration::from_secs(3600));
            Some(Spurts {
                talk: reading.duration_in(&["talk-spurts", "talk"], talk, Spurts::P59.talk, range)?,
                pause: reading.duration_in(&["talk-spurts", "pause"], pause, Spurts::P59.pause, range)?,
            })
        }
    };
    let range = (Duration::ZERO, Duration::from_secs(2));
    let buffer = reading.duration_in(&["playout-buffer"], table.playout_buffer, millis(60), range)?;
    Ok(Media::Voice(Voice { codec, packet_time, spurts }, Playout { buffer }))
}
