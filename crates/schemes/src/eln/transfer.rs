//! A connection's state as a value: its holes, and the current recovery. The delay of the hop is
//! measured again; until then losses may be congestion.

use lasthop_agent::{Context, FlowState, ImportError, Scope};
use lasthop_hop::transfer::{export, import};
use lasthop_hop::upload::holes::Holes;
use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

use super::agent::Eln;
use super::flow::ElnFlow;
use super::recovery::SavedRecovery;
use super::scheme::SCHEME;

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 2;

/// The exported state of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    holes: Holes,
    acknowledged: Option<Seq>,
    recovery: SavedRecovery,
}

impl Eln {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let keys = scope.connections(&self.flows);
        let states = keys.into_iter().filter_map(|key| {
            let flow = self.flows.remove(key)?;
            let ElnFlow { holes, acknowledged, recovery, .. } = flow;
            let recovery = SavedRecovery::new(recovery, cx.now());
            export(SCHEME.name, VERSION, key, &SavedFlow { holes, acknowledged, recovery })
        });
        states.collect()
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        let holes = saved.holes.bounded().ok_or(ImportError::Malformed("its holes are not in order"))?;
        if self.flows.peek(state.connection).is_some() {
            return Err(ImportError::Known);
        }
        let SavedFlow { acknowledged, recovery, .. } = saved;
        let recovery = recovery.restored(cx.now());
        let unknown = ElnFlow::new(holes.next(), &self.settings);
        let flow = ElnFlow { holes, acknowledged, recovery, ..unknown };
        if self.admit(state.connection, flow, cx) { Ok(()) } else { Err(ImportError::NoRoom("connections")) }
    }
}
