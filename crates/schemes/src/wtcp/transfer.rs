//! A connection's state as a value: that of local recovery, under the scheme's own name. The
//! sender's clock, and the last ACK and window to the mobile host, are learned again.

use lasthop_agent::{Context, FlowState, ImportError, Scope, Transfer as _};

use super::Wtcp;
use super::scheme::SCHEME;
use crate::snoop;

impl Wtcp {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = self.local.export(scope, cx);
        for state in &mut states {
            state.scheme = SCHEME.name.into();
            self.flows.remove(state.connection);
        }
        states
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        if state.scheme != SCHEME.name {
            return Err(ImportError::OtherScheme(state.scheme.to_string()));
        }
        let local = FlowState { scheme: snoop::SCHEME.name.into(), ..state.clone() };
        self.local.import(&local, cx)?;
        self.follow(state.connection, cx.budget(), cx.now());
        Ok(())
    }
}
