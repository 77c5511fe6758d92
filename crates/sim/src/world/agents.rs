//! Agents at work: what the world shows them, and what becomes of what they send.

use lasthop_agent::counter::{AT_BOUND, DEADLINES_STUCK};
use lasthop_agent::{
    Agent, Context, FlowState, ImportError, LinkEvent, LinkSenses, Report, Scope, Side, Verdict,
};
use lasthop_packet::{LinkOptions, Packet};

use super::World;
use crate::accounts::DropCause;
use crate::id::{AgentId, LinkId, NodeId};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::At;

impl World {
    /// A packet crosses an interface that an agent watches.
    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn ask_agent(&mut self, id: AgentId, (node, interface): At, key: PacketKey, from: Side) {
        if self.network.has_other_addresses {
            self.learn_end(id, key);
        }
        if self.seats.is_at_bound() {
            self.transit.count_report(&AT_BOUND, 1);
            self.forward((node, interface), key, from);
            return;
        }
        let neighbour = self.network.neighbour((node, interface));
        let Self { transit, seats, .. } = self;
        let now = transit.now();
        let verdict = transit.packets_mut().edit(key, |packet| {
            seats.call(id, now, Some(neighbour), |agent, cx| agent.on_packet(packet, from, cx))
        });
        let attached = self.seats.outbox.attached.take();
        self.after_call(id);
        if self.seats.attach_options {
            self.keep_options((node, interface), key, from, attached);
        }
        match verdict {
            Verdict::Forward => self.forward((node, interface), key, from),
            Verdict::Drop(reason) => self.drop_packet(node, key, DropCause::Agent(reason)),
            Verdict::Absorb => {
                let packet = self.transit.packets_mut().take(key);
                self.transit.accounts_mut().absorbed += 1;
                self.packet_gone(&packet);
            }
        }
    }

    /// A packet goes on past the agent.
    fn forward(&mut self, (node, interface): At, key: PacketKey, from: Side) {
        match from {
            Side::Core => self.transmit(node, interface, key),
            Side::Radio => self.process(node, key),
        }
    }

    /// The agent that watches an interface learns of something that its link layer saw, if it wants
    /// to and there is one.
    pub(super) fn tell_agent(
        &mut self,
        at: At,
        key: PacketKey,
        event: impl FnOnce(&Packet) -> LinkEvent<'_>,
    ) {
        if let Some(id) = self.network.interface(at).agent {
            self.tell(id, at, key, event);
        }
    }

    /// An agent learns of something that the link layer of an interface saw, if it wants to. Returns
    /// the options that it attached.
    pub(super) fn tell(
        &mut self,
        id: AgentId,
        at: At,
        key: PacketKey,
        event: impl FnOnce(&Packet) -> LinkEvent<'_>,
    ) -> Option<LinkOptions> {
        let event = event(self.transit.packet(key));
        if !self.seats.agents[id.index()].needs.contains(event.sense()) {
            return None;
        }
        if self.seats.is_at_bound() {
            self.transit.count_report(&AT_BOUND, 1);
            return None;
        }
        let neighbour = self.network.neighbour(at);
        self.seats.call(id, self.transit.now(), Some(neighbour), |agent, cx| agent.on_link(&event, cx));
        let attached = self.seats.outbox.attached.take();
        self.after_call(id);
        attached
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
        let interface = self.network.interface_to(node, link)?;
        let id = self.network.interface((node, interface)).agent?;
        let states = self.call_agent(id, |agent, cx| agent.export(Scope::All, cx));
        self.call_agent(id, |agent, cx| agent.drain(cx));
        let placed = &mut self.seats.agents[id.index()];
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
        let result = self.seats.call(id, self.transit.now(), None, call);
        self.after_call(id);
        result
    }

