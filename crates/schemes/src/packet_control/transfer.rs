//! A connection's state as a value. The counts of repeated segments are left out: an ACK is
//! generated one repetition later.

use lasthop_agent::{Bypass, Context, FlowState, ImportError, Scope};
use lasthop_hop::plain_ack::PlainAck;
use lasthop_hop::transfer::{export, import};
use lasthop_packet::{FlowKey, PacketRecord, Seq};
use serde::{Deserialize, Serialize};

use super::agent::PacketControl;
use super::duplicates::Duplicates;
use super::flow::{Flow, Seen};
use super::lateness::SavedLateness;
use super::reports::Reports;
use super::scheme::SCHEME;

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 1;

/// The exported state of a flow.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    highest: Seq,
    segment: u32,
    fin: Option<Seq>,
    last_ack: Option<PacketRecord>,
    seen: Seen,
    duplicates: Duplicates,
    withholds: bool,
    reports: Reports,
    advertised: Option<(Seq, u16)>,
    lateness: SavedLateness,
}

impl PacketControl {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let keys = scope.connections(&self.flows);
        let states = keys.iter().filter_map(|key| {
            let mut flow = self.flows.remove(*key)?;
            if flow.limits.take().is_some() {
                cx.allow_bypass(Bypass { flow: *key, limits: None });
            }
            export(SCHEME.name, VERSION, *key, &SavedFlow::new(&flow, *key))
        });
        states.collect()
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        let flow = saved.flow(key)?;
        if self.flows.peek(key).is_some() {
            return Err(ImportError::Known);
        }
        let withholds = flow.withholds;
        if !self.admit(key, flow, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        if withholds {
            self.set_withholding_timer(key, cx);
        }
        Ok(())
    }
}

impl SavedFlow {
    fn new(flow: &Flow, key: FlowKey) -> Self {
        Self {
            highest: flow.highest,
            segment: flow.segment,
            fin: flow.fin,
            last_ack: flow.last_ack.map(|ack| ack.export(key)),
            seen: flow.seen,
            duplicates: flow.duplicates,
            withholds: flow.withholds,
            reports: flow.reports,
            advertised: flow.advertised,
            lateness: flow.lateness.save(),
        }
    }

    /// The flow, if this is a consistent state of one connection.
    fn flow(self, key: FlowKey) -> Result<Flow, ImportError> {
        let Self {
            highest,
            segment,
            fin,
            last_ack,
            seen,
            duplicates,
            withholds,
            reports,
            advertised,
            lateness,
        } = self;
        let flow = Flow {
            segment: segment.max(1),
            fin,
            last_ack: last_ack.map(|record| PlainAck::import(record, key)).transpose()?,
            seen,
            duplicates,
            withholds,
            reports,
            advertised,
            lateness: lateness.restore(),
            ..Flow::new(highest)
        };
        let numbers = [flow.fin, flow.acknowledged(), duplicates.recovery];
        let is_wrong = |number: &Seq| flow.is_another(*number, *number) || number.after(highest);
        let blocks = flow.reports.as_slice().iter().flat_map(|(left, right)| [left, right]);
        if numbers.iter().flatten().chain(blocks).any(is_wrong) {
            return Err(ImportError::Malformed("its numbers are too far apart"));
        }
        Ok(flow)
    }
}
