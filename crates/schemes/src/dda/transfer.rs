//! A connection's state as a value. The delay of held duplicates restarts.

use lasthop_agent::{Bypass, Context, FlowState, ImportError, Scope};
use lasthop_hop::plain_ack::PlainAck;
use lasthop_hop::transfer::{export, import};
use lasthop_packet::{PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::agent::Dda;
use super::flow::{Flow, MAX_HELD};
use super::scheme::SCHEME;

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 1;

/// The exported state of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    highest: Seq,
    last_ack: Option<PacketRecord>,
    duplicates: u32,
    held: u32,
    is_released: bool,
}

impl Dda {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let keys = scope.connections(&self.flows);
        let states = keys.into_iter().filter_map(|key| {
            let Flow { highest, last_ack, duplicates, held, is_released, limits } = self.flows.remove(key)?;
            if limits.is_some() {
                cx.allow_bypass(Bypass { flow: key, limits: None });
            }
            let last_ack = last_ack.map(|ack| ack.export(self.of_data(key)));
            let saved = SavedFlow { highest, last_ack, duplicates, held, is_released };
            export(SCHEME.name, VERSION, key, &saved)
        });
        states.collect()
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        let SavedFlow { highest, last_ack, duplicates, held, is_released } = saved;
        let last_ack = last_ack.map(|record| PlainAck::import(record, self.of_data(key))).transpose()?;
        let flow = Flow { last_ack, duplicates, held, is_released, ..Flow::new(highest) };
        let is_wrong = |last_ack: PlainAck| flow.is_another(last_ack.ack) || last_ack.ack.after(highest);
        if last_ack.is_some_and(is_wrong)
            || held > duplicates.min(MAX_HELD)
            || (held > 0 && last_ack.is_none())
        {
            return Err(ImportError::Malformed("its numbers are inconsistent"));
        }
        if self.flows.peek(key).is_some() {
            return Err(ImportError::Known);
        }
        if self.admit(key, flow, cx) { Ok(()) } else { Err(ImportError::NoRoom("connections")) }
    }
}
