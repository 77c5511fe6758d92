//! Agents in their seats: a node, with the interfaces that each watches.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use bytes::Bytes;
use lasthop_agent::counter::DEADLINES_STUCK;
use lasthop_agent::{Agent, Context, LinkSenses, Outbox, Owed, Progress, Report, Side, Verdict};
use lasthop_packet::{Instant, LinkOptions, Packet, Rng};

use crate::id::{AgentId, NodeId};
use crate::network::MAX_ADDRESSES;
use crate::schedule::{Event, LazyTimer};
use crate::transit::Transit;

/// Answers of agents at one instant to one packet or message of an agent, at most.
const MAX_ANSWERS: u32 = 64;

/// The output of an agent: packets, each with the side that it leaves to, and messages.
pub(crate) type Sent = (Vec<(Side, Packet)>, Vec<(IpAddr, Bytes)>);

#[derive(Default)]
pub(crate) struct Seats {
    agents: Vec<PlacedAgent>,
    /// Lent to agents call by call.
    outbox: Outbox,
    /// Calls of agents that are under way: each was led to by the one before.
    depth: u32,
    /// Answers so far to the latest packet or message that the outermost call sent.
    answers: u32,
    /// Whether an agent receives [`LinkSenses::BACKLOG`].
    need_backlog: bool,
    /// Whether an agent attaches options to frames.
    attach_options: bool,
    /// The agents that learn of a queue; empty between calls.
    told: Vec<AgentId>,
}

struct PlacedAgent {
    agent: Box<dyn Agent>,
    needs: LinkSenses,
    node: NodeId,
    rng: Rng,
    timer: LazyTimer,
    progress: Progress,
    /// Its deadlines do not come before this: a bound for an agent whose deadlines make no progress.
    not_before: Instant,
    /// Whether its node refuses frames, as it requested last.
    refuses_frames: bool,
    /// Where packets went that passed here, by destination and source, where these are not the
    /// model's: what the agent sends between them goes there, too.
    ends: BTreeMap<(IpAddr, IpAddr), NodeId>,
}

impl Seats {
    pub(crate) fn add(&mut self, node: NodeId, agent: Box<dyn Agent>, rng: Rng) -> AgentId {
        let needs = agent.needs();
        self.need_backlog |= needs.contains(LinkSenses::BACKLOG);
        self.attach_options |= needs.contains(LinkSenses::LINK_OPTIONS);
        self.agents.push(PlacedAgent {
            agent,
            needs,
            node,
            rng,
            timer: LazyTimer::default(),
            progress: Progress::default(),
            not_before: Instant::ZERO,
            refuses_frames: false,
            ends: BTreeMap::new(),
        });
        AgentId::from_index(self.agents.len() - 1)
    }

    /// Puts another agent of the same scheme in an agent's place.
    pub(crate) fn replace(&mut self, id: AgentId, agent: Box<dyn Agent>) {
        let placed = &mut self.agents[id.index()];
        debug_assert_eq!(placed.needs, agent.needs(), "another agent of the same scheme");
        placed.agent = agent;
    }

