//! A pair as a value: both legs, and what is known of the hop.

use lasthop_agent::{Context, FlowState, ImportError, Whose};
use lasthop_packet::FlowKey;
use lasthop_tcp::{Config, Connection, Snapshot};
use serde::{Deserialize, Serialize};

use super::pair::Pair;
use super::table::Splits;
use crate::last_hop::HopEstimate;
use crate::transfer::{export, import};

/// The version of [`SavedPair`]. A change of its fields, their order or their meaning takes
/// another.
const VERSION: u8 = 1;

/// What is exported of a pair. A leg that has ended is not there any more.
#[derive(Debug, Serialize, Deserialize)]
struct SavedPair {
    core: Option<Snapshot>,
    radio: Option<Snapshot>,
    keeps_numbers: bool,
    hop: Option<HopEstimate>,
}

impl Splits {
    /// Takes the state of these connections out.
    pub fn export(&mut self, scheme: &'static str, whose: Whose, cx: &mut Context<'_>) -> Vec<FlowState> {
        let mut states = Vec::new();
        for key in self.keys(whose) {
            let hop = self.hop_of(key);
            let Some(pair) = self.take(key, cx) else { continue };
            let (core, radio) = (pair.core.snapshot(cx.now()), pair.radio.snapshot(cx.now()));
            states.extend(export(
                scheme,
                VERSION,
                key,
                &SavedPair { core, radio, keeps_numbers: pair.keeps_numbers(), hop },
            ));
        }
        states
    }

    /// Goes on with a connection from the state that another agent had of it.
    pub fn import(
        &mut self,
        scheme: &'static str,
        state: &FlowState,
        configs: (Config, Config),
        cx: &mut Context<'_>,
    ) -> Result<(), ImportError> {
        let key = state.connection;
        let saved: SavedPair = import(state, scheme, VERSION)?;
        if self.pair(key).is_some() {
            return Err(ImportError::Known);
        }
        let leg = |config: Config, snapshot: Option<Snapshot>, ends: FlowKey| {
            let Some(snapshot) = snapshot else {
                return Ok(Connection::closed(config, ends.destination, ends.source));
            };
            if snapshot.local() != ends.destination || snapshot.remote() != ends.source {
                return Err(ImportError::Malformed("a leg is none of the connection's"));
            }
            Connection::restore(config, snapshot, cx.now())
                .map_err(|_| ImportError::Malformed("no connection can have been in that state"))
        };
        let core = leg(configs.0, saved.core, key)?;
        let radio = leg(configs.1, saved.radio, key.reversed())?;
        let pair = if saved.keeps_numbers {
            Pair::in_the_ends_numbers(core, radio)
        } else {
            Pair::in_own_numbers(core, radio)
        };
        if pair.octets() > cx.budget().octets_per_flow {
            return Err(ImportError::NoRoom("memory of a connection"));
        }
        if !self.begin(key, pair, cx) {
            return Err(ImportError::NoRoom("connections"));
        }
        self.go_on(key, saved.hop, cx);
        Ok(())
    }
}
