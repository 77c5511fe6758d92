//! Agents in their seats: a node, with the interfaces that each watches.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Agent, Context, FlowState, ImportError, LinkEvent, LinkSenses, Side, Verdict, Whose};
use lasthop_packet::{Packet, Rng};

use super::{MOST_ADDRESSES, World};
use crate::accounts::DropCause;
use crate::id::{AgentId, LinkId, NodeId};
use crate::observe::TraceEvent;
use crate::parcel::ParcelKey;
use crate::schedule::{Event, LazyTimer};

pub(super) struct PlacedAgent {
    pub(super) agent: Box<dyn Agent>,
    pub(super) needs: LinkSenses,
    pub(super) node: NodeId,
    pub(super) rng: Rng,
    pub(super) timer: LazyTimer,
    /// Where packets went that passed here, by destination and source, where these are not the
    /// model's: what the agent sends between them goes there, too.
    pub(super) ends: BTreeMap<(IpAddr, IpAddr), NodeId>,
}

/// Calls of agents that may lead to each other without time between: beyond that a packet leaves
/// unasked.
const MOST_ANSWERS: u32 = 64;

impl World {
    /// A parcel crosses an interface that an agent watches.
    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn ask_agent(
        &mut self,
        id: AgentId,
        (node, interface): (NodeId, usize),
        key: ParcelKey,
        from: Side,
    ) {
        self.learn_end(id, key);
        let neighbour = self.neighbour(node, interface);
        let placed = &mut self.agents[id.index()];
        let cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
        let mut cx = cx.with_neighbour(Some(neighbour));
        let verdict = self.parcels[key].edit(|packet| placed.agent.on_packet(packet, from, &mut cx));
        self.after_call(id);
        match verdict {
            Verdict::Forward => match from {
                Side::Core => self.transmit(node, interface, key),
                Side::Radio => self.process(node, key),
            },
            Verdict::Drop(reason) => self.drop_parcel(node, key, DropCause::Agent(reason)),
            Verdict::Absorb => {
                let packet = self.parcels.take(key);
                self.accounts.absorbed += 1;
                self.datagram_gone(&packet);
            }
        }
    }

    /// The agent that watches an interface learns of something that its link layer saw, if it wants
    /// to and there is one.
    pub(super) fn tell_agent(
        &mut self,
        (node, interface): (NodeId, usize),
        key: ParcelKey,
        event: impl Fn(&Packet) -> LinkEvent<'_>,
    ) {
        let Some(id) = self.nodes[node.index()].interfaces[interface].agent else { return };
        let event = event(self.parcels[key].packet());
        if !self.agents[id.index()].needs.contains(event.sense()) {
            return;
        }
        let neighbour = self.neighbour(node, interface);
        let placed = &mut self.agents[id.index()];
        let cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
        placed.agent.on_link(&event, &mut cx.with_neighbour(Some(neighbour)));
        self.after_call(id);
    }

    /// Puts another agent in the place of the one that watches a node's interface to a link. It has
    /// what the other exported, and what it cannot import of that is returned; what the other held
    /// beside that is sent on. `None` if there is no agent.
    pub fn replace_agent(
        &mut self,
        node: NodeId,
        link: LinkId,
        agent: Box<dyn Agent>,
    ) -> Option<Vec<ImportError>> {
        let interfaces = &self.nodes[node.index()].interfaces;
        let id = interfaces.iter().find(|interface| interface.link == link)?.agent?;
        let states = self.call_agent(id, |agent, cx| agent.export(Whose::All, cx));
        self.call_agent(id, |agent, cx| agent.drain(cx));
        let placed = &mut self.agents[id.index()];
        debug_assert_eq!(placed.needs, agent.needs(), "another agent of the same scheme");
        placed.agent = agent;
        let import = |state: &FlowState| self.call_agent(id, |agent, cx| agent.import(state, cx)).err();
        Some(states.iter().filter_map(import).collect())
    }

    /// Calls an agent about no link, and does what it wants.
    pub(super) fn call_agent<R>(
        &mut self,
        id: AgentId,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>) -> R,
    ) -> R {
        let placed = &mut self.agents[id.index()];
        let mut cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
        let result = call(placed.agent.as_mut(), &mut cx);
        self.after_call(id);
        result
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_agent_deadline(&mut self, id: AgentId) {
        let placed = &mut self.agents[id.index()];
        if !placed.timer.fired(self.now) {
            return;
        }
        if placed.agent.deadline().is_some_and(|deadline| deadline.at <= self.now) {
            let mut cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
            placed.agent.on_deadline(&mut cx);
        }
        self.after_call(id);
    }

    /// Sends what the agent put into its outbox, passes its reports on, and follows its deadline.
    fn after_call(&mut self, id: AgentId) {
        let placed = &mut self.agents[id.index()];
        let node = placed.node;
        let deadline = placed.agent.deadline().map(|deadline| deadline.at.max(self.now));
        placed.timer.follow(deadline, Event::AgentDeadline(id), &mut self.schedule);
        // Asking costs nothing here.
        self.outbox.bypasses.clear();
        if self.outbox.packets.is_empty() && self.outbox.reports.is_empty() && self.outbox.messages.is_empty()
        {
            return;
        }
        // Sending may lead to further calls, which need an outbox of their own.
        let mut outbox = std::mem::take(&mut self.outbox);
        for report in outbox.reports.drain(..) {
            self.reported.count(report.counter, report.amount);
            self.emit(&TraceEvent::AgentReport { node, report: &report });
        }
        // Agents in different seats that answer each other would do so for ever.
        let sender = if self.answers < MOST_ANSWERS { id } else { AgentId::ALL };
        if sender == AgentId::ALL && !outbox.packets.is_empty() {
            self.reported.count(&AT_BOUND, 1);
        }
        self.answers += 1;
        // The route to a packet's destination tells the side, and the interface, too.
        for (_, packet) in outbox.packets.drain(..) {
            self.datagram_added(&packet);
            let end = self.agents[id.index()].end(&packet);
            let Some(key) = self.parcels.insert(|| Some(packet)) else { continue };
            match end {
                Some(end) => self.originate_to(end, key),
                None if self.originate(node, key) => {}
                None => continue,
            }
            self.route(node, key, sender);
        }
        self.answers -= 1;
        for (peer, message) in outbox.messages.drain(..) {
            self.tell_peer(id, peer, message);
        }
        self.outbox = outbox;
    }

    /// By what the node at the other end of an interface's link is known.
    fn neighbour(&self, node: NodeId, interface: usize) -> IpAddr {
        let link = &self.links[self.nodes[node.index()].interfaces[interface].link.index()];
        if link.ends.0 == node { link.addresses.1 } else { link.addresses.0 }
    }

    /// Real hosts' addresses are not the model's, and the same one may be behind different ends,
    /// seen from different links.
    fn learn_end(&mut self, id: AgentId, key: ParcelKey) {
        let parcel = &self.parcels[key];
        let (ip, end) = (parcel.packet().ip(), parcel.destination);
        let between = (ip.destination, ip.source);
        let resolved = self.resolve(ip.destination);
        let ends = &mut self.agents[id.index()].ends;
        // Where others are known, this one is, too, or it would be taken for one of them.
        if resolved == Some(end) && ends.is_empty() {
            return;
        }
        if ends.len() < MOST_ADDRESSES || ends.contains_key(&between) {
            ends.insert(between, end);
        }
    }
}

impl PlacedAgent {
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
