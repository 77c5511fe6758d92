//! A scenario after reading: checked, with every default filled in. Names have become indices.

mod change;
mod flow;
mod link;
mod measure;
mod node;
mod row;
mod session;
mod trial;
mod wlan;

use std::path::PathBuf;
use std::time::Duration;

use lasthop_agent::LinkSenses;
use lasthop_schemes::Role;
use lasthop_sim::Selection;

pub use change::{LinkChange, LinkInterval, Property};
pub use flow::{FlowModel, TcpModel, TransportModel};
pub use link::{Link, LinkModel};
pub use measure::Measure;
pub use node::NodeModel;
pub use row::SchemeChoice;
pub use session::{ActivityModel, SessionModel};
pub use trial::Trial;
pub use wlan::MTU;
pub use wlan::{Mobility, Placement, PowerSave, WlanModel, WlanStation};

/// A network, its traffic, and the schemes to run it under.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name, for reports.
    pub name: String,
    /// A description in a sentence or two; may be empty.
    pub description: String,
    /// The files that it was read from.
    pub files: Vec<PathBuf>,
    /// When a run ends at the latest.
    pub duration: Duration,
    /// The time at the start of a run that is left out of what is measured; shorter than `duration`.
    pub warm_up: Duration,
    /// Whether a run ends as soon as every flow with an end is done.
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
    /// Ways given by hand.
    pub routes: Vec<GivenRoute>,
    /// Traffic.
    pub flows: Vec<FlowModel>,
    /// Two-way traffic.
    pub sessions: Vec<SessionModel>,
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

impl Scenario {
    /// The link events that agents at the ends of a link can receive at all times. The link is given by
    /// its index.
    pub fn senses(&self, link: usize) -> LinkSenses {
        let later = self.changes.iter().filter(|change| change.link == link).map(|change| &change.model);
        let at_times = self.intervals.iter().filter(|of| of.link == link).map(|interval| &interval.within);
        let mut models = later.chain(at_times).chain([&self.links[link]]);
        let senses = self.links[link].link.senses();
        if models.all(|model| model.selection.is_everything()) { senses } else { senses - Selection::HIDES }
    }

    /// The role of a node in a scheme: the one in the scenario, or else the one that follows from its
    /// links.
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

    /// Whether a session is between hosts that are simulated in `lasthop try`.
    pub fn is_background_session(&self, session: &SessionModel) -> bool {
        [session.client, session.server].iter().all(|end| self.trial.simulated.contains(end))
    }

    /// Whether a link joins two nodes that are real hosts in `lasthop try`.
    pub fn joins_real_hosts(&self, link: &LinkModel) -> bool {
        ![link.ends.0, link.ends.1].iter().any(|end| self.trial.simulated.contains(end))
    }
}
