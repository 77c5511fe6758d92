//! A scenario after reading: checked, with indices instead of names and with every default filled
//! in.

mod change;
mod flow;
mod link;
mod nat;
mod row;
mod session;
mod wlan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_schemes::Role;
use lasthop_sim::{NodeKind, Selection};
use lasthop_wifi::Position;

pub use change::{LinkChange, LinkInterval, Property};
pub use flow::{FlowModel, TcpModel, TransportModel};
pub use link::{Link, LinkModel};
pub use nat::{NatModel, RoamingNat};
pub use row::SchemeChoice;
pub use session::{ActivityModel, SessionModel};
pub(crate) use wlan::Waiting;
pub use wlan::{
    MTU, Mobility, Placement, PowerSave, Program, ProgramSession, Roaming, Room, WlanModel, WlanStation,
};

/// A network, its traffic, and the schemes to run it under.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, for reports.
    pub name: String,
    /// A description in a sentence or two; may be empty.
    pub description: String,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
    /// The longest duration of a run.
    pub duration: Duration,
    /// The time at the start of a run that is left out of measurements; shorter than `duration`.
    pub warm_up: Duration,
    /// Whether a run ends as soon as every flow and session that has an end is done.
    pub stop_when_done: bool,
    /// Nodes.
    pub nodes: Vec<NodeModel>,
    /// Links, those of IEEE 802.11 cells among them.
    pub links: Vec<LinkModel>,
    /// Changes of links at given times, in order of time.
    pub changes: Vec<LinkChange>,
    /// Changes of links that end again.
    pub intervals: Vec<LinkInterval>,
    /// IEEE 802.11 cells.
    pub wlans: Vec<WlanModel>,
    /// Static routes.
    pub routes: Vec<GivenRoute>,
    /// Traffic.
    pub flows: Vec<FlowModel>,
    /// Dialogues, calls and videos.
    pub sessions: Vec<SessionModel>,
    /// Schemes to compare, in the order of the table's rows; never empty.
    pub schemes: Vec<SchemeChoice>,
    /// The index in `schemes` of the one that the others are compared with.
    pub baseline: usize,
    /// The seeds, one for each run of a scheme; never empty.
    pub seeds: Vec<u64>,
    /// The time series to write if the user asks for files.
    pub measure: Vec<Measure>,
    /// How the flows run between real hosts.
    pub trial: Trial,
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeModel {
    /// Its name.
    pub name: String,
    /// What it does with packets.
    pub kind: NodeKind,
    /// Its role in a scheme; `None` if its links imply the role ([`Scenario::role`]).
    pub role: Option<Role>,
    /// Time that it takes to forward a packet.
    pub processing_delay: Duration,
    /// Octets that may wait in all its interfaces together; `None` without a limit.
    pub buffer: Option<u64>,
    /// The position of its radio.
    pub position: Position,
    /// How it translates addresses; `None` if it does not.
    pub nat: Option<NatModel>,
}

/// A time series.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The congestion window and slow start threshold of a sender, after each change.
    Window,
    /// The round-trip times and retransmission time-out of a sender, after each measurement.
    Rtt,
    /// The sequence and acknowledgment numbers that the endpoints of a flow send and receive.
    Sequence,
    /// The queue length of each link direction, each time that a packet arrives.
    Queue,
    /// The state of each wireless channel, after each change.
    Channel,
    /// The transmissions of frames on wireless links, and the fate of each frame.
    Frames,
    /// The packets that are dropped or lost, with the cause.
    Drops,
}

/// How `lasthop try` runs a scenario's flows between real hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Whether the flows run all at once, and not one at a time.
    pub together: bool,
    /// Congestion controls of the hosts' kernel. For flows one at a time: each flow runs with each;
    /// never empty. For flows together: one for all, or one for each; if empty, each flow uses that
    /// of its own table `tcp`. Sessions use that of the run if there is one, otherwise their own.
    pub congestion: Vec<String>,
    /// The longest duration of a flow or session, including `settle`; from the last start of all
    /// that run together.
    pub duration: Duration,
    /// The time at the start of a flow without a size that is left out of its goodput; less than
    /// `duration`, and from the same moment on.
    pub settle: Duration,
    /// Settings of the hosts' kernels: paths below `/proc/sys/net`, and their values.
    pub sysctl: Vec<(String, String)>,
    /// Indices of the nodes that are not real hosts. They, and the flows between them, stay in the
    /// model, as background.
    pub simulated: BTreeSet<usize>,
    /// Who chooses the rates of data frames of the kernel's Wi-Fi.
    pub rate_control: RateControl,
    /// The time at which the gateways' processes are killed.
    pub gateway_crash: Option<Duration>,
    /// The kernels of nodes that do not have the run's, in simulated time: versions or paths, by the index of the node.
    pub kernels: BTreeMap<usize, String>,
}

