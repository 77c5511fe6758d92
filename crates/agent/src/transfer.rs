//! The state of a connection as a value: it moves from one agent to another at a hand-off, a reload
//! or a restart.

use std::borrow::Cow;
use std::net::IpAddr;

use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::flow_table::FlowTable;

/// What one agent knows of one connection.
///
/// The octets have a form of the scheme's own. It begins with a version, refers to no clock but by
/// the time that has passed, and says everything that the connection needs: an agent that imports
/// it goes on where the other stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowState {
    /// Which agent of a stack it comes from, the one nearest to the core side first, from 0.
    pub layer: u8,
    /// The scheme, by its name in the catalogue.
    pub scheme: Cow<'static, str>,
    /// The connection, by its direction from the core side to the radio side.
    pub connection: FlowKey,
    /// The state.
    pub octets: Vec<u8>,
}

/// Whose state is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// All connections.
    All,
    /// Those of a host on the radio side.
    Host(IpAddr),
    /// One connection, by its direction from the core side to the radio side.
    Connection(FlowKey),
}

impl Whose {
    /// Which of these connections are meant.
    pub fn of<S>(self, flows: &FlowTable<S>) -> Vec<FlowKey> {
        match self {
            Self::All => flows.keys().collect(),
            Self::Host(host) => flows.keys().filter(|key| key.destination.0 == host).collect(),
            Self::Connection(one) => flows.peek(one).map(|_| one).into_iter().collect(),
        }
    }
}

/// Why an agent cannot go on from a state. It is then as if it had never been shown it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// It comes from an agent of another scheme.
    #[error("the state is from another scheme: {0:?}")]
    OtherScheme(String),
    /// It is in a form that is not known here.
    #[error("the state has version {found}; expected version {known}")]
    Version {
        /// Its version.
        found: u8,
        /// The version that is read here.
        known: u8,
    },
    /// It does not make sense.
    #[error("the state is malformed: {0}")]
    Malformed(&'static str),
    /// There is no room for it.
    #[error("no room for the state: {0}")]
    NoRoom(&'static str),
    /// The connection is known here already.
    #[error("the connection is already known")]
    Known,
}
