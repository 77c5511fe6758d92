//! A scenario after reading: checked, with every default filled in. Names have become indices.

mod row;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_schemes::Role;
use lasthop_sim::aodv::AodvConfig;
use lasthop_sim::mobility::RandomWaypoint;
use lasthop_sim::wifi::{ErrorConfig, Position, StationConfig, WlanConfig};
use lasthop_sim::{Application, NodeKind, Opening, WiredConfig, WirelessConfig};

pub use row::SchemeChoice;

/// A network, its traffic, and the schemes to run it under.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, for reports.
    pub name: String,
    /// What it is about, in a sentence or two; may be empty.
    pub description: String,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
    /// When a run ends at the latest.
    pub duration: Duration,
    /// Whether a run ends as soon as every flow with an end is done.
    pub stop_when_done: bool,
    /// Nodes.
    pub nodes: Vec<NodeModel>,
    /// Links, those of IEEE 802.11 cells among them.
    pub links: Vec<LinkModel>,
    /// IEEE 802.11 cells.
    pub wlans: Vec<WlanModel>,
    /// Ways given by hand.
    pub routes: Vec<GivenRoute>,
    /// Traffic.
    pub flows: Vec<FlowModel>,
    /// Schemes to compare, in the order of the table's rows; never empty.
    pub schemes: Vec<SchemeChoice>,
    /// The index in `schemes` of the one that the others are compared with.
    pub baseline: usize,
    /// Seeds; a run for each; never empty.
    pub seeds: Vec<u64>,
    /// The time series to write where the user asks for files.
    pub measure: Vec<Measure>,
    /// How the flows run between real hosts.
    pub trial: Trial,
}

/// How `lasthop try` runs a scenario's flows between real hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Congestion controls of the hosts' kernel to run each flow with; never empty.
    pub congestion: Vec<String>,
    /// How long a flow runs at most, its settling included.
    pub duration: Duration,
    /// How much of the start of a flow without a size does not count; less than `duration`.
    pub settle: Duration,
    /// Settings of the hosts' kernels: paths below `/proc/sys/net`, and what to write there.
    pub sysctl: Vec<(String, String)>,
    /// Indices of the nodes that are no real hosts: they and the flows between them stay in the
    /// model, as background.
    pub simulated: BTreeSet<usize>,
}

/// A time series.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// A sender's congestion window and slow start threshold, after each change.
    Window,
    /// A sender's round-trip times and retransmission time-out, after each measurement.
    Rtt,
    /// Sequence and acknowledgment numbers that a flow's endpoints send and receive.
    Sequence,
    /// The length of each link direction's queue, each time that a packet comes to it.
    Queue,
    /// The state of each wireless channel, after each change.
    Channel,
    /// Transmissions of frames on wireless links, and their fates.
    Frames,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            congestion: vec!["cubic".to_owned()],
            duration: Duration::from_secs(12),
            settle: Duration::from_secs(2),
            sysctl: Vec::new(),
            simulated: BTreeSet::new(),
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeModel {
    /// Its name.
    pub name: String,
    /// What it does with packets.
    pub kind: NodeKind,
    /// What it is to a scheme; `None` lets its links decide ([`Scenario::role`]).
    pub role: Option<Role>,
    /// Time that it takes to forward a packet.
    pub processing_delay: Duration,
    /// Octets that may wait in all its interfaces together.
    pub buffer: Option<u64>,
    /// Where its radio stands.
    pub position: Position,
}

impl NodeModel {
    /// What it is to a scheme, if it has links of these kinds.
    fn role_with(&self, wireless: bool, wired: bool) -> Role {
        self.role.unwrap_or(match (self.kind, wireless, wired) {
            (NodeKind::Host | NodeKind::External, true, _) => Role::MobileHost,
            (NodeKind::Host | NodeKind::External, false, _) => Role::FixedHost,
            (NodeKind::Router, true, false) => Role::Relay,
            (NodeKind::Router, true, true) => Role::Edge,
            (NodeKind::Router, false, _) => Role::Router,
        })
    }
}

/// A link between two nodes.
#[derive(Clone, Debug)]
pub struct LinkModel {
    /// Indices of the nodes that it joins; "forward" is from the first to the second.
    pub ends: (usize, usize),
    /// What kind of link.
    pub link: Link,
}

/// The kinds of links.
#[derive(Clone, Debug)]
pub enum Link {
    /// A wired link.
    Wired(WiredConfig),
    /// A wireless link. Links with the same `cell` share a medium; without one a link is full
    /// duplex.
    Wireless {
        /// Its parameters; `config.medium` is filled in when the world is built.
        config: WirelessConfig,
        /// The cell whose medium it shares.
        cell: Option<String>,
    },
    /// A link between two stations of an IEEE 802.11 cell.
    Radio {
        /// Its name: the cell's and the stations', with dots between them.
        name: String,
        /// Index of its cell in [`Scenario::wlans`].
        wlan: usize,
    },
}

impl Link {
    /// Whether it is one for schemes: wireless, whatever the model.
    pub const fn is_wireless(&self) -> bool {
        !matches!(self, Self::Wired(_))
    }

    /// What agents at its ends can see of it.
    pub const fn senses(&self) -> LinkSenses {
        match self {
            Self::Wired(_) => WiredConfig::SENSES,
            Self::Wireless { config, .. } => config.senses(),
            Self::Radio { .. } => WlanConfig::SENSES,
        }
    }

