//! The state of one of the two layers, wrapped as a state of this scheme.

use lasthop_agent::{Context, FlowState, ImportError};
use lasthop_hop::transfer::{export, import};
use serde::{Deserialize, Serialize};

use super::settings::NAME;

/// The version of [`Saved`].
const VERSION: u8 = 1;

/// The layers of an edge's agent.
#[derive(Clone, Copy)]
pub(super) enum Layer {
    Split,
    Acks,
}

/// The exported state of a connection in one layer.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    layer: u8,
    octets: Vec<u8>,
}

/// Wraps a layer's state as a state of this scheme.
pub(super) fn wrap(layer: Layer, state: FlowState) -> Option<FlowState> {
    let FlowState { simulated, may_follow, connection, octets, .. } = state;
    let wrapped = export(NAME, VERSION, connection, &Saved { layer: layer as u8, octets })?;
    Some(FlowState { simulated, may_follow, ..wrapped })
}

/// The layer of a state of this scheme, and that layer's state.
pub(super) fn unwrap(state: &FlowState, cx: &Context<'_>) -> Result<(Layer, FlowState), ImportError> {
    let Saved { layer, octets } = import(state, NAME, VERSION, cx)?;
    let (layer, scheme) = match layer {
        0 => (Layer::Split, NAME),
        1 => (Layer::Acks, crate::lle::SCHEME.name),
        _ => return Err(ImportError::Malformed("unknown layer")),
    };
    Ok((layer, FlowState::new(scheme.into(), state.connection, octets)))
}
