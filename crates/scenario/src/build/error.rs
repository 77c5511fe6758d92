//! Why a scenario cannot run.

use lasthop_sim::world::AodvError;
use thiserror::Error;

use crate::model::{FlowModel, Scenario, SessionModel};

/// Why a scenario cannot run under a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// An agent cannot work where it would have to sit.
    #[error(
        "scheme {scheme:?}{} cannot work at node {node:?} on link {link:?}: {problem}",
        with(.settings)
    )]
    Agent {
        /// The scheme.
        scheme: String,
        /// The settings without which it could; none where the scheme itself cannot.
        settings: Vec<String>,
        /// The node.
        node: String,
        /// The link.
        link: String,
        /// What is missing.
        problem: &'static str,
    },
    /// A node cannot look for routes on demand.
    #[error("node {node:?}: {problem}")]
    OnDemand {
        /// The node.
        node: String,
        /// Why not.
        problem: AodvError,
    },
    /// The ways of real hosts are their kernels'.
    #[error("the stations of {wlan:?} discover routes on demand, which works with simulated nodes only")]
    RealHosts {
        /// The cell.
        wlan: String,
    },
    /// Ways given by hand lead back to where they began.
    #[error(
        "packets at {node:?} for {destination:?} would loop; expected a route that reaches the destination"
    )]
    Circle {
        /// A node on the circle, with a way given by hand.
        node: String,
        /// Where packets would never arrive.
        destination: String,
    },
    /// Stations were never so far apart as they are to be.
    #[error(
        "none of {draws} placements drawn with seed {seed} puts the two stations this many hops apart; change the hops, the area or the range"
    )]
    Placement {
        /// The cell.
        wlan: String,
        /// The seed.
        seed: u64,
        /// How often places were drawn.
        draws: u32,
    },
    /// A flow's ends are not connected.
    #[error("flow {flow:?}: no route from {from:?} to {to:?}")]
    NoRoute {
        /// The flow.
        flow: String,
        /// Its sender.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// A session's ends are not connected.
    #[error("session {session:?}: no route from {client:?} to {server:?} and back")]
    NoRouteForSession {
        /// The session.
        session: String,
        /// Its client.
        client: String,
        /// Its server.
        server: String,
    },
}

impl BuildError {
    /// The ends of this flow are not connected.
    pub(super) fn no_route(scenario: &Scenario, flow: &FlowModel) -> Self {
        Self::NoRoute {
            flow: flow.name.clone(),
            from: scenario.nodes[flow.from].name.clone(),
            to: scenario.nodes[flow.to].name.clone(),
        }
    }

    /// The ends of this session are not connected.
    pub(super) fn no_route_for_session(scenario: &Scenario, session: &SessionModel) -> Self {
        Self::NoRouteForSession {
            session: session.name.clone(),
            client: scenario.nodes[session.client].name.clone(),
            server: scenario.nodes[session.server].name.clone(),
        }
    }
}

fn with(settings: &[String]) -> String {
    if settings.is_empty() { String::new() } else { format!(" with {}", settings.join(" and ")) }
}
