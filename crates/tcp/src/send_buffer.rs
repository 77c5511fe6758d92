//! Unacknowledged data of the application.

use std::collections::VecDeque;

use lasthop_packet::Payload;
use serde::{Deserialize, Serialize};

/// A queue of payload pieces. Position 0 is the oldest unacknowledged octet.
///
/// A simulated stream, however long, is one piece.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "VecDeque<Piece>", into = "VecDeque<Piece>")]
pub struct SendBuffer {
    pieces: VecDeque<Piece>,
    len: u64,
}

/// A payload, or a range of a simulated stream, which may be longer than a payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Piece {
    Payload(Payload),
    Stream { stream: u32, offset: u64, len: u64 },
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Payload(payload) => payload.len() as u64,
            Self::Stream { len, .. } => *len,
        }
    }

    /// Up to `len` octets from `from`.
    fn slice(&self, from: u64, len: u32) -> Payload {
        match self {
            Self::Payload(payload) => payload.slice(from as usize, from as usize + len as usize),
            Self::Stream { stream, offset, len: whole } => Payload::Stream {
                stream: *stream,
                offset: offset + from,
                len: u64::from(len).min(whole - from) as u32,
            },
        }
    }

    fn cut_front(&mut self, octets: u64) {
        match self {
            Self::Payload(payload) => *payload = payload.slice(octets as usize, payload.len()),
            Self::Stream { offset, len, .. } => {
                *offset += octets;
                *len -= octets;
            }
        }
    }
}

impl From<VecDeque<Piece>> for SendBuffer {
    fn from(pieces: VecDeque<Piece>) -> Self {
        let mut buffer = Self::default();
        for piece in pieces {
            match piece {
                Piece::Payload(payload) => buffer.push(payload),
                Piece::Stream { stream, offset, len } => buffer.push_stream(stream, offset, len),
            }
        }
        buffer
    }
}

impl From<SendBuffer> for VecDeque<Piece> {
    fn from(buffer: SendBuffer) -> Self {
        buffer.pieces
    }
}

/// Octets of memory of a payload beside its data: its reference count, and those of the allocator.
const BESIDE_PAYLOAD: usize = 64;

/// Octets of memory of this number of payloads with `octets` in total, at most.
pub(crate) fn memory_of(payloads: usize, octets: usize) -> usize {
    octets.saturating_add(octets / 2).saturating_add(payloads * BESIDE_PAYLOAD)
}

/// A part of a payload, in its own buffer unless it is complete: otherwise a few octets would keep the
/// complete payload in memory, and memory is counted by octets.
pub(crate) fn cut(payload: &Payload, from: usize, to: usize) -> Payload {
    match payload.slice(from, to) {
        Payload::Bytes(part) if part.len() < payload.len() => Payload::Bytes(part.to_vec().into()),
        part => part,
    }
}

impl SendBuffer {
    /// Octets of memory in use, at most.
    pub fn memory(&self) -> usize {
        let octets = usize::try_from(self.len).unwrap_or(usize::MAX);
        memory_of(self.pieces.len(), octets).saturating_add(self.pieces.capacity() * size_of::<Piece>())
    }

    /// Octets of simulated streams.
    pub fn simulated(&self) -> u64 {
        let simulated = self.pieces.iter().map(|piece| match piece {
            Piece::Payload(payload) if payload.is_simulated() => payload.len() as u64,
            Piece::Payload(_) => 0,
            Piece::Stream { len, .. } => *len,
        });
        simulated.fold(0, u64::saturating_add)
    }

    /// Octets held.
    #[inline]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing is held.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a payload.
    pub fn push(&mut self, payload: Payload) {
        match payload {
            Payload::Stream { stream, offset, len } => self.push_stream(stream, offset, u64::from(len)),
            Payload::Bytes(octets) if octets.is_empty() => {}
            Payload::Bytes(_) => {
                self.len += payload.len() as u64;
                self.pieces.push_back(Piece::Payload(payload));
            }
        }
    }

