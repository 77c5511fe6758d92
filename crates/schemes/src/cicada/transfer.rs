//! Pairs as values for another agent. A handshake under way is left out: its connection passes.

use lasthop_agent::{Context, FlowState, ImportError, Whose};

use super::agent::Cicada;
use super::scheme::SCHEME;

impl Cicada {
    pub(super) fn export_all(&mut self, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        self.connections.splits.export(SCHEME.name, whose, cx)
    }

    pub(super) fn import_one(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        self.connections.splits.import(SCHEME.name, state, cx)
    }
}
