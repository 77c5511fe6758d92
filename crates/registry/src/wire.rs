//! What access points and a registry that is served say to each other.
//!
//! Each message is one of [`Request`] or [`Answer`] (postcard). A request has one answer, or several with the last one
//! marked, so that none is longer than [`PART`] entries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::entry::{AccessPoint, Change, Entry, LeaseId};
use super::error::Refusal;

/// The name of the service, with its version.
pub(crate) const SERVICE: &str = "lasthop-registry/1";

/// The maximum number of entries in an answer.
pub(crate) const PART: usize = 256;

/// How often the stream of a watch has a message at least.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// A channel without a request for this long is closed by the server.
pub(crate) const IDLE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    Join {
        access_point: AccessPoint,
        duration: Duration,
    },
    Renew(LeaseId),
    Leave(LeaseId),
    Claim {
        client: Client,
        lease: LeaseId,
        expected: Option<u64>,
    },
    Release {
        client: Client,
        epoch: u64,
    },
    AccessPoints,
    Get(Client),
    Snapshot,
    /// The channel carries nothing else from here on.
    Watch {
        after: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The number of a lease, or an epoch; 0 where there is none.
    Done(u64),
    AccessPoints {
        access_points: Vec<(LeaseId, AccessPoint)>,
        is_last: bool,
    },
    Entry(Option<Place>),
    Snapshot {
        revision: u64,
        entries: Vec<(Client, Place)>,
        is_last: bool,
    },
    Changes {
        changes: Vec<(u64, Client, Option<Place>)>,
        is_last: bool,
    },
    Refused(Reason),
    /// The registry itself failed.
    Failed,
}

/// [`Entry`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    access_point: AccessPoint,
    lease: LeaseId,
    epoch: u64,
}

/// [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reason {
    Stale(Option<Place>),
    Expired,
    TooManyClients(u32),
    TooManyAccessPoints(u32),
    NameTooLong(u8),
    NotKept { oldest: u64, newest: u64 },
    Forbidden,
}

/// What is full.
const CLIENTS: &str = "clients";

impl From<&Entry> for Place {
    fn from(entry: &Entry) -> Self {
        let access_point = (*entry.access_point).clone();
        Self { access_point, lease: entry.lease, epoch: entry.epoch }
    }
}

impl From<Refusal> for Reason {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Stale(entry) => Self::Stale(entry.as_ref().map(Place::from)),
            Refusal::Expired => Self::Expired,
            Refusal::Full { what: CLIENTS, limit } => Self::TooManyClients(limit),
            Refusal::Full { limit, .. } => Self::TooManyAccessPoints(limit),
            Refusal::NameTooLong(limit) => Self::NameTooLong(limit),
            Refusal::NotKept { oldest, newest } => Self::NotKept { oldest, newest },
            Refusal::Forbidden => Self::Forbidden,
        }
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Stale(place) => Self::Stale(place.map(|place| Known::default().entry(place))),
            Reason::Expired => Self::Expired,
            Reason::TooManyClients(limit) => Self::Full { what: CLIENTS, limit },
            Reason::TooManyAccessPoints(limit) => Self::Full { what: "access points", limit },
            Reason::NameTooLong(limit) => Self::NameTooLong(limit),
            Reason::NotKept { oldest, newest } => Self::NotKept { oldest, newest },
            Reason::Forbidden => Self::Forbidden,
        }
    }
}

/// The access points of an answer: each is in memory once.
#[derive(Debug, Default)]
pub(crate) struct Known(BTreeMap<LeaseId, Arc<AccessPoint>>);

impl Known {
    pub(crate) fn entry(&mut self, place: Place) -> Entry {
        let Place { access_point, lease, epoch } = place;
        let known = self.0.entry(lease).or_insert_with(|| Arc::new(access_point));
        Entry { access_point: Arc::clone(known), lease, epoch }
    }

    pub(crate) fn change(&mut self, (revision, client, place): (u64, Client, Option<Place>)) -> Change {
        Change { revision, client, entry: place.map(|place| self.entry(place)) }
    }
}

/// The parts of a list, each with whether it is the last. There is at least one.
pub(crate) fn parts<T>(list: &[T]) -> impl Iterator<Item = (&[T], bool)> {
    let last = list.len().saturating_sub(1) / PART;
    (0..=last).map(move |part| {
        let from = part * PART;
        (&list[from..list.len().min(from + PART)], part == last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_at_least_one_part_and_the_last_one_is_marked() {
        for length in [0, 1, PART - 1, PART, PART + 1, 3 * PART] {
            let list: Vec<usize> = (0..length).collect();
            let parts: Vec<_> = parts(&list).collect();
            assert_eq!(parts.iter().map(|part| part.0).collect::<Vec<_>>().concat(), list);
            assert_eq!(parts.iter().rposition(|part| part.1), Some(parts.len() - 1));
            assert_eq!(parts.iter().filter(|part| part.1).count(), 1);
            assert!(parts.iter().all(|part| part.0.len() <= PART && (length == 0 || !part.0.is_empty())));
        }
    }

    #[test]
    fn a_refusal_arrives_as_it_was_sent() {
        let refusals = [
            Refusal::Stale(None),
            Refusal::Expired,
            Refusal::Full { what: CLIENTS, limit: 1 },
            Refusal::Full { what: "access points", limit: 2 },
            Refusal::NameTooLong(4),
            Refusal::NotKept { oldest: 5, newest: 6 },
            Refusal::Forbidden,
        ];
        for refusal in refusals {
            assert_eq!(Refusal::from(Reason::from(refusal.clone())), refusal);
        }
    }
}
