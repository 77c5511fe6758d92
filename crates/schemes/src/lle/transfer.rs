//! A connection's state as a value: its window scaling, the promised data and the data acknowledged
//! in the receiver's name, the kept copies, and what is owed to the other end.

use lasthop_agent::{Accounts as _, Context, FlowState, ImportError, Room, Scope};
use lasthop_hop::transfer::{export, import};
use lasthop_packet::{FlowKey, Seq};
use serde::{Deserialize, Serialize};

use super::agent::Lle;
use super::confirming::SavedConfirming;
use super::control::SavedControl;
use super::flow::{LleFlow, Scale};
use super::receiver::Receiver;
use super::receiving::SavedReceiving;
use super::restoring::Restoring;
use super::scheme::SCHEME;

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 7;

/// The exported state of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    opening: Option<Seq>,
    core_scale: Scale,
    radio_scale: Scale,
    permit_sack: [bool; 2],
    is_left: bool,
    has_peer: bool,
    latest_value: Option<u32>,
    latest_ack: Option<(Seq, u16)>,
    receiver: Receiver,
    confirming: SavedConfirming,
    receiving: SavedReceiving,
    control: Option<SavedControl>,
}

impl Lle {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let states =
            scope.connections(&self.flows).into_iter().filter_map(|key| self.export_flow(key, cx)).collect();
        if scope == Scope::All {
            self.forget_neighbors();
        }
        states
    }

    fn export_flow(&mut self, key: FlowKey, cx: &mut Context<'_>) -> Option<FlowState> {
        let flow = self.flows.peek(key)?;
        let saved = SavedFlow {
            opening: flow.opening,
            core_scale: flow.core_scale,
            radio_scale: flow.radio_scale,
            permit_sack: flow.permit_sack,
            is_left: flow.is_left,
            has_peer: flow.has_peer,
            latest_value: flow.latest_value,
            latest_ack: flow.latest_ack,
            receiver: flow.receiver,
            confirming: flow.confirming.save(cx.now()),
            receiving: flow.receiving.save(cx.now()),
            control: flow.control.as_ref().map(|control| control.save(cx.now())),
        };
        let state = export(SCHEME.name, VERSION, key, &saved)?;
        self.discard(key);
        Some(state)
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        if self.flows.peek(key).is_some() {
            return Err(ImportError::Known);
        }
        let Room { of_flow, in_all, .. } = cx.budget().room(0, self.octets() + self.flows.cost_of_one());
        let mut restoring = Restoring::new(key, of_flow.min(in_all), cx);
        let flow = saved.restore(&mut restoring, self.settings.sender_buffer, cx)?;
        // Promised data must be kept, and repaired, here as well. Data that was acknowledged to a
        // local TCP is kept under any settings.
        if !self.settings.keep_until_proven && flow.confirming.owes() {
            return Err(ImportError::NoRoom("what was acknowledged would not be kept"));
        }
        if flow.control.as_ref().is_some_and(|control| !control.fits()) {
            return Err(ImportError::NoRoom("sender-buffer"));
        }
        if !self.begin(key, None, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        self.replace(key, flow, cx.budget());
        Ok(())
    }
}

impl SavedFlow {
    fn restore(
        self,
        restoring: &mut Restoring<'_, '_>,
        sender_buffer: usize,
        cx: &Context<'_>,
    ) -> Result<LleFlow, ImportError> {
        let now = cx.now();
        let confirming = self.confirming.restore(restoring, now)?;
        let receiving = self.receiving.restore(restoring.connection, now)?;
        let control =
            self.control.map(|control| control.restore(sender_buffer, restoring, now)).transpose()?;
        Ok(LleFlow {
            opening: self.opening,
            core_scale: self.core_scale.bounded(),
            radio_scale: self.radio_scale.bounded(),
            permit_sack: self.permit_sack,
            is_left: self.is_left,
            has_peer: self.has_peer,
            latest_value: self.latest_value,
            latest_ack: self.latest_ack,
            receiver: self.receiver,
            confirming,
            receiving,
            control: control.map(Box::new),
        })
    }
}