    /// Appends `len` octets of a simulated stream.
    pub fn push_stream(&mut self, stream: u32, offset: u64, len: u64) {
        if len == 0 {
            return;
        }
        self.len = self.len.saturating_add(len);
        if let Some(Piece::Stream { stream: last, offset: start, len: run }) = self.pieces.back_mut()
            && *last == stream
            && start.checked_add(*run) == Some(offset)
        {
            *run = run.saturating_add(len);
            return;
        }
        self.pieces.push_back(Piece::Stream { stream, offset, len });
    }

    /// Discards everything after the first `octets`.
    pub fn truncate(&mut self, octets: u64) {
        while self.len > octets
            && let Some(mut last) = self.pieces.pop_back()
        {
            let cut = (self.len - octets).min(last.len());
            self.len -= cut;
            let rest = last.len() - cut;
            if rest > 0 {
                match &mut last {
                    Piece::Payload(payload) => *payload = payload.slice(0, rest as usize),
                    Piece::Stream { len, .. } => *len = rest,
                }
                self.pieces.push_back(last);
            }
        }
    }

    /// Removes everything after the first `octets`, and returns it.
    pub fn split_off(&mut self, octets: u64) -> Vec<Payload> {
        let mut rest = Vec::new();
        let mut start = 0;
        for piece in &self.pieces {
            let mut from = octets.saturating_sub(start);
            // A range of a stream may be longer than a payload.
            while from < piece.len() {
                let payload = piece.slice(from, u32::try_from(piece.len() - from).unwrap_or(u32::MAX));
                from += payload.len() as u64;
                rest.push(payload);
            }
            start += piece.len();
        }
        self.truncate(octets);
        rest
    }

    /// Up to `len` octets from `position` on.
    #[inline]
    pub fn slice(&self, position: u64, len: u32) -> Payload {
        if let Some(only @ Piece::Stream { .. }) = self.pieces.front()
            && position + u64::from(len) <= only.len()
        {
            return only.slice(position, len);
        }
        self.slice_across(position, len)
    }

    fn slice_across(&self, mut position: u64, mut len: u32) -> Payload {
        let mut payload = Payload::EMPTY;
        for piece in &self.pieces {
            if position >= piece.len() {
                position -= piece.len();
                continue;
            }
            let part =
                piece.slice(position, len.min((piece.len() - position).min(u64::from(u32::MAX)) as u32));
            len -= part.len() as u32;
            payload = payload.join(&part);
            position = 0;
            if len == 0 {
                break;
            }
        }
        payload
    }

    /// Removes the first `octets`, which are acknowledged.
    #[inline]
    pub fn acknowledge(&mut self, octets: u64) {
        let mut octets = octets.min(self.len);
        self.len -= octets;
        if let Some(Piece::Stream { offset, len, .. }) = self.pieces.front_mut()
            && *len > octets
        {
            *offset += octets;
            *len -= octets;
            return;
        }
        while octets > 0
            && let Some(front) = self.pieces.front_mut()
        {
            let cut = octets.min(front.len());
            front.cut_front(cut);
            octets -= cut;
            if front.len() == 0 {
                self.pieces.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn slices_cross_pieces_and_begin_at_the_first_unacknowledged_octet() {
        let mut buffer = SendBuffer::default();
        buffer.push(Payload::Bytes(Bytes::from_static(b"hello ")));
        buffer.push(Payload::Bytes(Bytes::from_static(b"world")));
        assert_eq!(buffer.slice(3, 5).octets(), "lo wo");
        buffer.acknowledge(7);
        assert_eq!((buffer.len(), buffer.slice(0, 99).octets()), (4, Bytes::from_static(b"orld")));
    }

    #[test]
    fn a_stream_of_any_length_is_one_piece() {
        let mut buffer = SendBuffer::default();
        buffer.push_stream(1, 0, 1 << 40);
        buffer.push_stream(1, 1 << 40, 10);
        buffer.acknowledge(1 << 39);
        assert_eq!(buffer.pieces.len(), 1);
        assert_eq!(buffer.slice(4, 3), Payload::Stream { stream: 1, offset: (1 << 39) + 4, len: 3 });
        assert_eq!(buffer.len(), (1 << 39) + 10);
    }
}
