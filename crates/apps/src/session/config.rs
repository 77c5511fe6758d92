//! What the hosts of a session do.

use lasthop_tcp::{ReceiverExtension, SenderExtension};

use super::ftp::{Ftp, Moving};
use super::mail::{Mail, Mailing};
use super::pace::Pace;
use super::script::{Party, Script};
use super::web::{Browsing, Web};
use crate::traffic::Media;

/// What the two hosts of a session do.
#[expect(clippy::large_enum_variant, reason = "one a session, and not kept")]
pub enum Activity {
    /// Streams over RTP: what the client sends, and what the server.
    Call([Option<Media>; 2]),
    /// A dialogue over connections.
    Dialogue {
        /// What kind.
        dialogue: DialogueKind,
        /// When the next transaction begins.
        pace: Pace,
        /// Its connections.
        tcp: SessionTcp,
    },
}

/// What two hosts say to each other over connections.
#[derive(Clone, Debug, PartialEq)]
pub enum DialogueKind {
    /// Pages.
    Web(Web),
    /// Messages.
    Mail(Mail),
    /// Files.
    Ftp(Ftp),
}

/// The connections of a dialogue. Each begins with a handshake.
pub struct SessionTcp {
    /// The client's end.
    pub client: lasthop_tcp::Config,
    /// The server's end.
    pub server: lasthop_tcp::Config,
    /// A scheme's parts of each connection's end at a party.
    pub extensions: Box<dyn Fn(Party) -> EndExtensions + Send + Sync>,
}

/// A scheme's parts of an end: of its sender, and of its receiver.
pub type EndExtensions = (Option<Box<dyn SenderExtension>>, Option<Box<dyn ReceiverExtension>>);

impl SessionTcp {
    /// Both ends set alike, without a scheme's part.
    pub fn alike(config: &lasthop_tcp::Config) -> Self {
        Self { client: config.clone(), server: config.clone(), extensions: Box::new(|_| (None, None)) }
    }
}

impl DialogueKind {
    pub(super) fn script(self) -> Box<dyn Script> {
        match self {
            Self::Web(web) => Box::new(Browsing::new(web)),
            Self::Mail(mail) => Box::new(Mailing::new(mail)),
            Self::Ftp(ftp) => Box::new(Moving::new(ftp)),
        }
    }
}
