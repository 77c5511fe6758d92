//! The simulated world: entities in arenas, one event queue, no shared ownership.

mod ad_hoc;
mod agents;
mod air;
mod broadcast;
mod build;
mod datagrams;
mod flows;
mod forward;
mod hosts;
mod messages;
mod movement;
mod radio;
mod reconfigure;
mod run;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use lasthop_agent::{LinkSenses, Outbox, Owed, Tally};
use lasthop_packet::{Instant, Packet};

use crate::accounts::{Accounts, DropCause};
use crate::config::NodeKind;
use crate::counters::Counters;
use crate::flow::{Carrier, Flow, FlowOutcome, TcpOutcome, TransportOutcome};
use crate::id::{AgentId, ConnectionId, FlowId, HopId, LinkId, NodeId, PipeId, PortId};
use crate::observe::{Interest, Observer, TraceEvent};
use crate::parcel::{ParcelKey, Parcels};
use crate::routing::Routes;
use crate::schedule::Schedule;
use crate::wired::Pipe;
use crate::wireless::{Channel, Hop, Medium};

pub use ad_hoc::{AodvError, aodv_address};
pub use build::{AttachError, RouteError};
pub use messages::MESSAGE_PORT;
pub use radio::RadioUse;
pub use reconfigure::{Change, ChangeError, Way};

/// Addresses that are remembered at most: real senders may make theirs up.
const MOST_ADDRESSES: usize = 65_536;

/// A simulated network.
///
/// Add nodes, then links, then agents and flows; then [`World::run`], or drive it from outside with
/// [`World::inject`], [`World::advance_to`] and [`World::collect`].
pub struct World {
    now: Instant,
    seed: u64,
    schedule: Schedule,
    /// Every packet in transit, with where it goes.
    parcels: Parcels,
    nodes: Vec<Node>,
    links: Vec<Link>,
    pipes: Vec<Pipe>,
    hops: Vec<Hop>,
    media: Vec<Medium>,
    channels: Vec<ChannelOfLink>,
    cells: Vec<radio::Cell>,
    ports: Vec<radio::Port>,
    connections: Vec<hosts::HostedConnection>,
    flows: Vec<Flow>,
    agents: Vec<agents::PlacedAgent>,
    routes: Option<Routes>,
    /// Ways given by hand, which go before the shortest: node, destination, link.
    given_routes: Vec<(NodeId, NodeId, LinkId)>,
    /// By node, those that look for routes on demand; empty if none does.
    ad_hoc: Vec<Option<Box<ad_hoc::AdHocNode>>>,
    addresses: BTreeMap<IpAddr, NodeId>,
    observers: Vec<Box<dyn Observer>>,
    interest: Interest,
    accounts: Accounts,
    counters: Counters,
    reported: Tally,
    /// Lent to agents call by call.
    outbox: Outbox,
    /// How many calls of agents led to each other, without time between.
    answers: u32,
    /// Flows with an end that are not done yet.
    unfinished: usize,
    /// Whether no flow has an end: then a run lasts until its own.
    is_endless: bool,
}

struct Node {
    name: String,
    kind: NodeKind,
    address: IpAddr,
    processing_delay: Duration,
    buffer: Option<u64>,
    interfaces: Vec<Interface>,
    /// Packets in processing.
    processing: VecDeque<(Instant, ParcelKey)>,
    /// TCP endpoints by local port, then remote port and address.
    endpoints: BTreeMap<EndpointKey, ConnectionId>,
    /// The endpoint that was found last, which is most often the next one, too.
    recent_endpoint: Option<(EndpointKey, ConnectionId)>,
    /// Packets for an external node.
    arrived: Vec<(Instant, Packet)>,
}

/// Local port, remote port and remote address.
type EndpointKey = (u16, u16, IpAddr);

#[derive(Clone, Copy)]
struct Interface {
    link: LinkId,
    egress: Egress,
    agent: Option<AgentId>,
}

#[derive(Clone, Copy)]
enum Egress {
    Pipe(PipeId),
    Hop(HopId),
    Radio(PortId),
}

struct Link {
    name: String,
    ends: (NodeId, NodeId),
    /// By what its two interfaces are known to agents at the other end.
    addresses: (IpAddr, IpAddr),
    /// What an agent at its ends can see of it.
    senses: LinkSenses,
}

