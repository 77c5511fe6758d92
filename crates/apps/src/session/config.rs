//! The configuration of a session.

use lasthop_tcp::{ReceiverExtension, SenderExtension};

use super::ftp::{Ftp, Moving};
use super::mail::{Mail, Mailing};
use super::pace::Pace;
use super::script::{Party, Script};
use super::web::{Browsing, Web};
use crate::traffic::Media;

/// The activity of a session.
#[expect(clippy::large_enum_variant, reason = "one a session, and not kept")]
pub enum Activity {
    /// Streams over RTP: those of the client and of the server.
    Call([Option<Media>; 2]),
    /// A dialogue over connections.
    Dialogue {
        /// The kind of dialogue.
        dialogue: DialogueKind,
        /// The pace of transactions.
        pace: Pace,
        /// The configuration of its connections.
        tcp: SessionTcp,
    },
}

/// The kind of a dialogue.
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
    /// Returns a scheme's extensions for a connection's end at a party.
    pub extensions: Box<dyn Fn(Party) -> EndExtensions + Send + Sync>,
}

/// A scheme's extensions of a connection's end: of its sender, and of its receiver.
pub type EndExtensions = (Option<Box<dyn SenderExtension>>, Option<Box<dyn ReceiverExtension>>);

impl SessionTcp {
    /// The same configuration for both ends, without extensions.
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
