//! Dialogues over connections: pages, mail, files.

use std::time::Duration;

use lasthop_apps::session::{DialogueKind, Ftp, Mail, Pace, Web};
use lasthop_config::FileError;
use lasthop_packet::Probability;

use super::reading::Reading;
use super::table::{Kind, SessionTable};
use super::{objects, size};
use crate::file::quantity::{Octets, Text, Whole};

/// The dialogue of a client and its server; `None` for a call or a video.
pub(super) fn read(reading: &Reading<'_>, table: &SessionTable) -> Result<Option<DialogueKind>, FileError> {
    let share = |part: Option<Text<Probability>>| part.map_or(Probability::ZERO, |Text(share)| share);
    Ok(Some(match table.kind {
        Kind::Voice | Kind::Video => return Ok(None),
        Kind::Web => DialogueKind::Web(web(reading, table)?),
        Kind::Mail => DialogueKind::Mail(Mail {
            message: size::read(reading, "message", table.message.as_ref(), Mail::measured_sizes)?,
            sent: share(table.sent),
        }),
        Kind::Ftp => DialogueKind::Ftp(Ftp {
            file: size::read(reading, "file", table.file.as_ref(), || Ftp::EVALUATION_METHODOLOGY)?,
            stored: share(table.stored),
        }),
    }))
}

fn web(reading: &Reading<'_>, table: &SessionTable) -> Result<Web, FileError> {
    let Web { request, main_object, objects, object, parse_time, connections } =
        Web::evaluation_methodology();
    let request = match table.request {
        None => request,
        Some(Text(Octets(request @ 1..=1_000_000))) => request,
        Some(_) => return Err(reading.fail(&["request"], "expected \"1 B\" to \"1 MB\"")),
    };
    let minute = Duration::from_secs(60);
    Ok(Web {
        request,
        main_object: size::read(reading, "main-object", table.main_object.as_ref(), || main_object)?,
        objects: objects::read(reading, table.objects, objects)?,
        object: size::read(reading, "object", table.object.as_ref(), || object)?,
        parse_time: reading.duration_in(
            &["parse-time"],
            table.parse_time,
            parse_time,
            (Duration::ZERO, minute),
        )?,
        connections: table.connections.map_or(connections, |Whole(connections)| connections as usize),
    })
}

/// When the next page, message or file starts.
pub(super) fn pace(reading: &Reading<'_>, table: &SessionTable) -> Result<Pace, FileError> {
    match (table.load, table.think_time) {
        (Some(_), Some(_)) => Err(reading.fail(&["think-time"], "expected `load` or `think-time`, not both")),
        (Some(Text(rate)), None) => Ok(Pace::Load(rate)),
        (None, think_time) => {
            // Pages and files: as in their sources. Mail: a typical polling interval.
            let default = match table.kind {
                Kind::Ftp => Duration::from_secs(180),
                Kind::Mail => Duration::from_secs(60),
                Kind::Web | Kind::Voice | Kind::Video => Duration::from_secs(30),
            };
            let range = (Duration::from_millis(1), Duration::from_secs(24 * 3600));
            Ok(Pace::Think(reading.duration_in(&["think-time"], think_time, default, range)?))
        }
    }
}
