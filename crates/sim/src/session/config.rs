//! What a session is.

use lasthop_packet::Instant;

use crate::id::NodeId;
use crate::traffic::Media;

/// A session between two hosts.
pub struct SessionConfig {
    /// Its name, for reports.
    pub name: String,
    /// The host that begins: a client, or one party of a call.
    pub client: NodeId,
    /// The other host.
    pub server: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When it stops: nothing new is begun, and no packet of a call is sent; `None` for never.
    pub stop: Option<Instant>,
    /// What they do.
    pub activity: Activity,
}

/// What the two hosts of a session do.
pub enum Activity {
    /// Streams over RTP: what the client sends, and what the server.
    Call([Option<Media>; 2]),
}
