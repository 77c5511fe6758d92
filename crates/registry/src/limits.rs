//! What a registry may hold.

use std::mem::size_of;
use std::sync::Arc;

use super::client::Client;
use super::entry::{AccessPoint, Change};

/// What a registry may hold. All of it is known before memory is taken
/// ([`Limits::memory`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Clients at an access point.
    pub clients: u32,
    /// Leases that have not ended. An access point that starts again needs one more for a while.
    pub access_points: u32,
    /// Octets of an access point's name.
    pub name_octets: u8,
    /// Changes that are kept for watches.
    pub backlog: u32,
    /// Octets of the file of an [`Embedded`](super::Embedded) registry, at least
    /// [`Limits::least_file`]. The more, the less often it is rewritten. While it is rewritten, the
    /// new file takes up to half of this besides.
    pub file_octets: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { clients: 16_384, access_points: 256, name_octets: 64, backlog: 4_096, file_octets: 4 << 20 }
    }
}

impl Limits {
    /// The maximum size of a claim in the file, in octets.
    pub(crate) const CLAIM: u64 = 64;
    /// The maximum size of another record in the file, without an access point's name, in octets.
    pub(crate) const RECORD: u64 = 96;
    /// The maximum number of events that are made durable at once.
    pub(crate) const BATCH: usize = 64;

    /// The least that [`Limits::file_octets`] may be: twice the largest state, so that at least half
    /// of the file is free after it is rewritten.
    pub fn least_file(&self) -> u64 {
        let access_points = u64::from(self.access_points) * self.largest_record();
        2 * (self.largest_record() + access_points + u64::from(self.clients) * Self::CLAIM)
    }

    /// The maximum size of a record in the file, in octets.
    pub(crate) fn largest_record(&self) -> u64 {
        Self::RECORD + u64::from(self.name_octets)
    }

    /// The maximum size of the events that are made durable at once, in octets.
    pub(crate) fn largest_batch(&self) -> u64 {
        (1 + Self::BATCH as u64) * self.largest_record()
    }

    /// The maximum memory of the state, in octets. An [`Embedded`](super::Embedded) registry takes up
    /// to [`Limits::file_octets`] besides while it opens or rewrites its file.
    pub fn memory(&self) -> u64 {
        // The nodes of a B-tree are at least half full, and have some words of their own.
        let map_entry = |octets: usize| 2 * octets as u64 + 16;
        let access_point = (size_of::<AccessPoint>() + 2 * size_of::<usize>()) as u64;
        let access_point = access_point + u64::from(self.name_octets);
        let client = map_entry(size_of::<Client>() + 2 * size_of::<u64>());
        let lease = map_entry(4 * size_of::<u64>() + size_of::<Arc<AccessPoint>>()) + access_point;
        // A queue that grows has its old octets and twice as many new ones for a moment. Each change
        // may keep an access point that has left.
        let change = 3 * size_of::<Change>() as u64 + access_point;
        u64::from(self.clients) * client
            + u64::from(self.access_points) * lease
            + u64::from(self.backlog) * change
            + 4_096
    }
}
