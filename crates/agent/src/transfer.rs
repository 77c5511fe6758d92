//! The state of a connection as a value: it moves from one agent to another at a hand-off, a reload
//! or a restart.

use std::borrow::Cow;
use std::net::IpAddr;

use lasthop_packet::FlowKey;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::context::Context;
use crate::flow_table::FlowTable;

/// How an agent's state of connections moves to another agent, and how it ends.
///
/// The methods do nothing unless the agent says otherwise.
pub trait Transfer {
    /// Removes the state of these connections from the agent, with the packets that it holds of
    /// them. It sends nothing.
    ///
    /// The law: once another agent of the same scheme and settings has
    /// [imported](Transfer::import) all of it, at any moment, connections end as they would have
    /// ended; they may be slower for a while.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let _ = (scope, cx);
        Vec::new()
    }

    /// Continues a connection from the state that another agent of the scheme had of it. The state
    /// may come from a file or another machine: it may be anything.
    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let _ = cx;
        Err(ImportError::OtherScheme(state.scheme.to_string()))
    }

    /// The world was away for a while, or another was in its place: packets may have passed that the
    /// agent has not seen.
    fn on_return(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends everything that it holds, in order, because it will not be called again or is to be
    /// taken out of the path.
    ///
    /// The law: afterwards [`crate::Accounts::held`] is 0, and the agent may be called as before.
    fn drain(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends what it holds of one connection, in order, and forgets the connection, because the
    /// world no longer shows it to the agent. `connection` is its direction from the core side to
    /// the radio side. An unknown connection is ignored. What the agent owes of it is lost.
    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        let _ = (connection, cx);
    }
}

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
pub enum Scope {
    /// All connections.
    All,
    /// Those of a host on the radio side.
    Host(IpAddr),
    /// One connection, by its direction from the core side to the radio side.
    Connection(FlowKey),
}

impl Scope {
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