    // Apart from the event loop, whose own way is the wired one.
    #[inline(never)]
    pub(super) fn on_agent_deadline(&mut self, id: AgentId) {
        let placed = &mut self.seats.agents[id.index()];
        if !placed.timer.fired(self.transit.now()) {
            return;
        }
        if placed.agent.deadline().is_some_and(|deadline| deadline.at <= self.transit.now()) {
            self.seats.call(id, self.transit.now(), None, |agent, cx| agent.on_deadline(cx));
            self.hold_back(id);
        }
        self.after_call(id);
    }

    /// Has an agent whose deadline does not move be called later, and reports it, by the reason of its
    /// deadline.
    fn hold_back(&mut self, id: AgentId) {
        let placed = &mut self.seats.agents[id.index()];
        let Some(deadline) = placed.progress.hold_back(placed.agent.deadline(), self.transit.now()) else {
            return;
        };
        placed.not_before = deadline.at;
        if placed.progress.is_newly_stuck() {
            self.seats.outbox.reports.push(Report::of(&DEADLINES_STUCK).which(deadline.reason));
        }
    }

    /// Sends what the agent put into its outbox, passes its reports on, and follows its deadline.
    fn after_call(&mut self, id: AgentId) {
        let placed = &mut self.seats.agents[id.index()];
        let node = placed.node;
        let deadline = placed
            .agent
            .deadline()
            .map(|deadline| deadline.at.max(self.transit.now()).max(placed.not_before));
        self.transit.follow(&mut placed.timer, deadline, Event::AgentDeadline(id));
        if placed.needs.contains(LinkSenses::REFUSAL) {
            self.follow_refusal(id);
        }
        // Asking costs nothing here.
        self.seats.outbox.bypasses.clear();
        self.seats.outbox.left_alone.clear();
        self.seats.outbox.attached = None;
        if self.seats.outbox.packets.is_empty()
            && self.seats.outbox.reports.is_empty()
            && self.seats.outbox.messages.is_empty()
        {
            return;
        }
        for report in self.seats.outbox.reports.drain(..) {
            self.transit.report(node, &report);
        }
        self.seats.depth += 1;
        // Sending may lead to further calls, which need an outbox of their own.
        let mut packets = std::mem::take(&mut self.seats.outbox.packets);
        let mut messages = std::mem::take(&mut self.seats.outbox.messages);
        // The route to a packet's destination tells the side, and the interface, too.
        for (_, packet) in packets.drain(..) {
            let key = self.transit.packets_mut().insert(packet);
            self.packet_added(key);
            let end = self.seats.agents[id.index()].end(self.transit.packet(key));
            match end {
                Some(end) => self.originate_to(end, key),
                None if self.originate(node, key) => {}
                None => continue,
            }
            self.seats.count_answer();
            self.route(node, key, id);
        }
        for (peer, message) in messages.drain(..) {
            self.seats.count_answer();
            if self.seats.is_at_bound() {
                self.transit.count_report(&AT_BOUND, 1);
            } else {
                self.tell_peer(id, peer, message);
            }
        }
        self.seats.depth -= 1;
        (self.seats.outbox.packets, self.seats.outbox.messages) = (packets, messages);
    }

    /// The link layers that an agent watches refuse frames, or take them, as it wants.
    fn follow_refusal(&mut self, id: AgentId) {
        let placed = &mut self.seats.agents[id.index()];
        let refuse = placed.agent.refuses_frames();
        if std::mem::replace(&mut placed.refuses_frames, refuse) == refuse {
            return;
        }
        let watched = self.network.node(placed.node).interfaces.iter().filter(|at| at.agent == Some(id));
        for interface in watched {
            let (links, port) = self.links.of_mut(interface.egress);
            links.refuse_frames(port, refuse);
        }
    }

    /// What passes an agent tells it where packets between two real hosts' addresses go.
    fn learn_end(&mut self, id: AgentId, key: PacketKey) {
        let (ip, end) = (self.transit.packet(key).ip(), self.transit.packets().destination(key));
        let is_its_own = self.network.node(end).address == ip.destination;
        self.seats.agents[id.index()].learn_end((ip.destination, ip.source), end, is_its_own);
    }
}
