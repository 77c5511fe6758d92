//! Agents in their seats: a node, with the interfaces that each watches.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::{Agent, Context, LinkSenses, Outbox, Progress};
use lasthop_packet::{Instant, Packet, Rng};

use crate::id::{AgentId, NodeId};
use crate::network::MOST_ADDRESSES;
use crate::schedule::LazyTimer;

/// Answers of agents at one instant to one packet or message of an agent, at most.
const MOST_ANSWERS: u32 = 64;

#[derive(Default)]
pub(crate) struct Seats {
    pub(crate) agents: Vec<PlacedAgent>,
    /// Lent to agents call by call.
    pub(crate) outbox: Outbox,
    /// Calls of agents that are under way: each was led to by the one before.
    pub(crate) depth: u32,
    /// Answers so far to the latest packet or message that the outermost call sent.
    answers: u32,
    /// Whether an agent hears what waits in queues.
    pub(crate) hear_of_queues: bool,
    /// Whether an agent attaches options to frames.
    pub(crate) attach_options: bool,
    /// Whom to tell of a queue; empty between calls.
    pub(crate) told: Vec<AgentId>,
}

pub(crate) struct PlacedAgent {
    pub(crate) agent: Box<dyn Agent>,
    pub(crate) needs: LinkSenses,
    pub(crate) node: NodeId,
    rng: Rng,
    pub(crate) timer: LazyTimer,
    pub(crate) progress: Progress,
    /// Its deadlines do not come before this: not if it does not get on with them.
    pub(crate) not_before: Instant,
    /// Whether its node refuses frames, as it wanted last.
    pub(crate) refuses_frames: bool,
    /// Where packets went that passed here, by destination and source, where these are not the
    /// model's: what the agent sends between them goes there, too.
    ends: BTreeMap<(IpAddr, IpAddr), NodeId>,
}

impl Seats {
    pub(crate) fn add(&mut self, node: NodeId, agent: Box<dyn Agent>, rng: Rng) {
        let (needs, timer, ends) = (agent.needs(), LazyTimer::default(), BTreeMap::new());
        self.hear_of_queues |= needs.contains(LinkSenses::BACKLOG);
        self.attach_options |= needs.contains(LinkSenses::LINK_OPTIONS);
        let (progress, not_before) = (Progress::default(), Instant::ZERO);
        self.agents.push(PlacedAgent {
            agent,
            needs,
            node,
            rng,
            timer,
            progress,
            not_before,
            refuses_frames: false,
            ends,
        });
    }

    /// Calls an agent; `neighbour` is whom the packet or the link event in hand is from or for.
    #[inline]
    pub(crate) fn call<R>(
        &mut self,
        id: AgentId,
        now: Instant,
        neighbour: Option<IpAddr>,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let placed = &mut self.agents[id.index()];
        let cx = Context::new(now, &mut placed.rng, &mut self.outbox);
        call(placed.agent.as_mut(), &mut cx.with_neighbour(neighbour))
    }

    /// An agent sends a packet or a message.
    pub(crate) fn count_answer(&mut self) {
        self.answers = if self.depth == 1 { 0 } else { self.answers + 1 };
    }

    /// Whether no agent is called any more for what agents send to each other at this instant:
    /// packets are forwarded past them, link events are not told, messages are dropped. Agents that
    /// answer each other would do so for ever.
    pub(crate) const fn is_at_bound(&self) -> bool {
        self.depth > 0 && self.answers >= MOST_ANSWERS
    }

    /// The agents at a node.
    pub(crate) fn at(&self, node: NodeId) -> impl Iterator<Item = AgentId> {
        let here = self.agents.iter().enumerate().filter(move |(_, placed)| placed.node == node);
        here.map(|(index, _)| AgentId::of(index))
    }
}

impl PlacedAgent {
    /// Notes that packets between these addresses go to the node `end`; `is_its_own` says that the
    /// destination is that node's own address. Real hosts' addresses are no nodes', and the same one may be behind different ends,
    /// seen from different links.
    pub(crate) fn learn_end(&mut self, between: (IpAddr, IpAddr), end: NodeId, is_its_own: bool) {
        // Where others are known, this one is, too, or it would be taken for one of them.
        if is_its_own && self.ends.is_empty() {
            return;
        }
        if self.ends.len() < MOST_ADDRESSES || self.ends.contains_key(&between) {
            self.ends.insert(between, end);
        }
    }

    /// Where a packet of the agent's goes, by those that went between the same addresses, or to the
    /// same one.
    pub(crate) fn end(&self, packet: &Packet) -> Option<NodeId> {
        let (destination, source) = (packet.ip().destination, packet.ip().source);
        let first = || {
            let mut to_it = self.ends.range((destination, IpAddr::V4(Ipv4Addr::UNSPECIFIED))..);
            to_it.next().filter(|((to, _), _)| *to == destination)
        };
        self.ends.get(&(destination, source)).or_else(|| first().map(|(_, end)| end)).copied()
    }
}
