//! A session: what two hosts say to each other.

use std::time::Duration;

use lasthop_apps::session::{DialogueKind, Pace};
use lasthop_apps::traffic::Media;

/// A session between two hosts.
#[derive(Clone, Debug)]
pub struct SessionModel {
    /// Its name.
    pub name: String,
    /// Index of the node that begins, or of one party of a call.
    pub client: usize,
    /// Index of the other node.
    pub server: usize,
    /// When it starts.
    pub start: Duration,
    /// When nothing new is begun any more.
    pub stop: Option<Duration>,
    /// Its activity.
    pub activity: ActivityModel,
}

/// The activity of the two hosts of a session.
#[derive(Clone, Debug)]
pub enum ActivityModel {
    /// Streams over RTP: what the client sends, and what the server.
    Call([Option<Media>; 2]),
    /// A dialogue over connections.
    Dialogue {
        /// Its kind.
        dialogue: DialogueKind,
        /// When the next page, message or file is due.
        pace: Pace,
        /// Both ends of its connections.
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
