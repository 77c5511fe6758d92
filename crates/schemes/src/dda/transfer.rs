//! A connection's state as a value. The delay of what is held begins again.

use lasthop_agent::{Bypass, Context, FlowState, ImportError, Scope};
use lasthop_hop::plain_ack::PlainAck;
use lasthop_hop::transfer::{export, import};
use lasthop_packet::{PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::agent::Dda;
use super::flow::{Flow, MOST_HELD};
use super::scheme::SCHEME;

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning takes
/// another.
const VERSION: u8 = 1;

/// What is exported of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    highest: Seq,
    said: Option<PacketRecord>,
    duplicates: u32,
    held: u32,
    is_told: bool,
}

impl Dda {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let keys = scope.of(&self.flows);
        let states = keys.into_iter().filter_map(|key| {
            let Flow { highest, said, duplicates, held, is_told, limits } = self.flows.remove(key)?;
            if limits.is_some() {
                cx.allow_bypass(Bypass { flow: key, limits: None });
            }
            let said = said.map(|ack| ack.export(self.of_data(key)));
            let saved = SavedFlow { highest, said, duplicates, held, is_told };
            export(SCHEME.name, VERSION, key, &saved)
        });
        states.collect()
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        let SavedFlow { highest, said, duplicates, held, is_told } = saved;
        let said = said.map(|record| PlainAck::import(record, self.of_data(key))).transpose()?;
        let flow = Flow { said, duplicates, held, is_told, ..Flow::new(highest) };
        let is_wrong = |said: PlainAck| flow.is_another(said.ack) || said.ack.after(highest);
        if said.is_some_and(is_wrong) || held > duplicates.min(MOST_HELD) || (held > 0 && said.is_none()) {
            return Err(ImportError::Malformed("its numbers are inconsistent"));
        }
        if self.flows.peek(key).is_some() {
            return Err(ImportError::Known);
        }
        if self.admit(key, flow, cx) { Ok(()) } else { Err(ImportError::NoRoom("connections")) }
    }
}
