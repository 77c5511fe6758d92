//! Data received above a gap.

use std::collections::VecDeque;

use lasthop_packet::{Payload, SackBlocks, Seq};

use crate::send_buffer::memory_of;

/// Segments above RCV.NXT in sequence order, without overlaps.
#[derive(Debug, Default)]
pub struct Reassembly {
    segments: VecDeque<(Seq, Payload)>,
    /// The contiguous blocks of segments, the one with the latest arrival first (RFC 2018, section 4).
    blocks: VecDeque<(Seq, Seq)>,
    /// Octets of the segments.
    octets: usize,
}

impl Reassembly {
    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Adds a piece that begins at `seq`, above RCV.NXT. Duplicate octets are dropped.
    pub fn insert(&mut self, seq: Seq, payload: Payload) {
        if payload.is_empty() {
            return;
        }
        let (mut seq, mut payload) = (seq, payload);
        self.record_block(seq, seq + payload.len() as u32);
        let at = self.segments.partition_point(|(start, _)| start.before(seq));
        if let Some((start, before)) = at.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let end = *start + before.len() as u32;
            if end.after(seq) {
                let overlap = (end - seq) as usize;
                payload = payload.copy_of(overlap, payload.len());
                seq = end;
            }
        }
        // The new piece replaces following segments that it covers completely, and is cut at one that
        // it covers in part.
        while let Some((start, next)) = self.segments.get(at) {
            let end = seq + payload.len() as u32;
            if !end.after(*start) {
                break;
            }
            if end.before(*start + next.len() as u32) {
                payload = payload.copy_of(0, (*start - seq) as usize);
                break;
            }
            self.octets -= next.len();
            self.segments.remove(at);
        }
        if payload.is_empty() {
            return;
        }
        self.octets += payload.len();
        self.segments.insert(at, (seq, payload));
    }

    /// Removes the piece that continues at `next`, if any; octets before `next` are cut off.
    pub fn take_next(&mut self, next: Seq) -> Option<Payload> {
        while let Some((start, payload)) = self.segments.front() {
            if start.after(next) {
                // The delivered data was a part of the latest block.
                if self.blocks.front().is_some_and(|(_, right)| !right.after(next)) {
                    self.blocks.retain(|(_, right)| right.after(next));
                }
                return None;
            }
            let known = (next - *start) as usize;
            let rest = payload.copy_of(known, payload.len());
            self.octets -= payload.len();
            self.segments.pop_front();
            if !rest.is_empty() {
                return Some(rest);
            }
        }
        self.blocks.clear();
        None
    }

    /// Up to `limit` blocks, the one with the latest arrival first.
    ///
    //= RFC 2018, section 4: "The first SACK block [...] MUST specify the contiguous block of data containing the segment which
    //= triggered this ACK".
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        for (left, right) in self.blocks.iter().take(limit) {
            blocks.push(*left, *right);
        }
        blocks
    }

    /// Octets of memory in use, at most.
    pub fn memory(&self) -> usize {
        memory_of(self.segments.len(), self.octets())
            + self.segments.capacity() * size_of::<(Seq, Payload)>()
            + self.blocks.capacity() * size_of::<(Seq, Seq)>()
    }

    /// Octets held.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// The end of the last segment.
    pub fn end(&self) -> Option<Seq> {
        self.segments.back().map(|(start, payload)| *start + payload.len() as u32)
    }

    /// The first contiguous range within `left` to `right` that is held.
    pub fn first_known(&self, left: Seq, right: Seq) -> Option<(Seq, Seq)> {
        self.blocks
            .iter()
            .filter(|block| block.0.before(right) && left.before(block.1))
            .map(|block| (block.0.later(left), block.1.earlier(right)))
            .min_by_key(|block| block.0 - left)
    }

    /// Whether there are at least `count` blocks, and none of the latest `count` touches the range from
    /// `left` to `right`.
    pub fn would_be_new_after(&self, left: Seq, right: Seq, count: usize) -> bool {
        let is_apart = |block: &(Seq, Seq)| block.1.before(left) || block.0.after(right);
        self.blocks.len() >= count && self.blocks.iter().take(count).all(is_apart)
    }

    /// All segments, in an order in which they can be inserted again with the same result.
    pub fn pieces(&self) -> impl Iterator<Item = &(Seq, Payload)> {
        self.blocks.iter().rev().flat_map(|(left, right)| {
            let first = self.segments.partition_point(|(seq, _)| seq.before(*left));
            self.segments.range(first..).take_while(move |(seq, _)| seq.before(*right))
        })
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.segments.clear();
        self.octets = 0;
        self.blocks.clear();
    }

    /// Merges the new piece with the blocks it touches, and moves the result to the front.
    fn record_block(&mut self, left: Seq, right: Seq) {
        let mut merged = (left, right);
        // Blocks do not touch each other, so it is enough to compare with the bounds of the piece.
        self.blocks.retain(|block| {
            let apart = block.1.before(left) || block.0.after(right);
            if !apart {
                merged = (merged.0.earlier(block.0), merged.1.later(block.1));
            }
            apart
        });
        self.blocks.push_front(merged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: u32, to: u32) -> (Seq, Payload) {
        (Seq(from), Payload::Stream { stream: 1, offset: u64::from(from), len: to - from })
    }

    fn insert(reassembly: &mut Reassembly, from: u32, to: u32) {
        let (seq, payload) = piece(from, to);
        reassembly.insert(seq, payload);
    }

    #[test]
    fn overlapping_pieces_are_delivered_once_and_in_order() {
        let mut reassembly = Reassembly::default();
        for (from, to) in [(20, 30), (10, 15), (12, 25), (40, 50), (18, 45), (28, 29)] {
            insert(&mut reassembly, from, to);
        }
        let mut next = Seq(10);
        while let Some(payload) = reassembly.take_next(next) {
            assert_eq!(
                payload,
                Payload::Stream { stream: 1, offset: u64::from(next.0), len: payload.len() as u32 }
            );
            next += payload.len() as u32;
        }
        assert_eq!(next, Seq(50));
        assert!(reassembly.is_empty());
    }

    #[test]
    fn the_first_sack_block_holds_the_latest_arrival() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 20, 30);
        insert(&mut reassembly, 50, 60);
        insert(&mut reassembly, 30, 40);
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [(Seq(20), Seq(40)), (Seq(50), Seq(60))]);
        assert_eq!(reassembly.sack_blocks(1).as_slice(), [(Seq(20), Seq(40))]);
    }

    #[test]
    fn a_growing_block_does_not_replace_older_blocks() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 20, 30);
        for from in (50..100).step_by(10) {
            insert(&mut reassembly, from, from + 10);
        }
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [(Seq(50), Seq(100)), (Seq(20), Seq(30))]);
        insert(&mut reassembly, 22, 25);
        assert_eq!(reassembly.sack_blocks(4).as_slice(), [(Seq(20), Seq(30)), (Seq(50), Seq(100))]);
    }

    #[test]
    fn octets_received_before_are_cut_off() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 20, 30);
        insert(&mut reassembly, 40, 50);
        assert_eq!(reassembly.take_next(Seq(25)).map(|p| p.len()), Some(5));
        assert_eq!(reassembly.take_next(Seq(60)), None);
        assert!(reassembly.is_empty());
    }
}
