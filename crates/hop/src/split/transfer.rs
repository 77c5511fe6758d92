//! Export and import of a pair's state.

use lasthop_agent::{Context, FlowState, ImportError, Scope};
use lasthop_tcp::Snapshot;

use super::sleep::SavedPair;
use super::table::Splits;
use crate::transfer::{SIMULATED, export, import};

/// The version of [`SavedPair`]. It changes with the fields, their order or their meaning.
const VERSION: u8 = 7;

/// Whether a leg may be restored from this snapshot: its memory, in addition to the `taken` octets
/// of the connection, is within the budget, and its data is not simulated among real hosts. This is
/// checked before anything is allocated.
pub fn check_snapshot(leg: &Snapshot, taken: usize, cx: &Context<'_>) -> Result<(), ImportError> {
    if cx.is_real() && leg.is_simulated() {
        return Err(SIMULATED);
    }
    if taken.saturating_add(leg.memory()) > cx.budget().octets_per_flow {
        return Err(ImportError::NoRoom("memory of a connection"));
    }
    Ok(())
}

impl Splits {
    /// Removes and returns the state of these connections.
    pub fn export(&mut self, scheme: &'static str, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = Vec::new();
        for key in self.keys(scope) {
            let saved = self.save(key, cx);
            states.extend(saved.and_then(|saved| export(scheme, VERSION, key, &saved)));
        }
        states
    }

    /// Resumes a connection from the state that another agent had.
    pub fn import(
        &mut self,
        scheme: &'static str,
        state: &FlowState,
        cx: &mut Context<'_>,
    ) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedPair = import(state, scheme, VERSION, cx)?;
        if self.has(key) {
            return Err(ImportError::Known);
        }
        let mut taken = 0;
        for leg in [&saved.core, &saved.radio].into_iter().flatten() {
            check_snapshot(leg, taken, cx)?;
            taken += leg.memory();
        }
        let hop = saved.hop;
        let pair = saved
            .wake(key, self.legs(), cx.now())
            .map_err(|_| ImportError::Malformed("no connection can be in this state"))?;
        if pair.octets() > cx.budget().octets_per_flow {
            return Err(ImportError::NoRoom("memory of a connection"));
        }
        if !self.admit(key, pair, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        self.resume(key, hop, cx);
        Ok(())
    }
}
