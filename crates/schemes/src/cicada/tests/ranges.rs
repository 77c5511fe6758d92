//! A record of seen octets.

/// Ranges of numbers, `[from, to)`, sorted and disjoint.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    pub fn add(&mut self, from: u32, to: u32) {
        if from >= to {
            return;
        }
        let (mut from, mut to) = (from, to);
        self.0.retain(|known| {
            let is_apart = known.1 < from || known.0 > to;
            if !is_apart {
                (from, to) = (from.min(known.0), to.max(known.1));
            }
            is_apart
        });
        let at = self.0.partition_point(|known| known.0 < from);
        self.0.insert(at, (from, to));
    }

    pub fn has(&self, from: u32, to: u32) -> bool {
        self.0.iter().any(|known| known.0 <= from && to <= known.1)
    }

    /// The end of the contiguous range from 0 on.
    pub fn prefix(&self) -> u32 {
        self.0.first().filter(|known| known.0 == 0).map_or(0, |known| known.1)
    }
}

#[test]
fn ranges_that_touch_become_one() {
    let mut ranges = Ranges::default();
    for (from, to) in [(5, 7), (0, 2), (9, 12), (7, 9), (2, 3)] {
        ranges.add(from, to);
    }
    assert_eq!((ranges.prefix(), ranges.has(5, 12), ranges.has(3, 5)), (3, true, false));
}
