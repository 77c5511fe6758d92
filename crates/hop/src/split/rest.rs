//! The data of a pair that follows its state to another agent.
//!
//! A pair that moves continues at the other agent as soon as that has its legs and their outstanding data. All other data in
//! the stores of the two directions, which may be far more, follows in a second state. Until it has come, nothing passes
//! through the store of its direction: data that arrives meanwhile belongs behind it. If it does not come, the
//! connection is reset, because it is owed.

use std::time::Duration;

use lasthop_agent::{Context, ImportError, Side};
use lasthop_packet::{Instant, Payload};
use lasthop_tcp::Snapshot;
use serde::{Deserialize, Serialize};

use super::pair::Pair;
use crate::transfer::SIMULATED;

/// How long a pair waits for the rest of its data.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Fewer octets of a direction do not follow later, but with the state.
const MIN_OCTETS: u64 = 8 << 10;

/// Octets that follow, towards the core side and the radio side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedAwaited([u64; 2]);

/// The data that follows, towards the core side and the radio side.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rest([Vec<Payload>; 2]);

/// What a pair waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    octets: SavedAwaited,
    since: Instant,
}

impl SavedAwaited {
    /// Whether nothing follows.
    pub(super) fn is_nothing(self) -> bool {
        self.0 == [0; 2]
    }

    /// Octets of memory that what follows will take, with its records.
    pub(super) const fn memory(self) -> usize {
        let [core, radio] = self.0;
        let octets = core.saturating_add(radio);
        octets.saturating_add(octets / 2) as usize
    }

    pub(super) const fn restore(self, now: Instant) -> Awaited {
        Awaited { octets: self, since: now }
    }
}

impl Default for Awaited {
    fn default() -> Self {
        SavedAwaited::default().restore(Instant::ZERO)
    }
}

impl Awaited {
    /// Octets that follow in this direction.
    pub(super) const fn towards(self, side: Side) -> u64 {
        self.octets.0[side as usize]
    }

    pub(super) const fn save(self) -> SavedAwaited {
        self.octets
    }

    /// When the wait ends; `None` if nothing follows.
    pub(super) fn deadline(self) -> Option<Instant> {
        (!self.octets.is_nothing()).then(|| self.since + LONGEST_WAIT)
    }
}

impl Rest {
    /// Takes from the legs, towards the core side and the radio side, what can follow later. Nothing is taken from a
    /// connection of which a leg has ended.
    pub(super) fn take(core: &mut Option<Snapshot>, radio: &mut Option<Snapshot>) -> Self {
        let (Some(core), Some(radio)) = (core, radio) else { return Self::default() };
        let towards_core = take_store(radio, core);
        Self([towards_core, take_store(core, radio)])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// Octets of simulated streams.
    pub(super) fn simulated(&self) -> u64 {
        let simulated = self.0.iter().flatten().filter(|payload| payload.is_simulated());
        simulated.map(|payload| payload.len() as u64).sum()
    }

    /// Octets of each direction.
    pub(super) fn octets(&self) -> SavedAwaited {
        SavedAwaited([0, 1].map(|index| {
            let octets = self.0[index].iter().map(|payload| payload.len() as u64);
            octets.fold(0, u64::saturating_add)
        }))
    }
}

/// The data between two legs that the second one has not sent yet, in order.
fn take_store(from: &mut Snapshot, to: &mut Snapshot) -> Vec<Payload> {
    if from.unread() + to.unsent() < MIN_OCTETS {
        return Vec::new();
    }
    let mut rest = to.take_unsent();
    rest.extend(from.take_unread());
    rest
}

impl Pair {
    /// Continues with the rest of the data.
    pub(super) fn on_rest(&mut self, rest: Rest, cx: &Context<'_>) -> Result<(), ImportError> {
        if rest.octets() != self.awaited.octets {
            return Err(ImportError::Malformed("it is not the rest of this connection's data"));
        }
        if cx.is_real() && rest.simulated() > 0 {
            return Err(SIMULATED);
        }
        self.awaited = Awaited::default();
        for (side, payloads) in [Side::Core, Side::Radio].into_iter().zip(rest.0) {
            for payload in payloads {
                self.leg_mut(side).write(payload);
            }
        }
        Ok(())
    }
}