struct ChannelOfLink {
    link: LinkId,
    channel: Channel,
}

impl World {
    /// The time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// What was counted so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What agents reported so far.
    pub const fn reported(&self) -> &Tally {
        &self.reported
    }

    /// Where every packet is or went.
    pub fn accounts(&self) -> Accounts {
        // A frame that was delivered and is not yet confirmed is in the hands of both link layers:
        // it counts once.
        let doubled = self.hops.iter().map(Hop::doubled).sum::<usize>()
            + self.cells.iter().map(radio::Cell::doubled).sum::<usize>();
        Accounts { in_transit: (self.parcels.len() - doubled) as u64, ..self.accounts.clone() }
    }

    /// What agents owe.
    pub fn owed_by_agents(&self) -> Owed {
        self.agents.iter().map(|placed| placed.agent.owed()).fold(Owed::default(), Owed::plus)
    }

    /// Packets that agents hold.
    pub fn held_by_agents(&self) -> u64 {
        self.agents.iter().map(|placed| placed.agent.held()).sum()
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// A node's address.
    pub fn node_address(&self, node: NodeId) -> IpAddr {
        self.nodes[node.index()].address
    }

    /// A link's name.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.links[link.index()].name
    }

    /// The two nodes that a link joins.
    pub fn link_ends(&self, link: LinkId) -> (NodeId, NodeId) {
        self.links[link.index()].ends
    }

    /// A flow as it stands.
    pub fn flow(&self, flow: FlowId) -> &Flow {
        &self.flows[flow.index()]
    }

    /// All flows in the order of addition.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.flows.len()).map(FlowId::of)
    }

    /// What became of a flow by now.
    pub fn outcome(&self, id: FlowId) -> FlowOutcome {
        let flow = self.flow(id);
        let (is_udp, seconds) = (flow.sender().is_none(), flow.end(self.now).since(flow.start).as_secs_f64());
        let octets = flow.octets();
        FlowOutcome {
            name: flow.name.clone(),
            octets,
            completion: flow.done_at.filter(|_| !flow.is_stopped() && !is_udp).map(|at| at.since(flow.start)),
            goodput_bps: if seconds > 0.0 { octets as f64 * 8.0 / seconds } else { 0.0 },
            intact: !flow.corrupted,
            transport: match &flow.carrier {
                Carrier::Tcp(transfer) => {
                    let sender = &self.connections[transfer.sender.index()].tcp;
                    let rtt_mean_s = sender.rtt().mean().map(|mean| mean.as_secs_f64());
                    TransportOutcome::Tcp(TcpOutcome { sender: *sender.stats(), rtt_mean_s })
                }
                Carrier::Udp(datagrams) => TransportOutcome::Udp(datagrams.outcome()),
            },
        }
    }

    /// The endpoint that sends a flow's data; `None` over UDP.
    pub fn sender(&self, flow: FlowId) -> Option<&lasthop_tcp::Connection> {
        self.flow(flow).sender().map(|sender| &self.connections[sender.index()].tcp)
    }

    /// Adds an observer; it sees what happens from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.interest |= observer.interest();
        self.observers.push(observer);
        let frames = self.wants(Interest::FRAMES);
        for cell in &mut self.cells {
            cell.wlan.tell_attempts(frames || cell.has_attentive_agent);
        }
    }

    /// Takes the observers back, with all that they have seen; the states of channels up to now
    /// among it.
    pub fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        self.look_at_channels();
        self.interest = Interest::empty();
        std::mem::take(&mut self.observers)
    }

    #[inline]
    fn wants(&self, interest: Interest) -> bool {
        self.interest.intersects(interest)
    }

    #[inline]
    fn emit(&mut self, event: &TraceEvent<'_>) {
        if self.interest.intersects(event.kind()) {
            tell(&mut self.observers, self.now, event);
        }
    }

    /// Drops a packet that is not in transit.
    fn drop_packet(&mut self, node: NodeId, cause: DropCause, packet: &Packet) {
        *self.accounts.dropped.entry(cause).or_default() += 1;
        self.emit(&TraceEvent::Dropped { node, cause, packet });
    }
}

fn tell(observers: &mut [Box<dyn Observer>], now: Instant, event: &TraceEvent<'_>) {
    for observer in observers {
        if observer.interest().intersects(event.kind()) {
            observer.on_event(now, event);
        }
    }
}
