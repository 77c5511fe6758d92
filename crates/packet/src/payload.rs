//! The payload of a packet: real octets, or a piece of a simulated stream, which takes no memory
//! for its octets.

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::rng::splitmix;

/// The octets after the transport header. Agents may use its length, and slice, join and clone it;
/// none reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "PayloadRecord", try_from = "PayloadRecord")]
pub enum Payload {
    /// Octets from a real network.
    Bytes(Bytes),
    /// Octets `offset .. offset + len` of simulated stream `stream`. Each octet is a function of
    /// stream and position, so that the receiver detects lost, duplicated or reordered ones, and
    /// the same payload becomes real octets for a capture.
    Stream {
        /// The stream.
        stream: u32,
        /// Octets of the stream before this piece.
        offset: u64,
        /// Octets of this piece.
        len: u32,
    },
}

/// A stream that no simulation uses: that of payloads that were not shown.
const UNSEEN: u32 = u32::MAX;

/// Maximum octets of a payload, including that of a super-packet.
const LARGEST: usize = 1 << 20;

/// A payload as a value. A simulated stream is stored by its name, not its octets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PayloadRecord {
    Bytes(Vec<u8>),
    Stream { stream: u32, offset: u64, len: u32 },
}

/// The error for a payload that no packet can have.
#[derive(Clone, Copy, Debug, Error)]
#[error("the payload is too large, or lies beyond the end of its stream")]
pub(crate) struct NoPayload;

impl From<Payload> for PayloadRecord {
    fn from(payload: Payload) -> Self {
        match payload {
            Payload::Bytes(octets) => Self::Bytes(octets.to_vec()),
            Payload::Stream { stream, offset, len } => Self::Stream { stream, offset, len },
        }
    }
}

impl TryFrom<PayloadRecord> for Payload {
    type Error = NoPayload;

    fn try_from(record: PayloadRecord) -> Result<Self, NoPayload> {
        match record {
            PayloadRecord::Bytes(octets) if octets.len() <= LARGEST => Ok(Self::Bytes(octets.into())),
            PayloadRecord::Stream { stream, offset, len }
                if len as usize <= LARGEST && offset.checked_add(len.into()).is_some() =>
            {
                Ok(Self::Stream { stream, offset, len })
            }
            _ => Err(NoPayload),
        }
    }
}

impl Payload {
    /// Whether its octets belong to a simulated stream, so that no real host ever sent them.
    pub const fn is_simulated(&self) -> bool {
        matches!(self, Self::Stream { len: 1.., .. })
    }

    /// Octets that passed and were not shown: only their number is known. No packet with such a
    /// payload is ever sent.
    pub const fn unseen(len: u32) -> Self {
        Self::Stream { stream: UNSEEN, offset: 0, len }
    }

    /// Whether the octets were not shown.
    #[inline]
    pub const fn is_unseen(&self) -> bool {
        matches!(self, Self::Stream { stream: UNSEEN, .. })
    }

    /// The empty payload.
    pub const EMPTY: Self = Self::Stream { stream: 0, offset: 0, len: 0 };

    /// The number of octets.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Stream { len, .. } => *len as usize,
        }
    }

    /// Whether there are no octets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Octets `from .. to` of this payload; both are limited to its length.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let to = to.min(self.len());
        let from = from.min(to);
        match self {
            Self::Bytes(bytes) => Self::Bytes(bytes.slice(from..to)),
            Self::Stream { stream, offset, .. } => {
                Self::Stream { stream: *stream, offset: offset + from as u64, len: (to - from) as u32 }
            }
        }
    }

    /// [`Self::slice`] in a buffer of its own, unless it is complete: otherwise a few octets would keep the complete
    /// payload in memory, and memory is counted by octets.
    #[must_use]
    pub fn copy_of(&self, from: usize, to: usize) -> Self {
        match self.slice(from, to) {
            Self::Bytes(part) if part.len() < self.len() => Self::Bytes(part.to_vec().into()),
            part => part,
        }
    }

    /// Both payloads, one after the other. Contiguous pieces of one stream stay one piece.
    #[must_use]
    pub fn join(&self, next: &Self) -> Self {
        if next.is_empty() {
            return self.clone();
        }
        if self.is_empty() {
            return next.clone();
        }
        if let (
            Self::Stream { stream, offset, len },
            Self::Stream { stream: stream2, offset: offset2, len: len2 },
        ) = (self, next)
            && stream == stream2
            && offset + u64::from(*len) == *offset2
            && let Some(len) = len.checked_add(*len2)
        {
            return Self::Stream { stream: *stream, offset: *offset, len };
        }
        let mut octets = BytesMut::with_capacity(self.len() + next.len());
        octets.extend_from_slice(&self.octets());
        octets.extend_from_slice(&next.octets());
        Self::Bytes(octets.freeze())
    }

    /// The octets; they are generated for a simulated stream.
    pub fn octets(&self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Stream { stream, offset, len } => stream_octets(*stream, *offset, *len as usize),
        }
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// Payloads are equal if their octets are.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Stream { stream, offset, len },
                Self::Stream { stream: stream2, offset: offset2, len: len2 },
            ) if stream == stream2 => len == len2 && (*len == 0 || offset == offset2),
            _ => self.len() == other.len() && (self.is_empty() || self.octets() == other.octets()),
        }
    }
}

impl Eq for Payload {}

/// Octet `position` of simulated stream `stream`.
pub fn octet(stream: u32, position: u64) -> u8 {
    word(stream, position / 8).to_le_bytes()[(position % 8) as usize]
}

/// Eight octets of a stream, from position `8 * index`.
fn word(stream: u32, index: u64) -> u64 {
    splitmix((u64::from(stream) << 40) ^ index)
}

/// Octets `offset .. offset + len` of a stream, generated word by word.
fn stream_octets(stream: u32, offset: u64, len: usize) -> Bytes {
    let skip = (offset % 8) as usize;
    let mut octets = BytesMut::with_capacity(skip + len + 7);
    for index in (offset / 8..).take((skip + len).div_ceil(8)) {
        octets.extend_from_slice(&word(stream, index).to_le_bytes());
    }
    octets.freeze().slice(skip..skip + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(offset: u64, len: u32) -> Payload {
        Payload::Stream { stream: 3, offset, len }
    }

    #[test]
    fn joined_slices_are_the_complete_payload() {
        let whole = stream(100, 50);
        let joined = whole.slice(0, 20).join(&whole.slice(20, 50));
        assert!(matches!(joined, Payload::Stream { offset: 100, len: 50, .. }));
        assert_eq!(joined, whole);
    }

    #[test]
    fn a_stream_piece_equals_its_octets() {
        let piece = stream(13, 30);
        assert_eq!(piece, Payload::Bytes(piece.octets()));
        assert_eq!(piece.octets().slice(7..), piece.slice(7, 30).octets());
        assert_ne!(piece, stream(14, 30));
    }

    #[test]
    fn octets_are_those_of_their_positions() {
        for offset in 0..20 {
            for len in 0..20 {
                let octets = stream(offset, len).octets();
                let expected: Vec<u8> = (offset..offset + u64::from(len)).map(|at| octet(3, at)).collect();
                assert_eq!(octets, expected, "{offset}, {len}");
            }
        }
    }

    #[test]
    fn a_slice_beyond_the_end_is_truncated() {
        assert_eq!(stream(0, 10).slice(5, 99).len(), 5);
        assert!(stream(0, 10).slice(20, 30).is_empty());
    }
}
