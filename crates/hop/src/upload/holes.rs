//! Holes in the data of one direction, as seen where it comes off the hop.
//!
//! Data that begins above the highest sequence number so far leaves a hole: the missing data was
//! lost between the sender and here, or is late. Data that fills it was retransmitted, or is late.
//! Data that arrives here a second time was lost after this point, or not at all.

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

/// The maximum number of holes. If there are more, nothing is known about the sender's recovery.
const MAX_HOLES: usize = 32;

/// A range of sequence space that did not come off the hop in sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// The first sequence number.
    pub seq: Seq,
    /// The sequence number after the last.
    pub end: Seq,
    /// The timestamp of the segment that revealed the hole: older than any retransmission for it.
    pub shown_by: Option<Seq>,
    /// Whether there was no sign of congestion on the hop when the hole appeared.
    pub is_air: bool,
    /// Whether the data has come since.
    pub is_repaired: bool,
}

/// The kind of an arrival of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Next in sequence, or above it: then it leaves a hole.
    New,
    /// Missing data.
    Repair,
    /// Data of which at least a part has come before.
    Again,
}

/// The signs that come with an arriving segment.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// Its timestamp.
    pub timestamp: Option<Seq>,
    /// Whether a hole that it reveals is no sign of congestion.
    pub is_air: bool,
}

/// The holes in a stream, in sequence order, until they are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holes {
    next: Seq,
    /// Below this number there may be holes that are not in the list, which was full.
    blind: Option<Seq>,
    len: u8,
    list: [Hole; MAX_HOLES],
}

impl Holes {
    /// A stream about which nothing is known below `seq`.
    pub fn new(seq: Seq) -> Self {
        Self { next: seq, blind: None, len: 0, list: [Hole::default(); MAX_HOLES] }
    }

    /// The number after the highest one that has come.
    pub const fn next(&self) -> Seq {
        self.next
    }

    /// All holes, in sequence order.
    pub fn as_slice(&self) -> &[Hole] {
        &self.list[..usize::from(self.len)]
    }

    /// Whether there are no holes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the list has every hole that is not acknowledged.
    pub const fn is_complete(&self) -> bool {
        self.blind.is_none()
    }

    /// The holes whose data has not come.
    pub fn missing(&self) -> impl Iterator<Item = &Hole> {
        self.as_slice().iter().filter(|hole| !hole.is_repaired)
    }

    /// Records data that came off the hop.
    pub fn on_data(&mut self, seq: Seq, end: Seq, signs: Signs) -> Arrival {
        let before = self.next;
        if !seq.before(before) {
            if seq.after(before) {
                let hole = Hole {
                    seq: before,
                    end: seq,
                    shown_by: signs.timestamp,
                    is_air: signs.is_air,
                    is_repaired: false,
                };
                self.insert(usize::from(self.len), hole);
            }
            self.next = end;
            return Arrival::New;
        }
        self.next = before.later(end);
        let filled = self.fill(seq, end);
        if filled == end - seq { Arrival::Repair } else { Arrival::Again }
    }

    /// Removes holes below an acknowledgment.
    pub fn on_ack(&mut self, ack: Seq) {
        let gone = self.as_slice().iter().take_while(|hole| !hole.end.after(ack)).count();
        self.list.copy_within(gone..usize::from(self.len), 0);
        self.len -= gone as u8;
        if let Some(first) = self.list[..usize::from(self.len)].first_mut() {
            first.seq = first.seq.later(ack);
        }
        self.blind = self.blind.filter(|blind| blind.after(ack));
    }

    /// The same, if an imported list is valid.
    pub fn bounded(self) -> Option<Self> {
        let list = self.list.get(..usize::from(self.len))?;
        let mut at = None;
        for hole in list {
            let is_after = at.is_none_or(|at: Seq| !hole.seq.before(at));
            if !is_after || !hole.seq.before(hole.end) || hole.end.after(self.next) {
                return None;
            }
            at = Some(hole.end);
        }
        Some(self)
    }

    /// Marks the missing data in `[seq, end)` as repaired, and returns its length in octets.
    fn fill(&mut self, seq: Seq, end: Seq) -> u32 {
        let (mut filled, mut at) = (0, 0);
        while let Some(&hole) = self.as_slice().get(at) {
            let (from, to) = (hole.seq.later(seq), hole.end.earlier(end));
            if !hole.is_repaired && from.before(to) {
                filled += to - from;
                self.list[at] = Hole { seq: from, end: to, is_repaired: true, ..hole };
                if to.before(hole.end) {
                    self.insert(at + 1, Hole { seq: to, ..hole });
                }
                if hole.seq.before(from) {
                    self.insert(at, Hole { end: from, ..hole });
                }
            }
            at += 1;
        }
        self.join();
        filled
    }

