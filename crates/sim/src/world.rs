//! The simulated world: its parts, and what leads from one to another.
//!
//! | part | what it owns |
//! |---|---|
//! | `transit` | the time, the events to come, the packets in transit, observers and counters |
//! | `network` | nodes, links, addresses, routes |
//! | `nodes` | packets inside of nodes |
//! | `links` | what takes packets out of nodes: a technology each for wired, wireless, 802.11 |
//! | `faults` | what links do to packets that they deliver |
//! | `selective` | the links that impair a part of the traffic |
//! | `cuts` | the links that reset or refuse TCP connections |
//! | `timeline` | changes of links to come |
//! | `movements` | how stations of cells move |
//! | `flows` | flows and their applications |
//! | `connections` | the endpoints of flows; they pass what arrives to `flows` |
//! | `sessions` | two-way applications: when they start, stop and are done |
//! | `calls`, `dialogues` | what sessions do; the connections of dialogues |
//! | `radios` | stations whose MAC is outside of the world |
//! | `service_sets` | access points and clients that roam between them |
//! | `roams` | where clients have gone, and how long it took |
//! | `hand_offs`, `tunnels` | agents' state on its way to another access point; the connections that carry it |
//! | `redirections` | clients that wait for the central translator |
//! | `seats` | agents |
//! | `ad_hoc` | nodes that look for their routes on demand |
//! | `translators` | nodes that translate addresses |
//!
//! Each part owns its fields, and none calls another but `transit`; only `connections` passes what arrives to
//! `flows`, packet by packet. What happens in one part and concerns another is a method of [`World`]: it calls
//! one part, and leads the result to the next.
//!
//! | file | what it leads from part to part |
//! |---|---|
//! | `run` | events to what they are for |
//! | `forward` | a packet from node to node: out of one, into the other, and to its end |
//! | `links` | what technologies tell: arrivals, fates, departures |
//! | `agents`, `options` | what agents see and send; what they attach to frames |
//! | `flows`, `sessions` | what applications and endpoints send and receive |
//! | `ad_hoc` | what waits for a route, and messages about routes |
//! | `radios` | whole frames into the world, and out of it |
//! | `roaming`, `announcements` | associations, to routes and links; where clients are, to nodes and real hosts |
//! | `hand_offs` | clients' states, from agent to agent; their mappings, from translator to translator |
//! | `translation`, `reach` | packets that a node translates; connections whose ends know each other by other addresses |
//! | `impairments`, `changes` | packets to what links do to them; changes to the links |
//! | `build`, `build_links`, `holdings` | making a world; what takes its memory |

mod ad_hoc;
mod agents;
mod announcements;
mod build;
mod build_links;
mod changes;
mod flows;
mod forward;
mod hand_offs;
mod holdings;
mod impairments;
mod links;
mod options;
mod radios;
mod reach;
mod roaming;
mod run;
mod sessions;
mod steering;
mod translation;

use std::net::IpAddr;

use lasthop_agent::{Owed, Tally};
use lasthop_packet::Instant;

use crate::accounts::Accounts;
use crate::ad_hoc::AdHoc;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::cut_links::CutLinks;
use crate::faults::FaultyLinks;
use crate::flows::Flows;
use crate::hand_offs::{Envelope, HandOffs};
use crate::id::{LinkId, NodeId};
use crate::links::Links;
use crate::mobility::Movements;
use crate::network::Network;
use crate::nodes::Nodes;
use crate::observe::Observer;
use crate::radios::Radios;
use crate::redirections::Redirections;
use crate::roams::Roams;
use crate::seats::Seats;
use crate::selective_links::SelectiveLinks;
use crate::service_sets::ServiceSets;
use crate::sessions::Sessions;
use crate::sessions::calls::Calls;
use crate::sessions::dialogues::Dialogues;
use crate::technology::Technology;
use crate::timeline::Timeline;
use crate::transit::Transit;
use crate::translation::Translators;
use crate::tunnels::Tunnels;
use crate::warm_up::WarmUp;

