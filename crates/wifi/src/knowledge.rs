//! Which neighbors of a station understand options in frames, as far as it knows.

use lasthop_packet::Instant;

use crate::frame::StationId;

/// Whether a station understands options in frames, and what it knows of its neighbors.
#[derive(Debug, Default)]
pub(crate) struct OptionsKnowledge {
    knows: bool,
    neighbors: Vec<Knowledge>,
}

/// What a station knows of a neighbor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Knowledge {
    /// Nothing: the next frame with options is a trial.
    #[default]
    Untried,
    /// It has acknowledged a frame with options.
    Knows,
    /// It did not acknowledge one, and is not tried before this time.
    FallBack(Instant),
}

impl OptionsKnowledge {
    pub(crate) const fn new(knows: bool) -> Self {
        Self { knows, neighbors: Vec::new() }
    }

    /// Whether the station itself understands options.
    pub(crate) const fn knows(&self) -> bool {
        self.knows
    }

    pub(crate) const fn set_knows(&mut self, knows: bool) {
        self.knows = knows;
    }

    /// Whether a frame to a neighbor is sent with options.
    pub(crate) fn may_send(&self, to: StationId, now: Instant) -> bool {
        let is_told =
            !matches!(self.neighbors.get(to.index()), Some(Knowledge::FallBack(until)) if now < *until);
        self.knows && is_told
    }

    /// What the station knows of a neighbor.
    pub(crate) fn of(&mut self, to: StationId) -> &mut Knowledge {
        if self.neighbors.len() <= to.index() {
            self.neighbors.resize(to.index() + 1, Knowledge::Untried);
        }
        &mut self.neighbors[to.index()]
    }
}
