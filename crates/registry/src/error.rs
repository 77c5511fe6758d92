//! Why a call failed.

use std::io;

use super::entry::Entry;

/// The registry refused a call. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client is not where the caller thought.
    #[error("the client is {}", place(.0.as_ref()))]
    Stale(Option<Entry>),
    /// The lease has ended, or there never was one with this number.
    #[error("the access point's lease has ended")]
    Expired,
    /// The registry has as many clients, or access points, as it may have.
    #[error("the registry is full: at most {limit} {what}")]
    Full {
        /// "clients" or "access points".
        what: &'static str,
        /// The maximum number.
        limit: u32,
    },
    /// The access point's name is too long.
    #[error("the name of an access point has at most {0} octets")]
    NameTooLong(u8),
    /// The lease, or the client, is another access point's. Only a registry that is served refuses this
    /// ([`Server`](super::Server)).
    #[error("the lease, or the client, is another access point's")]
    Forbidden,
    /// Changes after the given revision are no longer kept, or the registry never had this revision.
    #[error("the registry keeps the changes after revision {oldest}, up to {newest}")]
    NotKept {
        /// The lowest revision from which a watch can continue.
        oldest: u64,
        /// The registry's revision.
        newest: u64,
    },
}

fn place(entry: Option<&Entry>) -> String {
    match entry {
        None => "at no access point".to_owned(),
        Some(entry) => format!("at access point {}, epoch {}", entry.access_point.name(), entry.epoch),
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry refused it. Nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file or the network failed. What the call should change may have changed.
    #[error("the registry failed")]
    Failed(#[from] io::Error),
}
