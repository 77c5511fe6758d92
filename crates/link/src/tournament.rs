//! The largest of many keys that change.

/// Keys, each in a place of its own: a tournament, in which of two the larger goes on (D. E. Knuth,
/// The Art of Computer Programming, volume 3, section 5.2.3). A key that changes plays again, as often
/// as the tree is high.
#[derive(Debug)]
pub(crate) struct Tournament<K> {
    /// A binary tree: the root at 1, below node `i` nodes `2i` and `2i + 1`, in the last row the places.
    nodes: Vec<Option<(K, u32)>>,
}

impl<K> Default for Tournament<K> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<K: Copy + Ord> Tournament<K> {
    /// The place of the largest key.
    pub(crate) fn winner(&self) -> Option<u32> {
        self.nodes.get(1)?.map(|(_, place)| place)
    }

    /// Sets the key of a place, or removes it.
    pub(crate) fn set(&mut self, place: u32, key: Option<K>) {
        while self.places() <= place as usize {
            self.grow();
        }
        let mut node = self.places() + place as usize;
        self.nodes[node] = key.map(|key| (key, place));
        while node > 1 {
            node /= 2;
            let winner = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
            if self.nodes[node] == winner {
                break;
            }
            self.nodes[node] = winner;
        }
    }

    fn places(&self) -> usize {
        self.nodes.len() / 2
    }

    #[cold]
    fn grow(&mut self) {
        let keys = self.nodes.split_off(self.places());
        self.nodes = vec![None; (4 * keys.len()).max(2)];
        for (key, place) in keys.into_iter().flatten() {
            self.set(place, Some(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_winner_has_the_largest_key(
            changes in proptest::collection::vec((0_u32..40, proptest::option::of(0_u8..20)), 1..200),
        ) {
            let mut tournament = Tournament::default();
            let mut keys = [None; 40];
            for (place, key) in changes {
                tournament.set(place, key);
                keys[place as usize] = key;
                let winner = tournament.winner();
                prop_assert_eq!(winner.and_then(|place| keys[place as usize]), keys.into_iter().max().flatten());
            }
        }
    }
}
