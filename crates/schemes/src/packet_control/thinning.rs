//! Which duplicate ACKs the sender gets (the formula for `nextDupAckToSend`, which is missing in
//! the text).

/// Duplicate ACKs that make a TCP sender retransmit (RFC 5681, section 3.2).
pub(super) const SENDERS_THRESHOLD: u32 = 3;

/// The count of duplicates at which the sender gets its `kth`, so that the receiver's
/// `threshold`-th is the sender's third; `threshold` is at least three.
///
/// The paper requires that duplicates are dropped evenly: of each `threshold`, its excess over
/// three. A threshold of 6 drops every second one. So the k-th passes with the first duplicate
/// whose count has reached k thirds of the threshold. It follows that:
///
/// - the third passes exactly at the threshold: of that many duplicates three pass, never fewer;
/// - at threshold 3 every duplicate passes;
/// - the distances between duplicates that pass differ by at most one;
/// - the first duplicate passes only at threshold 3.
pub(super) const fn leaves_at(kth: u32, threshold: u32) -> u32 {
    let thirds = kth as u64 * threshold as u64;
    let count = thirds.div_ceil(SENDERS_THRESHOLD as u64);
    // Far more duplicates than segments in a window.
    if count > u32::MAX as u64 { u32::MAX } else { count as u32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The counts of the duplicates that pass, of the first `most`.
    fn passing(threshold: u32, max: u32) -> Vec<u32> {
        (1..=max).map(|kth| leaves_at(kth, threshold)).take_while(|count| *count <= max).collect()
    }

    #[test]
    fn the_papers_examples_hold() {
        assert_eq!(passing(3, 7), [1, 2, 3, 4, 5, 6, 7], "as if there were no filter");
        assert_eq!(passing(6, 9), [2, 4, 6, 8], "every second one is dropped");
        assert_eq!(passing(9, 9), [3, 6, 9]);
        assert_eq!(passing(12, 12), [4, 8, 12]);
        assert_eq!(passing(4, 8), [2, 3, 4, 6, 7, 8]);
        assert_eq!(passing(5, 5), [2, 4, 5]);
    }

    proptest! {
        #[test]
        fn three_evenly_spaced_duplicates_pass_per_threshold(
            threshold in 3_u32..100_000
        ) {
            let counts = passing(threshold, threshold);
            prop_assert_eq!(counts.len(), 3);
            prop_assert_eq!(counts[2], threshold);
            let distances = [counts[0], counts[1] - counts[0], counts[2] - counts[1]];
            let (min, max) = (distances.iter().min().unwrap(), distances.iter().max().unwrap());
            prop_assert!(max - min <= 1);
        }

        #[test]
        fn a_higher_threshold_never_passes_more(threshold in 3_u32..1_000, max in 0_u32..5_000) {
            prop_assert!(passing(threshold + 1, max).len() <= passing(threshold, max).len());
        }
    }
}
