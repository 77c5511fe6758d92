//! Data that arrived ahead of a gap.

use std::collections::VecDeque;

use lasthop_packet::{Payload, SackBlocks, Seq};

/// Segments beyond RCV.NXT in sequence order, none overlapping another.
#[derive(Debug, Default)]
pub struct Reassembly {
    segments: VecDeque<(Seq, Payload)>,
    /// The segments that came latest, for the order of SACK blocks (RFC 2018, section 4); the last came last.
    recent: VecDeque<Seq>,
}

impl Reassembly {
    /// Whether nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Keeps a piece that begins at `seq`, beyond `next`. Octets that are here already are dropped.
    pub fn insert(&mut self, seq: Seq, payload: Payload) {
        let (mut seq, mut payload) = (seq, payload);
        let at = self.segments.partition_point(|(start, _)| start.before(seq));
        if let Some((start, before)) = at.checked_sub(1).and_then(|at| self.segments.get(at)) {
            let end = *start + before.len() as u32;
            if end.after(seq) {
                let overlap = (end - seq) as usize;
                payload = payload.slice(overlap, payload.len());
                seq = end;
            }
        }
        // What follows and is covered whole by the new piece makes room; what is covered in part cuts it.
        while let Some((start, next)) = self.segments.get(at) {
            let end = seq + payload.len() as u32;
            if !end.after(*start) {
                break;
            }
            if end.before(*start + next.len() as u32) {
                payload = payload.slice(0, (*start - seq) as usize);
                break;
            }
            self.segments.remove(at);
        }
        if payload.is_empty() {
            return;
        }
        self.recent.retain(|recent| *recent != seq);
        self.recent.push_back(seq);
        if self.recent.len() > 4 {
            self.recent.pop_front();
        }
        self.segments.insert(at, (seq, payload));
    }

    /// Takes the piece that continues at `next`, if there is one; octets before `next` are cut off.
    pub fn take_next(&mut self, next: Seq) -> Option<Payload> {
        while let Some((start, payload)) = self.segments.front() {
            if start.after(next) {
                return None;
            }
            let known = (next - *start) as usize;
            let rest = payload.slice(known, payload.len());
            self.segments.pop_front();
            if !rest.is_empty() {
                return Some(rest);
            }
        }
        self.recent.clear();
        None
    }

    /// At most `limit` blocks, the one with the latest arrival first.
    ///
    //= RFC 2018, section 4: "The first SACK block MUST specify the contiguous block of data containing the segment which
    //= triggered this ACK".
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        if self.segments.is_empty() {
            return blocks;
        }
        for recent in self.recent.iter().rev() {
            let Some((left, right)) = self.block_around(*recent) else { continue };
            if blocks.as_slice().len() < limit && !blocks.as_slice().contains(&(left, right)) {
                blocks.push(left, right);
            }
        }
        blocks
    }

    /// The contiguous block that holds `seq`.
    fn block_around(&self, seq: Seq) -> Option<(Seq, Seq)> {
        let mut block: Option<(Seq, Seq)> = None;
        for (start, payload) in &self.segments {
            let end = *start + payload.len() as u32;
            block = match block {
                Some((left, right)) if right == *start => Some((left, end)),
                Some((left, right)) if seq.within(left, right) => return Some((left, right)),
                _ => Some((*start, end)),
            };
        }
        block.filter(|(left, right)| seq.within(*left, *right))
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
    fn overlapping_pieces_come_out_as_one_run_without_doubles() {
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
    fn what_is_known_already_is_cut_off() {
        let mut reassembly = Reassembly::default();
        insert(&mut reassembly, 20, 30);
        insert(&mut reassembly, 40, 50);
        assert_eq!(reassembly.take_next(Seq(25)).map(|p| p.len()), Some(5));
        assert_eq!(reassembly.take_next(Seq(60)), None);
        assert!(reassembly.is_empty());
    }
}