pub use crate::ad_hoc::{AodvError, aodv_address};
pub use crate::cells::RadioUse;
pub use crate::change::{Change, ChangeError, LinkDirection, PlannedChange, PlannedInterval};
pub use agents::MESSAGE_PORT;
pub use build::{AttachError, RouteError};
pub use holdings::Holding;

/// A simulated network.
///
/// Add nodes, then links, then agents and flows; then [`World::run`], or drive it from outside with
/// [`World::inject`], [`World::advance_to`] and [`World::collect`].
pub struct World {
    seed: u64,
    transit: Transit,
    network: Network,
    nodes: Nodes,
    links: Links,
    faults: FaultyLinks,
    selective: SelectiveLinks,
    cuts: CutLinks,
    timeline: Timeline,
    movements: Movements,
    flows: Flows,
    connections: Connections,
    sessions: Sessions,
    calls: Calls,
    dialogues: Dialogues,
    radios: Radios,
    service_sets: ServiceSets,
    hand_offs: HandOffs,
    roams: Roams,
    tunnels: Tunnels<Envelope>,
    redirections: Redirections,
    seats: Seats,
    ad_hoc: AdHoc,
    translators: Translators,
    /// Whether a run ends when everything with an end is done.
    stops_when_done: bool,
    /// The outcomes so far when measuring began.
    warm_up: WarmUp,
}

impl World {
    /// The time.
    pub const fn now(&self) -> Instant {
        self.transit.now()
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        let counted = self.links.all().into_iter().map(Technology::counters);
        let events = self.transit.telemetry().events();
        counted.fold(Counters { events, ..Counters::default() }, Counters::plus)
    }

    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.transit.telemetry().events()
    }

    /// Packets that queues marked with CE so far (RFC 3168); `None` without a managed queue.
    pub fn packets_marked(&self) -> Option<u64> {
        self.links.all().into_iter().filter_map(Technology::marked).reduce(|one, other| one + other)
    }

    /// The reports of agents so far.
    pub const fn reported(&self) -> &Tally {
        self.transit.telemetry().reported()
    }

    /// Where every packet is or went.
    pub fn accounts(&self) -> Accounts {
        // A frame that was delivered and is not yet confirmed is in the hands of both link layers:
        // it counts once.
        let doubled: usize = self.links.all().iter().map(|links| links.doubled()).sum();
        self.transit.accounts(doubled)
    }

    /// What agents owe.
    pub fn owed_by_agents(&self) -> Owed {
        self.seats.owed()
    }

    /// Octets of memory that agents take for what they keep of packets.
    pub fn octets_of_agents(&self) -> u64 {
        self.seats.octets().map(|(_, octets)| octets).sum()
    }

    /// Packets that agents hold.
    pub fn held_by_agents(&self) -> u64 {
        self.seats.held()
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.network.name(node)
    }

    /// A node's address.
    pub fn node_address(&self, node: NodeId) -> IpAddr {
        self.network.address(node)
    }

    /// A link's name.
    pub fn link_name(&self, link: LinkId) -> &str {
        self.network.link_name(link)
    }

    /// The two nodes that a link joins.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.network.link_ends(link)
    }

    /// Adds an observer; it sees what happens from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        let interests = self.transit.observe(observer);
        for links in self.links.all_mut() {
            links.observe(interests);
        }
    }

    /// Takes the observers back, with all that they have seen; the states of channels up to now
    /// among it.
    pub fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        for links in self.links.all_mut() {
            links.catch_up(&mut self.transit);
        }
        self.transit.telemetry_mut().take_observers()
    }

    /// From now on, outcomes of flows and sessions and the use of radios count what happens after this
    /// moment. Completion times still count from the start of a flow. Counters and
    /// [`World::accounts`] count everything.
    pub fn start_measuring(&mut self) {
        let now = self.now();
        let radios = self.links.cells().radio_uses(now);
        self.warm_up = WarmUp::new(now, self.flows_so_far(), self.sessions_so_far(), radios);
    }
}
