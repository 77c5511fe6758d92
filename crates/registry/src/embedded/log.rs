//! The log: the events of a registry in one file.
//!
//! ```text
//! file   = "lasthop registry 2\n", frame of (revision, number of records), records, batches
//! record = frame of (revision, event): the state at the revision in the first frame
//! batch  = frame of (revision of the first event, events): revisions follow each other
//! frame  = length of the content in 4 octets, CRC-32 of length and content in 4 octets (both
//!          little-endian), content (postcard)
//! ```
//!
//! - Each batch is appended and synchronized before the next one. So at most the last frame can be
//!   incomplete. Nothing in it was acknowledged, and it does not count. A wrong frame with a complete one after
//!   it is damage, and the file is not used.
//! - When the file is full, a successor takes its place that begins with the current state. It is
//!   complete and durable before it gets the file's name. The first file is made in the same way.
//! - Each start makes a successor as well. The last batch that it reads may be complete without being
//!   durable, even after a synchronization that failed and another one that did not; and nothing is
//!   appended to an incomplete frame.
//!
//! What is left open: a wrong bit in the last frame, after it was acknowledged, is taken for an
//! incomplete frame.

use std::io;

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use super::disk::Disk;
use crate::error::Refusal;
use crate::limits::Limits;
use crate::state::{Event, State};

/// The first octets of the file; the number is the format version.
const MAGIC: &[u8] = b"lasthop registry 2\n";

/// The octets of a frame before its content.
const HEAD: usize = 8;

/// What an acknowledged change survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Also a loss of power: each change waits for the disk.
    PowerLoss,
    /// The end of the process, such as by `kill -9`. After a loss of power, the latest changes may be
    /// missing.
    ProcessEnd,
}

/// Why a registry's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It cannot be read or written, or it is larger than [`Limits::file_octets`].
    #[error(transparent)]
    Io(#[from] io::Error),
    /// [`Limits::file_octets`] is too small for the other limits.
    #[error("the registry's file may need {0} octets")]
    LimitTooSmall(u64),
    /// It is another file, or from another version.
    #[error("not the file of a registry, or one of another version")]
    NotARegistry,
    /// It has been changed.
    #[error("the registry's file is damaged at octet {0}")]
    Damaged(u64),
    /// It has more than the limits admit.
    #[error("the registry's file exceeds the limits")]
    Exceeds(#[source] Refusal),
}

pub(super) struct Log {
    disk: Box<dyn Disk>,
    durability: Durability,
    /// Octets in the file.
    length: u64,
    /// The maximum of `length`.
    limit: u64,
}

/// The content of the first frame.
#[derive(Serialize, Deserialize)]
struct Start {
    revision: u64,
    records: u64,
}

impl Log {
    /// Reads the file, or creates it. Returns the state after its last complete event.
    pub(super) fn open(
        disk: Box<dyn Disk>,
        limits: Limits,
        durability: Durability,
        now: Instant,
    ) -> Result<(Self, State), OpenError> {
        let limit = limits.file_octets;
        if limit < limits.least_file() {
            return Err(OpenError::LimitTooSmall(limits.least_file()));
        }
        let mut log = Self { disk, durability, length: 0, limit };
        let state = match log.disk.load(limit)? {
            None => State::new(limits),
            Some(octets) => read(&octets, limits, durability, now)?,
        };
        log.rewrite(&state)?;
        Ok((log, state))
    }

    /// Makes events durable, of which the first has a revision. They led to a state.
    pub(super) fn append(&mut self, first: u64, events: &[Event], state: &State) -> io::Result<()> {
        let mut octets = Vec::new();
        push_frame(&mut octets, &(first, events))?;
        if self.length + octets.len() as u64 > self.limit {
            return self.rewrite(state);
        }
        self.disk.append(&octets)?;
        self.length += octets.len() as u64;
        match self.durability {
            Durability::PowerLoss => self.disk.sync(),
            Durability::ProcessEnd => Ok(()),
        }
    }

    /// Replaces the file by one that begins with a state.
    fn rewrite(&mut self, state: &State) -> io::Result<()> {
        let mut octets = MAGIC.to_vec();
        let records = state.records().count() as u64;
        push_frame(&mut octets, &Start { revision: state.revision(), records })?;
        for record in state.records() {
            push_frame(&mut octets, &record)?;
        }
        self.disk.create_successor(&octets)?;
        self.disk.sync_successor()?;
        self.disk.rename_successor()?;
        self.disk.sync_folder()?;
        self.length = octets.len() as u64;
        Ok(())
    }
}

/// The state after the last complete event.
fn read(octets: &[u8], limits: Limits, durability: Durability, now: Instant) -> Result<State, OpenError> {
    if !octets.starts_with(MAGIC) {
        return Err(OpenError::NotARegistry);
    }
    let mut frames = Frames { octets, at: MAGIC.len() };
    let start: Start = frames.next()?;
    let mut records = Vec::new();
    for _ in 0..start.records {
        records.push(frames.next()?);
    }
    let state = State::from_records(limits, start.revision, records, now);
    let mut state = state.map_err(OpenError::Exceeds)?;
    while frames.peek().is_some() {
        let at = frames.at as u64;
        let (revision, events): (u64, Vec<Event>) = frames.next()?;
        if revision != state.revision() + 1 {
            return Err(OpenError::Damaged(at));
        }
        for event in events {
            state.check(&event).map_err(OpenError::Exceeds)?;
            state.apply(event, now);
        }
    }
    if durability == Durability::PowerLoss && !frames.rest_is_incomplete(&limits) {
        return Err(OpenError::Damaged(frames.at as u64));
    }
    Ok(state)
}

fn push_frame(octets: &mut Vec<u8>, content: &impl Serialize) -> io::Result<()> {
    let content = postcard::to_allocvec(content).map_err(io::Error::other)?;
    let length = (content.len() as u32).to_le_bytes();
    octets.extend(length);
    octets.extend(checksum(length, &content).to_le_bytes());
    octets.extend(content);
    Ok(())
}

fn checksum(length: [u8; 4], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(content);
    hasher.finalize()
}

/// The frames of a file.
struct Frames<'a> {
    octets: &'a [u8],
    /// Where the next frame begins.
    at: usize,
}

impl<'a> Frames<'a> {
    /// The content of the next frame; none if it is incomplete or wrong, or if there is none.
    fn peek(&self) -> Option<&'a [u8]> {
        let (length, rest) = self.octets.get(self.at..)?.split_first_chunk::<4>()?;
        let (expected, rest) = rest.split_first_chunk::<4>()?;
        let content = rest.get(..u32::from_le_bytes(*length) as usize)?;
        (checksum(*length, content) == u32::from_le_bytes(*expected)).then_some(content)
    }

    /// The value of the next frame.
    ///
    /// # Errors
    /// There is no complete frame, or it has another value.
    fn next<T: Deserialize<'a>>(&mut self) -> Result<T, OpenError> {
        let damaged = OpenError::Damaged(self.at as u64);
        let Some(content) = self.peek() else { return Err(damaged) };
        self.at += HEAD + content.len();
        postcard::from_bytes(content).map_err(|_| damaged)
    }

    /// Whether the rest may be part of one batch. It is not if a complete frame begins in it.
    fn rest_is_incomplete(&self, limits: &Limits) -> bool {
        let rest = (self.octets.len() - self.at) as u64;
        let mut others = (self.at..self.octets.len()).map(|at| Frames { at, ..*self });
        rest <= limits.largest_batch() && !others.any(|other| other.peek().is_some())
    }
}

#[cfg(test)]
mod tests;
