//! Openings and pairs as values for another agent.

use lasthop_agent::{Context, FlowState, ImportError, Scope, Side};
use lasthop_hop::split::check_snapshot;
use lasthop_hop::transfer::{export, import, segment};
use lasthop_packet::{FlowKey, Instant, PacketRecord, TcpFlags};
use lasthop_tcp::{Config, Connection, Snapshot};
use serde::{Deserialize, Serialize};

use super::agent::Itcp;
use super::opening::Opening;
use super::scheme::SCHEME;

/// The version of [`SavedOpening`], which also distinguishes it from a pair.
const VERSION: u8 = 105;

/// The exported state of a connection that is being opened.
#[derive(Debug, Serialize, Deserialize)]
struct SavedOpening {
    is_from_core: bool,
    onward: Snapshot,
    syn: PacketRecord,
}

impl Itcp {
    pub(super) fn export_all(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = self.splits.export(SCHEME.name, scope, cx);
        for key in scope.connections(&self.openings) {
            let opening = self.openings.remove(key);
            states.extend(opening.and_then(|opening| save(&opening, key, cx.now())));
        }
        states
    }

    pub(super) fn import_one(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        if state.octets.first() != Some(&VERSION) {
            return self.splits.import(SCHEME.name, state, cx);
        }
        let key = state.connection;
        let opening = restore(state, self.settings.leg(), cx)?;
        if self.openings.peek(key).is_some() || self.splits.has(key) {
            return Err(ImportError::Known);
        }
        if !self.admit(key, opening, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        self.follow(key, cx);
        Ok(())
    }

    /// A connection that is being opened owes nothing: its opener tries again.
    pub(super) fn give_up_one(&self, state: &FlowState, cx: &mut Context<'_>) {
        self.splits.give_up(SCHEME.name, state, cx);
    }
}

fn save(opening: &Opening, key: FlowKey, now: Instant) -> Option<FlowState> {
    let onward = opening.onward.snapshot(now)?;
    let syn = PacketRecord::from(&opening.syn);
    export(
        SCHEME.name,
        VERSION,
        key,
        &SavedOpening { is_from_core: opening.opener == Side::Core, onward, syn },
    )
}

fn restore(state: &FlowState, config: Config, cx: &Context<'_>) -> Result<Opening, ImportError> {
    let saved: SavedOpening = import(state, SCHEME.name, VERSION, cx)?;
    let opener = if saved.is_from_core { Side::Core } else { Side::Radio };
    let flow = opener.connection(state.connection);
    let syn = segment(saved.syn, flow, cx)?;
    let is_syn = syn.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN));
    let is_onward = saved.onward.local() == flow.source && saved.onward.remote() == flow.destination;
    if !is_syn || !is_onward {
        return Err(ImportError::Malformed("the connection is not being opened"));
    }
    check_snapshot(&saved.onward, 0, cx)?;
    let onward = Connection::restore(config, saved.onward, cx.now())
        .map_err(|_| ImportError::Malformed("no connection can be in this state"))?;
    Ok(Opening { opener, onward, syn, answer: None })
}
