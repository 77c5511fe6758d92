//! Calls.

use std::time::Duration;

use lasthop_sim::Playout;
use lasthop_sim::traffic::{Codec, Media, Spurts, Voice};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Reading;
use super::table::SessionTable;
use crate::file::error::ScenarioError;
use crate::file::named::{NameOrTable, Named};
use crate::file::quantity::Text;

/// How speech is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum CodecName {
    /// 64 kbit/s; RTP payload type 0.
    G711,
    /// 8 kbit/s, G.729A; RTP payload type 18.
    G729,
}

/// Means of talkspurts and pauses, which are exponentially distributed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SpurtsTable {
    /// How long a talkspurt lasts in the mean, "10 ms" to "1 h"; default "1004 ms".
    talk: Option<Text<Duration>>,
    /// How long a pause lasts in the mean, "10 ms" to "1 h"; default "1587 ms".
    pause: Option<Text<Duration>>,
}

/// Means that have a name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum SpurtsName {
    /// Those of ITU-T P.59: 1.004 s and 1.587 s.
    P59,
}

impl Named for SpurtsTable {
    type Name = SpurtsName;
    const SCHEMA: &'static str = "TalkSpurts";
    const EXPECTED: &'static str = "\"p59\", or a table with \"talk\" and \"pause\"";

    fn named(SpurtsName::P59: SpurtsName) -> Self {
        Self::default()
    }
}

/// What each party of a call sends.
pub(super) fn read(reading: &Reading<'_>, table: &SessionTable) -> Result<Media, ScenarioError> {
    let millis = Duration::from_millis;
    let codec = match table.codec.unwrap_or(CodecName::G711) {
        CodecName::G711 => Codec::G711 { concealment: table.concealment.unwrap_or(true) },
        CodecName::G729 if table.concealment.is_some() => {
            let problem = "expected it only with codec = \"g711\": \"g729\" conceals losses always";
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
