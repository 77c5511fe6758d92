//! SACK blocks (RFC 2018, RFC 2883).

use lasthop_packet::Seq;

/// The blocks of the last report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReportedBlocks {
    blocks: [Option<(Seq, Seq)>; 4],
}

impl ReportedBlocks {
    /// Records the block at this place.
    pub(super) fn record(&mut self, place: usize, left: Seq, right: Seq) {
        if let Some(block) = self.blocks.get_mut(place) {
            *block = Some((left, right));
        }
    }

    /// The part of a block that they do not cover: a block may have grown at either end.
    pub(super) fn news(&self, left: Seq, right: Seq) -> (Seq, Seq) {
        for &(known_left, known_right) in self.blocks.iter().flatten() {
            if !left.before(known_left) && !right.after(known_right) {
                return (right, right);
            }
            if left == known_left && right.after(known_right) {
                return (known_right, right);
            }
            if right == known_right && left.before(known_left) {
                return (left, known_left);
            }
        }
        (left, right)
    }
}

/// The range that the receiver got twice: the first block, if it lies below the acknowledgment number or
/// within the second block.
///
//= RFC 2883, section 4: a first block before the acknowledgment number, or covered by the second block, is a D-SACK.
pub(super) fn duplicate(ack: Seq, blocks: &[(Seq, Seq)]) -> Option<(Seq, Seq)> {
    let &(left, right) = blocks.first()?;
    let is_known =
        !right.after(ack) || blocks.get(1).is_some_and(|(from, to)| !left.before(*from) && !right.after(*to));
    (is_known && left.before(right)).then_some((left, right))
}
