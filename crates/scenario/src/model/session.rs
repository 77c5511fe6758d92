//! A session: a dialogue, a call or a video between two hosts.

use std::time::Duration;

use lasthop_apps::session::{DialogueKind, Pace};
use lasthop_apps::traffic::Media;

/// A session between two hosts.
#[derive(Clone, Debug)]
pub struct SessionModel {
    /// Its name.
    pub name: String,
    /// Index of the client, or of one party of a call.
    pub client: usize,
    /// Index of the other node.
    pub server: usize,
    /// When it starts.
    pub start: Duration,
    /// The time from which no new transactions start, and at which a call ends.
    pub stop: Option<Duration>,
    /// Its activity.
    pub activity: ActivityModel,
}

/// The activity of the two hosts of a session.
#[derive(Clone, Debug)]
pub enum ActivityModel {
    /// Streams over RTP: from the client, and from the server.
    Call([Option<Media>; 2]),
    /// A dialogue over connections.
    Dialogue {
        /// Its kind.
        dialogue: DialogueKind,
        /// When the next page, message or file starts.
        pace: Pace,
        /// The TCP settings of both ends of its connections.
        tcp: Box<lasthop_tcp::Config>,
    },
}

impl ActivityModel {
    /// The kind of the session, as files and results name it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Call([None, Some(Media::Video(_))] | [Some(Media::Video(_)), _]) => "video",
            Self::Call(_) => "voice",
            Self::Dialogue { dialogue: DialogueKind::Web(_), .. } => "web",
            Self::Dialogue { dialogue: DialogueKind::Mail(_), .. } => "mail",
            Self::Dialogue { dialogue: DialogueKind::Ftp(_), .. } => "ftp",
        }
    }
}
