//! Channels between access points. They carry messages that may be lost, doubled and reordered, but not changed, and
//! vouch for the name of the sender.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

/// Sends messages to other access points.
pub trait Channel: Send {
    /// Sends a message, and does not wait for the network.
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending;

    /// Octets that came from the access point with this name so far, also those of a message that is not complete.
    fn arrived_from(&self, name: &str) -> u64;

    /// Where the access point with this name is reached; `None` if it is not known.
    fn address_of(&self, name: &str) -> Option<SocketAddr>;

    /// Whether another access point that is known is reached at this address.
    fn has_at(&self, address: IpAddr) -> bool;

    /// What was counted so far.
    fn counters(&self) -> ChannelCounters;
}

/// Whether a message waits to be sent.
#[derive(Clone, Debug, Default)]
pub struct Pending(Weak<()>);

impl Pending {
    /// A message that waits until the other value is dropped.
    pub fn new() -> (Arc<()>, Self) {
        let message = Arc::new(());
        let pending = Self(Arc::downgrade(&message));
        (message, pending)
    }

    /// Whether the message still waits, or is being sent.
    pub fn is_waiting(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// An access point that a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is reached; `None` if the registry has not said so.
    pub address: Option<SocketAddr>,
}

lasthop_agent::counters! {
    /// What is counted of messages between access points.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct ChannelCounters {
        /// Messages that were sent to other access points.
        sent: SENT_MESSAGES = "messages_sent",
        /// Messages of other access points that were received.
        received: RECEIVED_MESSAGES = "messages_received",
        /// Messages that were not sent, because the other access point was away or its key is not known.
        undelivered: UNDELIVERED = "messages_undelivered",
        /// Messages that were lost, because too many were waiting.
        no_room: NO_ROOM = "messages_no_room",
        /// Handshakes that failed: strangers, and those who do not have the key that they show.
        failed_handshakes: FAILED_HANDSHAKES = "handshakes_failed",
        /// Connections that were refused, because the key is not known.
        unknown_keys: UNKNOWN_KEYS = "unknown_keys",
        /// Connections that were refused, because there were too many.
        too_many: TOO_MANY_CONNECTIONS = "connections_too_many",
        /// Access points that were enrolled by the site key.
        enrolled: ENROLLED = "enrolments",
        /// Enrolments that were refused: without the site key, too often, or for a name that has another key.
        not_enrolled: NOT_ENROLLED = "enrolments_refused",
        /// Requests of other access points to the registry that this gateway serves.
        registry_requests: REGISTRY_REQUESTS = "registry_requests",
        /// Of these, requests that were refused, most often because they came from an older epoch.
        registry_refused: REGISTRY_REFUSED = "registry_requests_refused",
        /// Of these, requests that were forbidden, because they were another access point's, or no requests.
        registry_forbidden: REGISTRY_FORBIDDEN = "registry_requests_forbidden",
    }
}
