//! The reasons for which a scenario cannot run.

use lasthop_sim::world::AodvError;
use thiserror::Error;

use crate::model::{FlowModel, Scenario, SessionModel};

/// The reason for which a scenario cannot run under a scheme.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// An agent cannot work at its place.
    #[error(
        "scheme {scheme:?}{} cannot work at node {node:?} on link {link:?}: {problem}",
        with(.settings)
    )]
    Agent {
        /// The scheme.
        scheme: String,
        /// The settings that are the cause; empty if it is the scheme itself.
        settings: Vec<String>,
        /// The node.
        node: String,
        /// The link.
        link: String,
        /// What is missing.
        problem: &'static str,
    },
    /// A node cannot discover routes on demand.
    #[error("node {node:?}: {problem}")]
    OnDemand {
        /// The node.
        node: String,
        /// The reason.
        problem: AodvError,
    },
    /// Routing on demand in a cell of real hosts, whose kernels choose the routes.
    #[error("the stations of {wlan:?} discover routes on demand, which works with simulated nodes only")]
    RealHosts {
        /// The cell.
        wlan: String,
    },
    /// Clients of real hosts roam in a network of their own, of which the gateways have the only agents.
    #[error(
        "scheme {scheme:?}: clients roam among access points that {problem}, which works with simulated nodes only"
    )]
    Roaming {
        /// The cell.
        wlan: String,
        /// The scheme.
        scheme: String,
        /// What works with simulated nodes only.
        problem: &'static str,
    },
    /// Translation between real hosts, which are elsewhere in the network.
    #[error("node {node:?} translates addresses, which works with simulated nodes only")]
    Translation {
        /// The node.
        node: String,
    },
    /// A flow without a handshake across translation.
    #[error(
        "flow {flow:?} begins as an established connection, of which {node:?} on its way has no translation; expected \"handshake\""
    )]
    Established {
        /// The flow.
        flow: String,
        /// The node that translates.
        node: String,
    },
    /// Messages between an access point and the registry would be translated.
    #[error(
        "addresses are translated between {access_point:?} and {registry:?}; expected a node of the same site"
    )]
    RegistryOutside {
        /// The cell.
        wlan: String,
        /// The access point.
        access_point: String,
        /// The node of the registry.
        registry: String,
    },
    /// The central translator does not translate what an access point sends.
    #[error(
        "{access_point:?} is not inside of {central:?}; expected access points that the central translator has inside"
    )]
    NotInside {
        /// The cell.
        wlan: String,
        /// The access point.
        access_point: String,
        /// The node of the central translator.
        central: String,
    },
    /// Static routes form a loop.
    #[error(
        "packets at {node:?} for {destination:?} would loop; expected a route that reaches the destination"
    )]
    Circle {
        /// A node on the loop that has a static route.
        node: String,
        /// The destination that packets would never reach.
        destination: String,
    },
    /// No drawn placement had the required number of hops between two stations.
    #[error(
        "none of {draws} placements drawn with seed {seed} puts the two stations this many hops apart; change the hops, the area or the range"
    )]
    Placement {
        /// The cell.
        wlan: String,
        /// The seed.
        seed: u64,
        /// The number of draws.
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
