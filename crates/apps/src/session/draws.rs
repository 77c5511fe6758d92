//! The random number generators of a session.

use lasthop_packet::Rng;

/// The random number streams of a session. They depend only on the run's seed and on the session's
/// place and name in the scenario, so that the session has the same pages and the same talkspurts
/// in every world.
#[derive(Clone, Copy, Debug)]
pub struct Draws<'a> {
    /// The run's seed.
    pub seed: u64,
    /// The number of sessions before it in the scenario.
    pub index: usize,
    /// The session's name.
    pub name: &'a str,
}

impl Draws<'_> {
    /// The stream for the sizes and times of its dialogue.
    pub fn script(&self) -> Rng {
        self.stream("script")
    }

    /// The stream for initial numbers, such as sequence numbers.
    pub fn numbers(&self) -> Rng {
        self.stream("numbers")
    }

    /// The stream for a side's source of packets.
    pub fn media(&self, side: usize) -> Rng {
        self.stream(&format!("media {side}"))
    }

    /// The stream for the intervals of a side's reports.
    pub fn reports(&self, side: usize) -> Rng {
        self.stream(&format!("reports {side}"))
    }

    fn stream(&self, of: &str) -> Rng {
        let Self { seed, index, name } = self;
        Rng::named(*seed, &format!("session {index} {name} {of}"))
    }
}
