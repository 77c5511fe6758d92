//! Idle pairs: only state that cannot be learned again is kept.
//!
//! Most connections of an access point are idle. A pair whose legs have nothing to send, to time or
//! to wait for becomes two snapshots, some 600 octets, and resumes from them with the next packet.
//! The effect is that of a move to another agent and back: only estimates change.

use std::time::Duration;

use lasthop_agent::Obligation;
use lasthop_packet::{FlowKey, Instant};
use lasthop_tcp::{Config, Connection, Snapshot, Unusable};
use serde::{Deserialize, Serialize};

use super::account::Counted;
use super::knowledge::SavedKnowledge;
use super::pair::Pair;
use crate::last_hop::HopEstimate;

/// A pair without packets for this long goes to sleep.
pub(super) const SLEEPS_AFTER: Duration = Duration::from_secs(10);

/// A pair in the table.
pub(super) enum Entry {
    Awake(Box<Pair>),
    Asleep(Box<SavedPair>),
}

/// A pair as a value. A leg that has ended is `None`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedPair {
    pub(super) core: Option<Snapshot>,
    pub(super) radio: Option<Snapshot>,
    pub(super) keeps_numbers: bool,
    /// Whether the legs have seen all that the ends have exchanged.
    pub(super) knowledge: SavedKnowledge,
    pub(super) hop: Option<HopEstimate>,
    /// The missing leg ended with FINs in both directions.
    pub(super) has_ended_well: bool,
}

impl Entry {
    /// The pair, if it is awake.
    pub(super) fn awake(&self) -> Option<&Pair> {
        match self {
            Self::Awake(pair) => Some(pair),
            Self::Asleep(_) => None,
        }
    }

    /// The pair, mutably, if it is awake.
    pub(super) fn awake_mut(&mut self) -> Option<&mut Pair> {
        match self {
            Self::Awake(pair) => Some(pair),
            Self::Asleep(_) => None,
        }
    }

    /// The obligation to the ends.
    pub(super) fn obligation(&self) -> Obligation {
        match self {
            Self::Awake(pair) => pair.counted.owed,
            // Only pairs without octets at risk go to sleep.
            Self::Asleep(saved) if saved.keeps_numbers => Obligation::Free,
            Self::Asleep(_) => Obligation::Terminates(0),
        }
    }

    /// Memory and obligations, as last counted.
    pub(super) fn counted(&self) -> Counted {
        match self {
            Self::Awake(pair) => pair.counted,
            Self::Asleep(saved) => Counted { octets: saved.footprint(), backlog: 0, owed: self.obligation() },
        }
    }
}

impl SavedPair {
    /// Octets of memory in all.
    pub(super) fn footprint(&self) -> usize {
        let held: usize = [&self.core, &self.radio].into_iter().flatten().map(Snapshot::memory).sum();
        size_of::<Self>() + held
    }

    /// Octets of simulated streams.
    pub(super) fn simulated(&self) -> u64 {
        [&self.core, &self.radio].into_iter().flatten().map(Snapshot::simulated).sum()
    }

    /// A pair as a value.
    pub(super) fn new(pair: &mut Pair, hop: Option<HopEstimate>, now: Instant) -> Self {
        pair.empty_closed_leg();
        Self {
            has_ended_well: [&pair.core, &pair.radio].into_iter().any(super::pair::has_ended_well),
            core: pair.core.snapshot(now),
            radio: pair.radio.snapshot(now),
            keeps_numbers: pair.keeps_numbers(),
            knowledge: pair.knowledge.save(),
            hop,
        }
    }

    /// Restores the pair. `connection` is its direction from the core side to the radio side.
    ///
    /// # Errors
    ///
    /// If its legs do not belong to this connection, or are in an impossible state.
    pub(super) fn wake(
        self,
        connection: FlowKey,
        (core, radio): (Config, Config),
        now: Instant,
    ) -> Result<Pair, Unusable> {
        let leg = |config: Config, snapshot: Option<Snapshot>, ends: FlowKey| match snapshot {
            None if self.has_ended_well => Ok(Connection::ended(config, ends.destination, ends.source)),
            None => Ok(Connection::closed(config, ends.destination, ends.source)),
            Some(snapshot) if snapshot.local() == ends.destination && snapshot.remote() == ends.source => {
                Connection::restore(config, snapshot, now)
            }
            Some(_) => Err(Unusable),
        };
        let core = leg(core, self.core, connection)?;
        let radio = leg(radio, self.radio, connection.reversed())?;
        let mut pair = if self.keeps_numbers {
            Pair::in_the_ends_numbers(core, radio)
        } else {
            Pair::in_own_numbers(core, radio)
        };
        if self.keeps_numbers {
            pair.knowledge = self.knowledge.restore(now);
        }
        Ok(pair)
    }
}
