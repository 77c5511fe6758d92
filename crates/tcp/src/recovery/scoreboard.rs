//! The data that the receiver has reported as received (RFC 6675, sections 3 and 4).

use lasthop_packet::Seq;

use super::loss_recovery::DUPLICATE_ACK_THRESHOLD;

/// The blocks above SND.UNA that the receiver holds, in order; no two are adjacent.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    blocks: Vec<(Seq, Seq)>,
    /// All unreported data below it counts as lost; None if no data does.
    lost_before: Option<Seq>,
}

impl Scoreboard {
    /// Octets of heap memory in use.
    pub const fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<(Seq, Seq)>()
    }

    /// Adds the blocks of an ACK; it ignores blocks outside `una` to `max` (the report of a
    /// duplicate, or an invalid one). Returns whether any octet is new.
    ///
    //= RFC 6675, section 4: Update ().
    pub fn update(&mut self, blocks: &[(Seq, Seq)], una: Seq, max: Seq, mss: u32) -> bool {
        self.forget_before(una);
        let mut has_new = false;
        for &(left, right) in blocks {
            // By distance from SND.UNA: the order of sequence numbers is not transitive.
            let (from, to) = (left - una, right - una);
            let is_valid = 0 < from && from < to && to <= max - una;
            if is_valid && !self.covers(left, right) {
                self.insert(left, right);
                has_new = true;
            }
        }
        if has_new {
            self.lost_before = self.find_lost(mss);
        }
        has_new
    }

    /// Removes the blocks below `una`.
    pub fn forget_before(&mut self, una: Seq) {
        let acked = self.blocks.iter().take_while(|(_, right)| !right.after(una)).count();
        if acked > 0 {
            self.blocks.drain(..acked);
        }
        if let Some((left, _)) = self.blocks.first_mut() {
            *left = left.later(una);
        }
        if self.lost_before.is_some_and(|lost| !lost.after(una)) {
            self.lost_before = None;
        }
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.lost_before = None;
    }

    fn covers(&self, left: Seq, right: Seq) -> bool {
        let at = self.blocks.partition_point(|block| block.1.before(right));
        self.blocks.get(at).is_some_and(|block| !block.0.after(left))
    }

    fn insert(&mut self, left: Seq, right: Seq) {
        let from = self.blocks.partition_point(|block| block.1.before(left));
        let to = self.blocks.partition_point(|block| !block.0.after(right));
        if from == to {
            self.blocks.insert(from, (left, right));
            return;
        }
        let merged = (left.earlier(self.blocks[from].0), right.later(self.blocks[to - 1].1));
        self.blocks[from] = merged;
        self.blocks.drain(from + 1..to);
    }

    //= RFC 6675, section 4: IsLost (): DupThresh blocks, or more than DupThresh - 1 segments' worth of octets, lie above.
    fn find_lost(&self, mss: u32) -> Option<Seq> {
        let mut octets = 0u32;
        for (count, (left, right)) in (1..).zip(self.blocks.iter().rev()) {
            octets = octets.saturating_add(*right - *left);
            if count >= DUPLICATE_ACK_THRESHOLD || octets > (DUPLICATE_ACK_THRESHOLD - 1) * mss {
                return Some(*left);
            }
        }
        None
    }

    /// Whether the unreported octet at `seq` counts as lost.
    pub fn is_lost(&self, seq: Seq) -> bool {
        self.lost_before.is_some_and(|lost| seq.before(lost))
    }

    /// Number of reported octets from `from` to `to`.
    pub fn reported(&self, from: Seq, to: Seq) -> u32 {
        self.blocks
            .iter()
            .map(|(left, right)| (left.later(from), right.earlier(to)))
            .filter(|(left, right)| left.before(*right))
            .map(|(left, right)| right - left)
            .sum()
    }

    /// Number of octets between `una` and `max` that are still in the network, if all missing ones
    /// below `retransmitted` were sent a second time.
    ///
    //= RFC 6675, section 4: SetPipe (): an octet that is not reported counts unless it is lost, and once more if it was retransmitted.
    pub fn pipe(&self, una: Seq, max: Seq, retransmitted: Seq) -> u32 {
        let missing =
            |from: Seq, to: Seq| if from.before(to) { to - from - self.reported(from, to) } else { 0 };
        let not_lost = missing(self.lost_before.map_or(una, |lost| lost.later(una)), max);
        not_lost + missing(una, retransmitted.earlier(max))
    }

    /// The first unreported range from `from` on, limited to `max`.
    pub fn missing_from(&self, from: Seq, max: Seq) -> (Seq, Seq) {
        let mut start = from;
        for &(left, right) in &self.blocks {
            if start.before(left) {
                return (start, left.earlier(max));
            }
            start = start.later(right);
        }
        (start.earlier(max), max)
    }

    /// The last unreported range between `una` and `max`.
    pub fn last_missing(&self, una: Seq, max: Seq) -> Option<(Seq, Seq)> {
        let mut end = max;
        for &(left, right) in self.blocks.iter().rev() {
            if right.before(end) {
                return Some((right, end));
            }
            end = left;
        }
        una.before(end).then_some((una, end))
    }

    /// The end of the highest block.
    pub fn highest(&self) -> Option<Seq> {
        self.blocks.last().map(|(_, right)| *right)
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether it has no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

#[cfg(test)]
mod tests;
