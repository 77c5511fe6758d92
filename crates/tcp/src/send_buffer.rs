//! Unacknowledged data of the application.

mod absent;

use std::collections::VecDeque;

use lasthop_packet::Payload;
use serde::{Deserialize, Serialize};

use absent::Absent;

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
    Stream {
        stream: u32,
        offset: u64,
        len: u64,
    },
    /// Only at the front.
    Absent(Box<Absent>),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Payload(payload) => payload.len() as u64,
            Self::Stream { len, .. } => *len,
            Self::Absent(absent) => absent.octets(),
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
            Self::Absent(_) => Payload::EMPTY,
        }
    }

    fn cut_front(&mut self, octets: u64) {
        match self {
            Self::Payload(payload) => *payload = payload.slice(octets as usize, payload.len()),
            Self::Stream { offset, len, .. } => {
                *offset += octets;
                *len -= octets;
            }
            Self::Absent(absent) => absent.acknowledge(octets),
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
                Piece::Absent(absent) if absent.is_complete() => {
                    for payload in absent.into_supplied() {
                        buffer.push(payload);
                    }
                }
                Piece::Absent(_) if !buffer.pieces.is_empty() => {}
                Piece::Absent(absent) => {
                    buffer.len = absent.octets();
                    buffer.pieces.push_back(Piece::Absent(absent));
                }
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

impl SendBuffer {
    /// Octets of memory in use, at most.
    pub fn memory(&self) -> usize {
        let octets = usize::try_from(self.len).unwrap_or(usize::MAX);
        let supplied = self.absent().map_or(0, |absent| absent.supplied().len());
        let records = (self.pieces.capacity() + supplied) * size_of::<Piece>();
        memory_of(self.pieces.len() + supplied, octets).saturating_add(records)
    }

    /// Octets of simulated streams.
    pub fn simulated(&self) -> u64 {
        let of = |payload: &Payload| if payload.is_simulated() { payload.len() as u64 } else { 0 };
        let simulated = self.pieces.iter().map(|piece| match piece {
            Piece::Payload(payload) => of(payload),
            Piece::Stream { len, .. } => *len,
            Piece::Absent(absent) => absent.supplied().iter().map(of).fold(0, u64::saturating_add),
        });
        simulated.fold(0, u64::saturating_add)
    }

    /// The first octets, if some of them are to come.
    #[inline]
    fn absent(&self) -> Option<&Absent> {
        if let Some(Piece::Absent(absent)) = self.pieces.front() { Some(absent) } else { None }
    }

    /// Octets that are to come, with those that are acknowledged meanwhile.
    pub fn awaited(&self) -> u64 {
        self.absent().map_or(0, Absent::awaited)
    }

    /// Whether such a buffer can be.
    pub fn is_sound(&self) -> bool {
        self.absent().is_none_or(Absent::is_sound)
    }

    /// Whether octets are absent that may have to be sent.
    #[inline]
    pub fn is_incomplete(&self) -> bool {
        self.absent().is_some_and(Absent::lacks_octets)
    }

    /// The number of octets at the front of which some are absent.
    pub fn incomplete_until(&self) -> u64 {
        self.absent().map_or(0, Absent::octets)
    }

    /// Removes the first `octets`, and returns them: from then on they are absent. Nothing is removed if others are.
    pub fn take_front(&mut self, octets: u64) -> Vec<Payload> {
        if self.absent().is_some() {
            return Vec::new();
        }
        let mut front = std::mem::take(self);
        let rest = front.split_off(octets);
        if front.len > 0 {
            self.pieces.push_back(Piece::Absent(Box::new(Absent::new(front.len))));
            self.len = front.len;
        }
        for payload in rest {
            self.push(payload);
        }
        front.split_off(0)
    }

    /// The next of the octets that are absent. Returns what comes after them.
    pub fn supply(&mut self, payload: Payload) -> Payload {
        let Some(Piece::Absent(absent)) = self.pieces.front_mut() else { return payload };
        let behind = absent.supply(&payload);
        if absent.is_complete()
            && let Some(Piece::Absent(absent)) = self.pieces.pop_front()
        {
            for payload in absent.into_supplied().into_iter().rev() {
                self.pieces.push_front(Piece::Payload(payload));
            }
        }
        behind
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
                self.len = self.len.saturating_add(payload.len() as u64);
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
                    // Only what is not outstanding is discarded.
                    Piece::Absent(_) => {}
                }
                self.pieces.push_back(last);
            }
        }
    }

    /// Removes everything after the first `octets`, and returns it.
    pub fn split_off(&mut self, octets: u64) -> Vec<Payload> {
        let mut rest = Vec::new();
        let mut start = self.incomplete_until();
        for piece in self.pieces.iter().filter(|piece| !matches!(piece, Piece::Absent(_))) {
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

    /// Up to `len` octets from `position` on. None of the buffer may be absent.
    #[inline]
    pub fn slice(&self, position: u64, len: u32) -> Payload {
        debug_assert!(!self.is_incomplete(), "octets are sent that are absent");
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
        let octets = octets.min(self.len);
        self.len -= octets;
        match self.pieces.front_mut() {
            Some(Piece::Stream { offset, len, .. }) if *len > octets => {
                *offset += octets;
                *len -= octets;
            }
            _ => self.cut_front(octets),
        }
    }

    fn cut_front(&mut self, mut octets: u64) {
        let mut index = 0;
        while octets > 0
            && let Some(piece) = self.pieces.get_mut(index)
        {
            let cut = octets.min(piece.len());
            piece.cut_front(cut);
            octets -= cut;
            if piece.len() > 0 {
                return;
            }
            if matches!(piece, Piece::Absent(_)) {
                // They still come.
                index = 1;
            } else {
                self.pieces.remove(index);
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
    fn absent_octets_come_in_order_while_their_first_ones_are_acknowledged() {
        let whole = Bytes::from((0..=99).collect::<Vec<u8>>());
        let part = |from: usize, to: usize| Payload::Bytes(whole.slice(from..to));
        // For each number of octets that are acknowledged after each number that has come.
        for (come, acknowledged) in (0..=6).flat_map(|come| (0..=10).map(move |octets| (come, octets * 10))) {
            let mut buffer = SendBuffer::default();
            for start in [0, 30, 60] {
                buffer.push(part(start, (start + 30).min(90)));
            }
            let front = buffer.take_front(60);
            assert_eq!(front.iter().map(Payload::len).sum::<usize>(), 60);
            buffer.push(part(90, 100));
            assert!(buffer.is_incomplete() && buffer.take_front(10).is_empty());
            assert_eq!((buffer.len(), buffer.awaited()), (100, 60));
            for piece in 0..come {
                assert!(buffer.supply(part(10 * piece, 10 * piece + 10)).is_empty());
            }
            buffer.acknowledge(acknowledged as u64);
            for piece in come..6 {
                assert!(buffer.supply(part(10 * piece, 10 * piece + 10)).is_empty());
            }
            assert!(!buffer.is_incomplete() && buffer.awaited() == 0);
            assert_eq!(buffer.slice(0, 200).octets(), whole.slice(acknowledged..), "{come}, {acknowledged}");
            assert_eq!(buffer.supply(part(0, 5)).len(), 5, "nothing is absent");
        }
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
