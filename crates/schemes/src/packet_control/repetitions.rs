//! How often the sender has repeated a segment (the paper's `m_iNumOfRtm`), in constant memory.

use lasthop_packet::Seq;

/// The number of counted segments. A sender repeats the first segment that it considers lost, after
/// each time-out, and perhaps the last one, as a probe (RFC 8985, section 7).
const SEGMENTS: usize = 4;

/// The latest acknowledged segments that the sender repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repetitions {
    counts: [(Seq, u32); SEGMENTS],
    /// The index of the oldest entry.
    oldest: u8,
}

impl Repetitions {
    /// Counts a repetition of the segment at `seq`. Returns its number, from 1.
    pub(super) fn count(&mut self, seq: Seq) -> u32 {
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, count)| *known == seq && *count > 0) {
            *count = count.saturating_add(1);
            return *count;
        }
        if let Some(place) = self.counts.get_mut(usize::from(self.oldest)) {
            *place = (seq, 1);
        }
        self.oldest = (self.oldest + 1) % SEGMENTS as u8;
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_counted_while_few_others_come_in_between() {
        let mut repetitions = Repetitions::default();
        let numbers = [0, 1, 0, 2, 3, 0, 4, 0, 1];
        let counts: Vec<u32> = numbers.iter().map(|seq| repetitions.count(Seq(*seq))).collect();
        assert_eq!(counts, [1, 1, 2, 1, 1, 3, 1, 1, 1]);
    }
}