    /// Whether it joins two stations of this cell, an index in [`Scenario::wlans`].
    pub const fn is_of_cell(&self, cell: usize) -> bool {
        matches!(self, Self::Radio { wlan, .. } if *wlan == cell)
    }
}

/// An IEEE 802.11 cell. Its links are among [`Scenario::links`].
#[derive(Clone, Debug)]
pub struct WlanModel {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub config: WlanConfig,
    /// Its stations; an access point is the first of them.
    pub stations: Vec<WlanStation>,
    /// Directions with errors of their own: indices in `stations` from, to.
    pub errors: Vec<(usize, usize, ErrorConfig)>,
    /// How its stations look for routes; `None`: shortest paths, or an access point. With it any
    /// two stations have a link.
    pub routing: Option<AodvConfig>,
    /// Where its stations stand at first, instead of where `stations` says.
    pub placement: Option<Placement>,
    /// How its stations move.
    pub mobility: Option<Mobility>,
}

/// Stations stand anywhere at first, by the seed.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// The corner of the area that is farthest east and north, from one at 0, 0.
    pub area: Position,
    /// Two stations, indices in [`WlanModel::stations`], and how many hops the shortest way between
    /// them is to have.
    pub apart: Option<(usize, usize, usize)>,
}

/// Stations move.
#[derive(Clone, Debug)]
pub struct Mobility {
    /// How they walk.
    pub model: RandomWaypoint,
    /// Indices in [`WlanModel::stations`] of those that do.
    pub walkers: Vec<usize>,
}

/// Packets at a node for a destination go to a neighbour, whatever the shortest way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenRoute {
    /// Index of the node.
    pub node: usize,
    /// Index of the destination.
    pub destination: usize,
    /// Index of the link to take.
    pub link: usize,
}

/// A node's radio in a cell.
#[derive(Clone, Debug)]
pub struct WlanStation {
    /// Index of the node.
    pub node: usize,
    /// Its parameters.
    pub config: StationConfig,
}

impl LinkModel {
    /// The link's name.
    pub fn name(&self) -> &str {
        match &self.link {
            Link::Wired(config) => &config.name,
            Link::Wireless { config, .. } => &config.name,
            Link::Radio { name, .. } => name,
        }
    }
}

/// A flow: an application and what carries it.
#[derive(Clone, Debug)]
pub struct FlowModel {
    /// Its name.
    pub name: String,
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// When it starts.
    pub start: Duration,
    /// When the application stops writing.
    pub stop: Option<Duration>,
    /// What there is to send.
    pub application: Application,
    /// What carries it.
    pub transport: TransportModel,
}

/// What carries a flow.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one a flow, and most flows are TCP's")]
pub enum TransportModel {
    /// A connection.
    Tcp(TcpModel),
    /// Datagrams, one for each message of the application.
    Udp,
}

/// A flow's connection.
#[derive(Clone, Debug)]
pub struct TcpModel {
    /// How it begins.
    pub opening: Opening,
    /// The sending endpoint.
    pub sender: lasthop_tcp::Config,
    /// The receiving endpoint.
    pub receiver: lasthop_tcp::Config,
}

impl FlowModel {
    /// Octets to send in all; without end if `None`.
    pub const fn size(&self) -> Option<u64> {
        self.application.size()
    }

    /// Its connection, if TCP carries it.
    pub const fn tcp(&self) -> Option<&TcpModel> {
        match &self.transport {
            TransportModel::Tcp(tcp) => Some(tcp),
            TransportModel::Udp => None,
        }
    }
}

impl Scenario {
    /// What a node is to a scheme: what the scenario says, or else what follows from its links.
    pub fn role(&self, node: usize) -> Role {
        let joins = |wireless: bool| {
            self.links
                .iter()
                .filter(|link| link.ends.0 == node || link.ends.1 == node)
                .any(|link| link.link.is_wireless() == wireless)
        };
        self.nodes[node].role_with(joins(true), joins(false))
    }

    /// What each node is to a scheme.
    pub(crate) fn roles(&self) -> Vec<Role> {
        let mut joins = vec![(false, false); self.nodes.len()];
        for link in &self.links {
            for end in [link.ends.0, link.ends.1] {
                let (wireless, wired) = &mut joins[end];
                *if link.link.is_wireless() { wireless } else { wired } = true;
            }
        }
        self.nodes
            .iter()
            .zip(joins)
            .map(|(node, (wireless, wired))| node.role_with(wireless, wired))
            .collect()
    }

    /// Leaves out the flows that `keep` does not want, with what rows of the comparison have for
    /// them.
    pub fn keep_flows(&mut self, keep: impl Fn(usize, &FlowModel) -> bool) {
        let kept: Vec<bool> = self.flows.iter().enumerate().map(|(index, flow)| keep(index, flow)).collect();
        let mut of_flows = kept.iter();
        self.flows.retain(|_| of_flows.next().is_some_and(|kept| *kept));
        for scheme in &mut self.schemes {
            scheme.keep_flows(&kept);
        }
    }

    /// Whether a flow is between hosts that are simulated in `lasthop try`: background.
    pub fn is_background(&self, flow: &FlowModel) -> bool {
        self.trial.simulated.contains(&flow.from) && self.trial.simulated.contains(&flow.to)
    }

    /// Whether a link joins two nodes that are real hosts in `lasthop try`.
    pub fn joins_real_hosts(&self, link: &LinkModel) -> bool {
        ![link.ends.0, link.ends.1].iter().any(|end| self.trial.simulated.contains(end))
    }
}