/// Who chooses the rates of data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateControl {
    /// All have the rate of their cell.
    #[default]
    Fixed,
    /// The hosts' kernel.
    Kernel,
}

/// A static route: the link that packets for a destination take from a node. It takes precedence
/// over the shortest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenRoute {
    /// Index of the node.
    pub node: usize,
    /// Index of the destination.
    pub destination: usize,
    /// Index of the link to take.
    pub link: usize,
}

impl NodeModel {
    /// Its role in a scheme, with or without links of the two kinds.
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

impl Default for Trial {
    fn default() -> Self {
        Self {
            together: false,
            congestion: vec!["cubic".to_owned()],
            duration: Duration::from_secs(12),
            settle: Duration::from_secs(2),
            sysctl: Vec::new(),
            simulated: BTreeSet::new(),
            rate_control: RateControl::Fixed,
            gateway_crash: None,
            kernels: BTreeMap::new(),
        }
    }
}

impl Scenario {
    /// The link events that agents at the ends of the link with this index can receive throughout a
    /// run, with all its changes.
    pub fn senses(&self, link: usize) -> LinkSenses {
        let later = self.changes.iter().filter(|change| change.link == link).map(|change| &change.model);
        let at_times = self.intervals.iter().filter(|it| it.link == link).map(|interval| &interval.within);
        let mut models = later.chain(at_times).chain([&self.links[link]]);
        let senses = self.links[link].link.senses(&self.wlans);
        if models.all(|model| model.selection.is_everything()) { senses } else { senses - Selection::HIDES }
    }

    /// The role of a node in a scheme: its role in the scenario, by default the role that its links
    /// imply.
    pub fn role(&self, node: usize) -> Role {
        let joins = |wireless: bool| {
            self.links
                .iter()
                .filter(|link| link.ends.0 == node || link.ends.1 == node)
                .any(|link| link.link.is_wireless() == wireless)
        };
        self.nodes[node].role_with(joins(true), joins(false))
    }

    /// The role of each node in a scheme.
    pub(crate) fn roles(&self) -> Vec<Role> {
        let mut joins = vec![(false, false); self.nodes.len()];
        for link in &self.links {
            for end in [link.ends.0, link.ends.1] {
                let (wireless, wired) = &mut joins[end];
                *if link.link.is_wireless() { wireless } else { wired } = true;
            }
        }
        for access_point in self.wlans.iter().flat_map(WlanModel::access_points) {
            joins[access_point].0 = true;
        }
        self.nodes
            .iter()
            .zip(joins)
            .map(|(node, (wireless, wired))| node.role_with(wireless, wired))
            .collect()
    }

    /// Whether a node is an access point among several, or a client that roams among them.
    pub fn roams(&self, node: usize) -> bool {
        let cells = self.wlans.iter().filter(|cell| cell.roaming.is_some());
        cells.flat_map(|cell| &cell.stations).any(|station| station.node == node)
    }

    /// Keeps only the flows for which `keep`, called with the index of each, returns true. Removes
    /// the TCP settings of the others from the rows of the comparison.
    pub fn keep_flows(&mut self, keep: impl Fn(usize, &FlowModel) -> bool) {
        let kept: Vec<bool> = self.flows.iter().enumerate().map(|(index, flow)| keep(index, flow)).collect();
        let mut of_flows = kept.iter();
        self.flows.retain(|_| of_flows.next().is_some_and(|kept| *kept));
        for scheme in &mut self.schemes {
            scheme.keep_flows(&kept);
        }
    }

    /// Whether both ends of a flow are simulated in `lasthop try`.
    pub fn is_background(&self, flow: &FlowModel) -> bool {
        self.trial.simulated.contains(&flow.from) && self.trial.simulated.contains(&flow.to)
    }

    /// Whether both ends of a session are simulated in `lasthop try`.
    pub fn is_background_session(&self, session: &SessionModel) -> bool {
        [session.client, session.server].iter().all(|end| self.trial.simulated.contains(end))
    }

    /// Whether a station of a cell is simulated in `lasthop try`.
    pub fn has_simulated_stations(&self) -> bool {
        let mut stations = self.wlans.iter().flat_map(|cell| &cell.stations);
        stations.any(|station| self.trial.simulated.contains(&station.node))
    }

    /// Whether both ends of a link are real hosts in `lasthop try`.
    pub fn joins_real_hosts(&self, link: &LinkModel) -> bool {
        ![link.ends.0, link.ends.1].iter().any(|end| self.trial.simulated.contains(end))
    }
}
