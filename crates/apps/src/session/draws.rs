//! Where a session's randomness comes from.

use lasthop_packet::Rng;

/// A session's streams of randomness: what it draws depends on the run's seed and on its place and
/// name in the scenario, and on nothing else. In every world it has the same pages and the same
/// talkspurts.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    /// The run's seed.
    pub seed: u64,
    /// How many sessions the scenario has before it.
    pub index: usize,
    /// Its name.
    pub name: &'a str,
}

impl Draws<'_> {
    /// What its dialogue draws from: sizes and times.
    pub fn script(&self) -> Rng {
        self.stream("script")
    }

    /// What all that is numbered starts at.
    pub fn numbers(&self) -> Rng {
        self.stream("numbers")
    }

    /// What a side's source of packets draws from.
    pub fn media(&self, side: usize) -> Rng {
        self.stream(&format!("media {side}"))
    }

    /// What decides when a side reports.
    pub fn reports(&self, side: usize) -> Rng {
        self.stream(&format!("reports {side}"))
    }

    fn stream(&self, of: &str) -> Rng {
        let Self { seed, index, name } = self;
        Rng::named(*seed, &format!("session {index} {name} {of}"))
    }
}