    /// Joins adjacent pieces of a hole.
    fn join(&mut self) {
        let mut kept = 0;
        for at in 1..usize::from(self.len) {
            let (last, hole) = (self.list[kept], self.list[at]);
            if (Hole { seq: hole.seq, end: hole.end, ..last }) == hole && last.end == hole.seq {
                self.list[kept].end = hole.end;
            } else {
                kept += 1;
                self.list[kept] = hole;
            }
        }
        self.len = self.len.min(kept as u8 + 1);
    }

    fn insert(&mut self, at: usize, hole: Hole) {
        let len = usize::from(self.len);
        if len == MAX_HOLES {
            self.blind = Some(self.blind.map_or(hole.end, |blind| blind.later(hole.end)));
            return;
        }
        self.list.copy_within(at..len, at + 1);
        self.list[at] = hole;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: Seq = Seq(u32::MAX - 250);

    fn signs(timestamp: u32) -> Signs {
        Signs { timestamp: Some(Seq(timestamp)), is_air: true }
    }

    fn shape(holes: &Holes) -> Vec<(u32, u32, bool)> {
        holes.as_slice().iter().map(|hole| (hole.seq - START, hole.end - START, hole.is_repaired)).collect()
    }

    #[test]
    fn a_hole_lasts_until_it_is_acknowledged_across_the_wrap() {
        let mut holes = Holes::new(START);
        assert_eq!(holes.on_data(START, START + 100, signs(1)), Arrival::New);
        assert_eq!(holes.on_data(START + 400, START + 500, signs(2)), Arrival::New);
        assert_eq!(shape(&holes), [(100, 400, false)]);
        assert_eq!(holes.on_data(START + 200, START + 300, signs(9)), Arrival::Repair);
        assert_eq!(shape(&holes), [(100, 200, false), (200, 300, true), (300, 400, false)]);
        assert_eq!(holes.on_data(START + 100, START + 200, signs(9)), Arrival::Repair);
        assert_eq!(shape(&holes), [(100, 300, true), (300, 400, false)]);
        assert_eq!(holes.on_data(START + 250, START + 350, signs(9)), Arrival::Again);
        assert!(holes.as_slice().iter().all(|hole| hole.shown_by == Some(Seq(2))));
        holes.on_ack(START + 320);
        assert_eq!(shape(&holes), [(320, 350, true), (350, 400, false)]);
        holes.on_ack(START + 500);
        assert!(holes.is_empty() && holes.is_complete());
    }

    #[test]
    fn a_hole_that_does_not_fit_makes_the_list_incomplete_until_it_is_acknowledged() {
        let mut holes = Holes::new(START);
        for n in 1..=40 {
            holes.on_data(START + 200 * n, START + 200 * n + 100, signs(n));
        }
        assert!(!holes.is_complete() && holes.as_slice().len() == MAX_HOLES);
        holes.on_ack(holes.next());
        assert!(holes.is_complete());
    }

    proptest! {
        /// Compares the list with a table of octets.
        #[test]
        fn the_state_of_each_octet_is_known(
            steps in proptest::collection::vec((0u32..120, 1u32..20, any::<bool>()), 1..60)
        ) {
            let (mut holes, mut known, mut next, mut acked) = (Holes::new(START), [0u8; 200], 0u32, 0u32);
            for (seq, len, is_ack) in steps {
                if is_ack {
                    acked = acked.max(seq.min(next));
                    holes.on_ack(START + acked);
                    continue;
                }
                let end = seq + len;
                if end <= acked {
                    continue;
                }
                let is_new = seq >= next;
                let arrival = holes.on_data(START + seq, START + end, signs(seq));
                let all_missing = (seq..end).all(|octet| known[octet as usize] == 1 && octet >= acked);
                for octet in seq..end {
                    let octet = &mut known[octet as usize];
                    *octet = if *octet == 1 { 2 } else { (*octet).max(3 * u8::from(*octet == 0)) };
                }
                if is_new {
                    known[next as usize..seq as usize].fill(1);
                }
                next = next.max(end);
                if holes.is_complete() {
                    let expected = match (is_new, all_missing) {
                        (true, _) => Arrival::New,
                        (false, true) => Arrival::Repair,
                        (false, false) => Arrival::Again,
                    };
                    prop_assert_eq!(arrival, expected);
                    for octet in acked..next {
                        let at = START + octet;
                        let hole = holes.as_slice().iter().find(|hole| at.within(hole.seq, hole.end));
                        let of_hole = hole.map_or(3, |hole| 1 + u8::from(hole.is_repaired));
                        prop_assert_eq!(of_hole, known[octet as usize], "{}", octet);
                    }
                }
                prop_assert_eq!(holes.bounded(), Some(holes));
            }
        }
    }
}
