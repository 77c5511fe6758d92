//! The state of a connection as a value, which moves from one agent to another at a hand-off, a
//! reload or a restart.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_packet::{FlowKey, Packet};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::context::Context;
use crate::flow_table::FlowTable;

/// The transfer of an agent's connection state to another agent, and the end of an agent.
///
/// The default methods do nothing.
pub trait Transfer {
    /// The state of these connections is about to be exported, because their host has gone to another
    /// access point.
    fn prepare_export(&mut self, scope: Scope, cx: &mut Context<'_>) {
        let _ = (scope, cx);
    }

    /// Whether a packet that waits for a host that has gone to another access point is sent after it,
    /// over a way whose round trip takes `round_trip`. Otherwise it is dropped, as it should be if
    /// the agent's state has its data.
    fn sends_after(&mut self, packet: &Packet, round_trip: Duration, cx: &mut Context<'_>) -> bool {
        let _ = (packet, round_trip, cx);
        false
    }

    /// Removes the state of these connections from the agent, with the packets that it holds for
    /// them. It sends nothing.
    ///
    /// A connection may have several states, one after the other, of which those that may follow
    /// ([`FlowState::may_follow`]) have data that it does not need at once.
    ///
    /// The law: once another agent of the same scheme and settings has [imported](Transfer::import)
    /// all of it, at any moment, connections end as they would have ended; they may be slower for a
    /// while.
    fn export(&mut self, scope: Scope, cx: &mut Context<'_>) -> Vec<FlowState> {
        let _ = (scope, cx);
        Vec::new()
    }

    /// Continues a connection from a state that another agent of the scheme had. The states of a
    /// connection are imported in their order, with any time between them. They may come from a file
    /// or another machine, and are not trusted.
    fn import(&mut self, state: &FlowState, cx: &mut Context<'_>) -> Result<(), ImportError> {
        let _ = cx;
        Err(ImportError::OtherScheme(state.scheme.to_string()))
    }

    /// Tells both ends of a connection that it is over, if its state, which this agent has refused, has octets that were
    /// acknowledged and not delivered: no other agent continues it, and its ends would wait for them. The state is not
    /// trusted.
    fn give_up(&mut self, state: &FlowState, cx: &mut Context<'_>) {
        let _ = (state, cx);
    }

    /// The world was suspended for a while, or replaced by another: packets may have passed that
    /// the agent has not seen.
    fn on_return(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends all packets that it holds, in order, because it will not be called again or will be
    /// removed from the path.
    ///
    /// The law: afterwards [`crate::Accounts::held`] is 0, and the agent may be called as before.
    fn drain(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }

    /// Sends the packets that it holds for one connection, in order, and removes the connection,
    /// because the world no longer shows it to the agent. `connection` is its direction from the
    /// core side to the radio side. An unknown connection is ignored. Owed data is lost.
    fn release(&mut self, connection: FlowKey, cx: &mut Context<'_>) {
        let _ = (connection, cx);
    }
}

/// One agent's state of one connection.
///
/// The octets are encoded by the scheme. They begin with a version, contain no absolute times, and
/// are complete: an agent that imports them continues where the other stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowState {
    /// The index of the agent in a stack; 0 is the one nearest to the core side.
    pub layer: u8,
    /// The scheme, by its name in the catalog.
    pub scheme: Cow<'static, str>,
    /// The connection, by its direction from the core side to the radio side.
    pub connection: FlowKey,
    /// The state.
    pub octets: Vec<u8>,
    /// Octets of simulated payloads in it: a real state would be so much longer.
    #[serde(skip)]
    pub simulated: u64,
    /// Whether the connection continues without it, so that it may come later than the others.
    #[serde(skip)]
    pub may_follow: bool,
}

impl FlowState {
    /// A state of an agent of its own, without simulated payloads, that a connection needs to continue.
    pub const fn new(scheme: Cow<'static, str>, connection: FlowKey, octets: Vec<u8>) -> Self {
        Self { layer: 0, scheme, connection, octets, simulated: 0, may_follow: false }
    }

    /// Its length, in octets, as if all payloads were real.
    pub fn len_with_payloads(&self) -> u64 {
        self.octets.len() as u64 + self.simulated
    }
}

/// The connections whose state is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All connections.
    All,
    /// The connections of a host on the radio side.
    Host(IpAddr),
    /// One connection, by its direction from the core side to the radio side.
    Connection(FlowKey),
}

impl Scope {
    /// The connections in this scope among `flows`.
    pub fn connections<S>(self, flows: &FlowTable<S>) -> Vec<FlowKey> {
        match self {
            Self::All => flows.keys().collect(),
            Self::Host(host) => flows.keys().filter(|key| key.destination.0 == host).collect(),
            Self::Connection(one) => flows.peek(one).map(|_| one).into_iter().collect(),
        }
    }
}

/// Why an agent cannot continue from a state. The agent is then unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// It comes from an agent of another scheme.
    #[error("the state is from another scheme: {0:?}")]
    OtherScheme(String),
    /// Its version is unknown.
    #[error("the state has version {found}; expected version {known}")]
    Version {
        /// Its version.
        found: u8,
        /// The version that is read here.
        known: u8,
    },
    /// It is invalid.
    #[error("the state is malformed: {0}")]
    Malformed(&'static str),
    /// There is no room for it.
    #[error("no room for the state: {0}")]
    NoRoom(&'static str),
    /// The connection is known here already.
    #[error("the connection is already known")]
    Known,
}
