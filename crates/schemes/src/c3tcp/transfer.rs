//! A connection's complete state as a value. Measurements keep their age.

use lasthop_agent::{Context, FlowState, ImportError, Scope};
use lasthop_hop::handshake::Scale;
use lasthop_hop::transfer::{Away, export, import};
use lasthop_packet::{Instant, Seq};
use serde::{Deserialize, Serialize};

use super::agent::C3tcp;
use super::flow::Flow;
use super::receiver::Echo;
use super::scheme::SCHEME;
use super::window::{Measured, PathWindow};

/// The version of [`SavedFlow`]. A change of its fields, their order or their meaning needs a new
/// one.
const VERSION: u8 = 3;

/// The exported state of a connection.
#[derive(Debug, Serialize, Deserialize)]
struct SavedFlow {
    opening: Option<Seq>,
    core_scale: Scale,
    radio_scale: Scale,
    segment: u32,
    echo: Echo,
    path: Option<SavedPath>,
}

/// Octets per second, microseconds, and the time of the measurement.
#[derive(Debug, Serialize, Deserialize)]
struct SavedPath {
    bandwidth: u64,
    delay: u64,
    at: Away,
}

impl SavedFlow {
    fn new(flow: Flow, now: Instant) -> Self {
        let Flow { opening, core_scale, radio_scale, segment, echo, path } = flow;
        let path = path.measured.map(|Measured { bandwidth, delay, at }| SavedPath {
            bandwidth,
            delay,
            at: Away::from(at, now),
        });
        Self { opening, core_scale, radio_scale, segment, echo, path }
    }

    fn restored(self, now: Instant) -> Flow {
        // Imported values are neither from the future nor larger than options allow.
        let measured = self.path.map(|SavedPath { bandwidth, delay, at }| Measured {
            bandwidth: bandwidth.min(u64::from(u32::MAX)),
            delay: delay.min(2 * u64::from(u32::MAX)),
            at: at.to(now).min(now),
        });
        Flow {
            opening: self.opening,
            core_scale: self.core_scale.bounded(),
            radio_scale: self.radio_scale.bounded(),
            segment: self.segment,
            echo: self.echo,
            path: PathWindow { measured },
        }
    }
}

impl C3tcp {
    pub(super) fn export_flows(&mut self, scope: Scope, cx: &Context<'_>) -> Vec<FlowState> {
        let keys = scope.connections(&self.flows);
        let states = keys.into_iter().filter_map(|key| {
            let flow = self.flows.remove(key)?;
            export(SCHEME.name, VERSION, key, &SavedFlow::new(flow, cx.now()))
        });
        states.collect()
    }

    pub(super) fn import_flow(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let saved: SavedFlow = import(state, SCHEME.name, VERSION, cx)?;
        if !saved.echo.is_possible() {
            return Err(ImportError::Malformed("a hop has a bandwidth of zero"));
        }
        if self.flows.peek(state.connection).is_some() {
            return Err(ImportError::Known);
        }
        let flow = saved.restored(cx.now());
        if self.admit(state.connection, flow, cx) { Ok(()) } else { Err(ImportError::NoRoom("connections")) }
    }
}