    /// Takes an agent away without a word to it: from now on its seat forwards all packets. Returns how many the agent
    /// held.
    pub(crate) fn vacate(&mut self, id: AgentId) -> u64 {
        let placed = &mut self.agents[id.index()];
        let held = placed.agent.held();
        placed.agent = Box::new(|_: &mut Packet, _: Side, _: &mut Context<'_>| Verdict::Forward);
        placed.needs = LinkSenses::empty();
        held
    }

    #[inline]
    pub(crate) const fn are_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// The agents at a node.
    pub(crate) fn at(&self, node: NodeId) -> impl Iterator<Item = AgentId> {
        let here = self.agents.iter().enumerate().filter(move |(_, placed)| placed.node == node);
        here.map(|(index, _)| AgentId::from_index(index))
    }

    pub(crate) fn node(&self, id: AgentId) -> NodeId {
        self.agents[id.index()].node
    }

    /// The senses that an agent needs of its links.
    pub(crate) fn needs(&self, id: AgentId) -> LinkSenses {
        self.agents[id.index()].needs
    }

    /// Whether an agent hears what waits in queues.
    #[inline]
    pub(crate) const fn need_backlog(&self) -> bool {
        self.need_backlog
    }

    /// Whether an agent attaches options to frames.
    #[inline]
    pub(crate) const fn attach_options(&self) -> bool {
        self.attach_options
    }

    /// What agents owe.
    pub(crate) fn owed(&self) -> Owed {
        self.agents.iter().map(|placed| placed.agent.owed()).fold(Owed::default(), Owed::plus)
    }

    /// Octets of memory that each agent takes for what it keeps of packets, with its node.
    pub(crate) fn octets(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.agents.iter().map(|placed| (placed.node, placed.agent.octets() as u64))
    }

    /// Packets that agents hold.
    pub(crate) fn held(&self) -> u64 {
        self.agents.iter().map(|placed| placed.agent.held()).sum()
    }

    /// Calls an agent about no link. What it wants is done next ([`Self::follow`]).
    pub(crate) fn call<R>(
        &mut self,
        id: AgentId,
        now: Instant,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        self.call_with(id, now, None, call)
    }

    /// As [`Self::call`], about a packet or a link event that is from or for this neighbour. Returns also
    /// the options that the agent attached.
    pub(crate) fn call_about<R>(
        &mut self,
        id: AgentId,
        now: Instant,
        neighbour: IpAddr,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> (R, Option<LinkOptions>) {
        let result = self.call_with(id, now, Some(neighbour), call);
        (result, self.outbox.attached.take())
    }

    #[inline]
    fn call_with<R>(
        &mut self,
        id: AgentId,
        now: Instant,
        neighbour: Option<IpAddr>,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let placed = &mut self.agents[id.index()];
        let cx = Context::new(now, &mut placed.rng, &mut self.outbox);
        call(placed.agent.as_mut(), &mut cx.with_neighbor(neighbour))
    }

    /// An agent's timer has fired. `false` if its deadline has moved or is gone.
    pub(crate) fn on_deadline(&mut self, id: AgentId, now: Instant) -> bool {
        let placed = &mut self.agents[id.index()];
        if !placed.timer.fired(now) {
            return false;
        }
        if placed.agent.deadline().is_some_and(|deadline| deadline.at <= now) {
            self.call(id, now, |agent, cx| agent.on_deadline(cx));
            self.hold_back(id, now);
        }
        true
    }

    /// Has an agent whose deadline does not move be called later, and reports it, by the reason of its
    /// deadline.
    fn hold_back(&mut self, id: AgentId, now: Instant) {
        let placed = &mut self.agents[id.index()];
        let Some(deadline) = placed.progress.hold_back(placed.agent.deadline(), now) else { return };
        placed.not_before = deadline.at;
        if placed.progress.is_newly_stuck() {
            self.outbox.reports.push(Report::new(&DEADLINES_STUCK).which(deadline.reason));
        }
    }

    /// After a call: follows the agent's deadline. Returns whether its node refuses frames, if that is to
    /// change.
    pub(crate) fn follow(&mut self, id: AgentId, transit: &mut Transit) -> Option<bool> {
        let placed = &mut self.agents[id.index()];
        let deadline =
            placed.agent.deadline().map(|deadline| deadline.at.max(transit.now()).max(placed.not_before));
        transit.follow(&mut placed.timer, deadline, Event::AgentDeadline(id));
        // Asking costs nothing here.
        self.outbox.bypasses.clear();
        self.outbox.left_alone.clear();
        self.outbox.attached = None;
        if !placed.needs.contains(LinkSenses::REFUSAL) {
            return None;
        }
        let refuse = placed.agent.refuses_frames();
        (std::mem::replace(&mut placed.refuses_frames, refuse) != refuse).then_some(refuse)
    }

    /// After a call: passes the agent's reports on, and takes what it sends, if it sends something or reports.
    /// That may lead to further calls, which need an outbox of their own; then it is [put
    /// back](Self::put_back).
    pub(crate) fn take_sent(&mut self, id: AgentId, transit: &mut Transit) -> Option<Sent> {
        let Outbox { packets, reports, messages, .. } = &mut self.outbox;
        if packets.is_empty() && reports.is_empty() && messages.is_empty() {
            return None;
        }
        let node = self.agents[id.index()].node;
        for report in reports.drain(..) {
            transit.report(node, &report);
        }
        self.depth += 1;
        Some((std::mem::take(packets), std::mem::take(messages)))
    }

    /// All has been sent that was taken, and what came of it has been done.
    pub(crate) fn put_back(&mut self, sent: Sent) {
        self.depth -= 1;
        (self.outbox.packets, self.outbox.messages) = sent;
    }

    /// An agent sends a packet or a message.
    pub(crate) const fn count_answer(&mut self) {
        self.answers = if self.depth == 1 { 0 } else { self.answers + 1 };
    }

    /// Whether no agent is called any more for what agents send to each other at this instant:
    /// packets are forwarded past them, link events are not reported, messages are dropped. Agents that
    /// answer each other would do so for ever.
    pub(crate) const fn is_at_bound(&self) -> bool {
        self.depth > 0 && self.answers >= MAX_ANSWERS
    }

    /// An empty list of agents that learn of a queue; it is [put back](Self::put_list_back).
    pub(crate) fn take_list(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.told)
    }

    pub(crate) fn put_list_back(&mut self, mut list: Vec<AgentId>) {
        list.clear();
        self.told = list;
    }

    /// Where a packet of an agent's goes, by those that went between the same addresses, or to the
    /// same one.
    pub(crate) fn end(&self, id: AgentId, packet: &Packet) -> Option<NodeId> {
        self.agents[id.index()].end(packet)
    }

    /// An agent sees a packet that goes to the node `end`; `is_its_own` says that the destination is that
    /// node's own address.
    pub(crate) fn learn_end(&mut self, id: AgentId, packet: &Packet, end: NodeId, is_its_own: bool) {
        let ip = packet.ip();
        self.agents[id.index()].learn_end((ip.destination, ip.source), end, is_its_own);
    }
}

impl PlacedAgent {
    /// Notes that packets between these addresses go to the node `end`; `is_its_own` says that the
    /// destination is that node's own address. Real hosts' addresses are no nodes', and the same one may be behind different ends,
    /// seen from different links.
    fn learn_end(&mut self, between: (IpAddr, IpAddr), end: NodeId, is_its_own: bool) {
        // Where others are known, this one is, too, or it would be taken for one of them.
        if is_its_own && self.ends.is_empty() {
            return;
        }
        if self.ends.len() < MAX_ADDRESSES || self.ends.contains_key(&between) {
            self.ends.insert(between, end);
        }
    }

    /// Where a packet of the agent's goes, by those that went between the same addresses, or to the
    /// same one.
    fn end(&self, packet: &Packet) -> Option<NodeId> {
        let (destination, source) = (packet.ip().destination, packet.ip().source);
        let first = || {
            let mut to_it = self.ends.range((destination, IpAddr::V4(Ipv4Addr::UNSPECIFIED))..);
            to_it.next().filter(|((to, _), _)| *to == destination)
        };
        self.ends.get(&(destination, source)).or_else(|| first().map(|(_, end)| end)).copied()
    }
}
