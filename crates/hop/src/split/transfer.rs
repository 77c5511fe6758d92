//! Export and import of a pair's state.

use lasthop_agent::{Budget, Context, FlowState, ImportError, Scope, Side};
use lasthop_packet::FlowKey;
use lasthop_tcp::Snapshot;
use serde::{Deserialize, Serialize};

use super::knowledge::SavedKnowledge;
use super::rest::{Piece, SavedAwaited};
use super::sleep::{Entry, SavedPair};
use super::table::Splits;
use crate::transfer::{SIMULATED, export, import};

/// The version of [`Saved`]. It changes with the fields, their order or their meaning.
const VERSION: u8 = 9;

/// The most octets of memory for the data of a connection that comes: twice what it may take by new data. Its former agent
/// may have had more than that, because it had offered its windows before; it takes no new data until it has less.
const fn most_data(budget: Budget) -> usize {
    budget.octets_per_flow.saturating_mul(2)
}

/// The most octets of memory for the entries of a leg's outstanding segments.
const fn most_records(budget: Budget) -> usize {
    budget.octets_per_flow / 2
}

/// Whether a leg may be restored from this snapshot: its memory, in addition to the `taken` octets
/// of the connection, is within the bounds, and its data is not simulated among real hosts. This is
/// checked before anything is allocated.
pub fn check_snapshot(leg: &Snapshot, taken: usize, cx: &Context<'_>) -> Result<(), ImportError> {
    if cx.is_real() && leg.simulated() > 0 {
        return Err(SIMULATED);
    }
    let budget = cx.budget();
    if taken.saturating_add(leg.memory()) > most_data(budget) || leg.records() > most_records(budget) {
        return Err(ImportError::NoRoom("memory of a connection"));
    }
    Ok(())
}

/// A state of a connection.
#[derive(Serialize, Deserialize)]
enum Saved {
    /// All that the connection needs to continue, and how much follows.
    Pair(Box<SavedPair>, SavedAwaited),
    /// A piece of the data that follows it.
    Rest(Piece),
}

impl Splits {
    /// Tells the fixed hosts of these connections a window of zero, until another agent continues them.
    pub fn pause_fixed_hosts(&mut self, scope: Scope, cx: &mut Context<'_>) {
        for key in self.keys(scope) {
            let pair = self.pairs.peek_mut(key).and_then(Entry::awake_mut);
            let pair = pair.filter(|pair| !pair.is_passed_by());
            if let Some(packet) = pair.and_then(|pair| pair.core.pause_peer(cx.now())) {
                cx.send(Side::Core, packet);
            }
        }
    }

    /// Removes and returns the state of these connections: all that they need to continue, and then the data that can
    /// follow, first that of connections with little of it.
    pub fn export(&mut self, scheme: &'static str, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let (mut states, mut rests) = (Vec::new(), Vec::new());
        for key in self.keys(scope) {
            let pair = self.pairs.peek(key).and_then(Entry::awake);
            let awaited = pair.map_or_else(SavedAwaited::default, |pair| pair.awaited.save());
            let Some(mut saved) = self.save(key, cx) else { continue };
            let rest = if awaited.is_nothing() { saved.take_rest() } else { Vec::new() };
            let awaited = awaited.plus(Piece::octets(&rest, saved.awaited()));
            let simulated = saved.simulated();
            let state = export(scheme, VERSION, key, &Saved::Pair(Box::new(saved), awaited));
            states.extend(state.map(|state| FlowState { simulated, ..state }));
            let rest = rest.into_iter().filter_map(|piece| {
                let simulated = piece.simulated();
                let state = export(scheme, VERSION, key, &Saved::Rest(piece))?;
                Some(FlowState { simulated, may_follow: true, ..state })
            });
            rests.push(rest.collect::<Vec<_>>());
        }
        rests.sort_by_key(|rest| rest.iter().map(FlowState::len_with_payloads).sum::<u64>());
        states.extend(rests.into_iter().flatten());
        states
    }

    /// Resumes a connection from the state that another agent had, or continues it with the rest of its data.
    pub fn import(
        &mut self,
        scheme: &'static str,
        state: &FlowState,
        cx: &mut Context<'_>,
    ) -> Result<(), ImportError> {
        match import(state, scheme, VERSION, cx)? {
            Saved::Pair(saved, awaited) => self.import_pair(state.connection, (*saved, awaited), cx),
            Saved::Rest(rest) => self.import_rest(state.connection, rest, cx),
        }
    }

    /// Resets both ends of a connection that this state owes something, because no agent continues it.
    pub fn give_up(&self, scheme: &'static str, state: &FlowState, cx: &mut Context<'_>) {
        let Ok(Saved::Pair(saved, awaited)) = import(state, scheme, VERSION, cx) else { return };
        let most = most_records(cx.budget());
        if [&saved.core, &saved.radio].into_iter().flatten().any(|leg| leg.records() > most) {
            return;
        }
        let Ok(mut pair) = saved.wake(state.connection, self.legs(), cx.now()) else { return };
        pair.awaited = awaited.restore(cx.now());
        if !pair.is_free() {
            pair.reset_both(cx);
        }
    }

    fn import_pair(
        &mut self,
        key: FlowKey,
        (saved, awaited): (SavedPair, SavedAwaited),
        cx: &mut Context<'_>,
    ) -> Result<(), ImportError> {
        if self.has(key) {
            return Err(ImportError::Known);
        }
        let mut taken = awaited.memory();
        for leg in [&saved.core, &saved.radio].into_iter().flatten() {
            check_snapshot(leg, taken, cx)?;
            taken += leg.memory();
        }
        let hop = saved.hop;
        let mut pair = saved
            .wake(key, self.legs(), cx.now())
            .map_err(|_| ImportError::Malformed("no connection can be in this state"))?;
        pair.awaited = awaited.restore(cx.now());
        if pair.octets() > most_data(cx.budget()) {
            return Err(ImportError::NoRoom("memory of a connection"));
        }
        if !pair.is_free() {
            // The last ACKs may have been lost with the old access point's queue, and an end that waits for one would
            // time out.
            pair.core.acknowledge_again();
            pair.radio.acknowledge_again();
        }
        if !self.admit(key, pair, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        self.resume(key, hop, cx);
        Ok(())
    }

    fn import_rest(&mut self, key: FlowKey, rest: Piece, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let pair = self.pairs.peek_mut(key).and_then(Entry::awake_mut);
        let pair = pair.ok_or(ImportError::Malformed("no connection waits for it"))?;
        let (side, payload) = rest.take_for(|side| pair.to_come(side), cx)?;
        pair.on_rest(side, payload, cx.now());
        self.work(key, cx);
        Ok(())
    }
}

impl SavedPair {
    /// Takes the data that can follow later. Nothing is taken where packets may have bypassed the legs, or where the legs
    /// themselves wait for data.
    fn take_rest(&mut self) -> Vec<Piece> {
        match self.knowledge {
            SavedKnowledge::Complete if self.awaited() == [0; 2] => {
                Piece::take(&mut self.core, &mut self.radio)
            }
            _ => Vec::new(),
        }
    }

    /// Octets of the legs' outstanding data that follow.
    fn awaited(&self) -> [u64; 2] {
        [&self.core, &self.radio].map(|leg| leg.as_ref().map_or(0, Snapshot::awaited))
    }
}
