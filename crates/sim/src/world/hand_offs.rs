//! Clients' states, from agent to agent: between service sets, seats and tunnels.

mod translation;

use lasthop_agent::{FlowState, Report, Scope, Side};
use lasthop_ess::AccessPointId;
use lasthop_handoff::{Attempt, Message, Output, Peer};

use super::World;
use super::flows::RETRY;
use crate::accounts::DropCause;
use crate::hand_offs::{
    ClientAtAccessPoint, ClientState, Content, Envelope, Follower, HandOffConfig, NOT_IMPORTED, Passage,
};
use crate::id::{At, HandOffId, NodeId, ServiceSetId, TunnelEndId};
use crate::packets::PacketKey;
use crate::roams::Roam;
use crate::service_sets::Association;

impl World {
    /// The access points of a service set hand the state of their agents over to each other: an agent sees a client's
    /// packets only while it has, or may create, the client's state.
    pub fn hand_over(&mut self, set: ServiceSetId, config: HandOffConfig) {
        self.hand_offs.set_config(set, config);
    }

    /// Whether agents hand over what they know of clients.
    pub fn hands_over(&self) -> bool {
        self.hand_offs.are_configured()
    }

    /// Where clients have gone so far, in order.
    pub fn roams(&self) -> &[Roam] {
        self.roams.all()
    }

    /// An access point takes over a client that has associated with it.
    pub(super) fn take_over(
        &mut self,
        association: Association,
        previous: Option<AccessPointId>,
        number: u64,
    ) {
        if self.hand_offs.config(association.set).is_none() {
            return;
        }
        let id = self.hand_off_of(association);
        let outputs = self.hand_offs.get_mut(id).on_join(previous.map(|previous| Peer(previous.0)), number);
        self.carry_out_hand_off(id, outputs);
    }

    /// A client is no longer associated with an access point.
    pub(super) fn hand_offs_leave(&mut self, association: Association) {
        if self.hand_offs.config(association.set).is_some() {
            let id = self.hand_off_of(association);
            self.hand_offs.get_mut(id).on_leave();
            if self.hand_offs.get(id).is_awaited() {
                self.stop_serving(id);
            }
        }
    }

    /// The agent no longer sees a client's packets. Those that have waited for the client's state are lost.
    fn stop_serving(&mut self, id: HandOffId) {
        for (at, key, _) in self.hand_offs.get_mut(id).stop() {
            let link = self.network.interface(at).link;
            self.drop_on_link((at.0, Some(link)), key, DropCause::NotAssociated);
        }
    }

    fn hand_off_of(&mut self, of: Association) -> HandOffId {
        let client = self.service_sets.client(of.set, of.client).0.node;
        let access_point = self.service_sets.access_point(of.set, of.access_point).node;
        self.hand_offs.of(of, (client, access_point))
    }

    #[inline(never)]
    pub(super) fn on_hand_off_due(&mut self, id: HandOffId) {
        let now = self.transit.now();
        let at = self.hand_offs.get(id);
        let (node, set) = (at.nodes().1, at.of().set);
        let node_of = |peer: Peer| self.service_sets.access_point(set, AccessPointId(peer.0)).node;
        let progress = match (at.asks(), at.gave()) {
            (Some(peer), _) => self.tunnels.received(node, node_of(peer)),
            (None, Some(peer)) => self.tunnels.delivered(node, node_of(peer)),
            (None, None) => 0,
        };
        let outputs = self.hand_offs.get_mut(id).on_timeout(progress, now);
        self.carry_out_hand_off(id, outputs);
    }

    /// Carries out what follows from an input to a client at an access point.
    fn carry_out_hand_off(&mut self, id: HandOffId, outputs: Vec<Output<ClientState>>) {
        let Association { set, client, access_point } = self.hand_offs.get(id).of();
        let (me, (client_node, node)) = (Peer(access_point.0), self.hand_offs.get(id).nodes());
        for output in outputs {
            match output {
                Output::Send(to, mut message) => {
                    let to_node = self.service_sets.access_point(set, AccessPointId(to.0)).node;
                    let progress =
                        [self.tunnels.received(node, to_node), self.tunnels.delivered(node, to_node)];
                    let at = self.hand_offs.get_mut(id);
                    match message {
                        Message::Request { .. } => at.begin_to_wait(progress[0]),
                        Message::Transfer { .. } => at.begin_to_wait(progress[1]),
                        _ => {}
                    }
                    let rest = rest_to_send(at, to, &mut message);
                    let content = Content::Message { from: me, to, message, association: at.association() };
                    for content in [content].into_iter().chain(rest) {
                        let envelope = Envelope::new(set, client, content);
                        match self.redirections.get_mut(id) {
                            Some(waiting) => waiting.send_later(to_node, envelope),
                            None => self.send_envelope([node, to_node], envelope),
                        }
                    }
                }
                Output::Ask(query) => {
                    let number = self.hand_offs.get_mut(id).number_of(query);
                    let Some(registry) = self.hand_offs.config(set).map(|config| config.registry) else {
                        continue;
                    };
                    let content = Content::Query { from: me, number, query };
                    self.send_envelope([node, registry], Envelope::new(set, client, content));
                }
                Output::Serve(state) => self.take_up(id, (client_node, node), state),
                Output::Stop { is_lost } => {
                    if is_lost {
                        drop(self.export_client(client_node, node));
                        self.release_mappings(id);
                    }
                    self.stop_serving(id);
                }
                // Announcements have told the distribution system.
                Output::Forward(_) => self.release_mappings(id),
            }
        }
        self.hand_offs.follow(id, &mut self.transit);
    }

    /// The agent at an access point gets the state of a client, and then the packets that have waited for it.
    fn serve_client(&mut self, id: HandOffId, (client, node): (NodeId, NodeId), state: Option<&ClientState>) {
        for connection in state.map_or(&[][..], ClientState::needed) {
            self.import_state(node, connection);
        }
        let (early, lost) = self.hand_offs.get_mut(id).take_early();
        let own = state.map_or(&[][..], ClientState::rest);
        for connection in own.iter().chain(&early) {
            self.import_state(node, connection);
        }
        for _ in 0..lost {
            self.transit.report(node, &Report::new(&NOT_IMPORTED));
        }
        if let Some(state) = state {
            let size = (state.needed().len(), state.octets());
            self.roams.on_served(client, node, self.transit.now(), size);
        }
        for (at, key, from) in self.hand_offs.get_mut(id).serve() {
            match self.network.interface(at).agent {
                Some(agent) => self.pass_to_agent(agent, at, key, from),
                None => self.forward(at, key, from),
            }
        }
    }

    /// The agent at an access point continues a connection.
    fn import_state(&mut self, node: NodeId, state: &FlowState) {
        let Some(agent) = self.network.radio_agent(node) else { return };
        let imported = self.call_agent(agent, |agent, cx| agent.import(state, cx));
        if imported.is_err() {
            self.call_agent(agent, |agent, cx| agent.give_up(state, cx));
            self.transit.report(node, &Report::new(&NOT_IMPORTED));
        }
    }

    /// Takes the state of a client from the agent at an access point.
    fn export_client(&mut self, client: NodeId, node: NodeId) -> ClientState {
        let Some(agent) = self.network.radio_agent(node) else { return ClientState::default() };
        let scope = Scope::Host(self.network.address(client));
        self.call_agent(agent, |agent, cx| agent.prepare_export(scope, cx));
        ClientState::new(self.call_agent(agent, |agent, cx| agent.export(scope, cx)))
    }

    /// A client has gone from one access point to another: what waits for it at the first one is sent after it if the
    /// agent there says so.
    pub(super) fn send_after(&mut self, gone: Association, to: AccessPointId) {
        let Association { set, client, access_point } = gone;
        if self.hand_offs.config(set).is_none() {
            return;
        }
        let [at, to] = [access_point, to].map(|place| self.service_sets.access_point(set, place));
        if self.translators.has(at.node) {
            // It has an address that the distribution system does not see.
            return;
        }
        let (client, link) = self.service_sets.client(set, client);
        let Some(agent) = self.network.radio_agent(at.node) else { return };
        let round_trip = self.tunnels.round_trip(at.node, to.node).unwrap_or_default();
        let cell = self.service_sets.cell(set);
        for frame in
            self.links.cells_mut().cell_mut(cell).withdraw(at.station, client.station, &mut self.transit)
        {
            let key = PacketKey(frame.key);
            let Self { transit, seats, .. } = self;
            let (packet, now) = (transit.packet(key), transit.now());
            if seats.call(agent, now, |agent, cx| agent.sends_after(packet, round_trip, cx)) {
                self.flows.left_queue(at.node, key, RETRY, &mut self.transit);
                self.process(at.node, key);
            } else {
                self.drop_from_queue((at.node, link), key, DropCause::NotAssociated);
            }
        }
    }

    /// Whether a packet between an access point and a client is none of the agent's, which sees the client's packets
    /// only while it serves the client. If so, the packet has been taken care of.
    pub(super) fn is_handed_over(&mut self, at: At, key: PacketKey, from: Side) -> bool {
        // Agents have no state of datagrams that they could not do without; but a translator has their mappings.
        if self.transit.packet(key).tcp().is_none() && !self.translators.has(at.0) {
            return false;
        }
        let link = self.network.interface(at).link;
        let client = self.network.link_ends(link).1;
        match self.hand_offs.passage((at.0, client), (at, key, from)) {
            Passage::Agent => return false,
            Passage::Around => self.forward(at, key, from),
            Passage::Waits => {}
            Passage::NoRoom => self.drop_on_link((at.0, Some(link)), key, DropCause::QueueFull),
        }
        true
    }
}

/// Envelopes.
impl World {
    fn send_envelope(&mut self, between: [NodeId; 2], envelope: Envelope) {
        if between[0] == between[1] {
            self.on_envelope(envelope);
            return;
        }
        let (octets, priority) = (envelope.octets(), envelope.priority());
        let sites = between.map(|node| (node, self.network.address(node)));
        let end = self.tunnels.send(sites, priority, (envelope, octets));
        self.pump_tunnel(end);
    }

    /// An envelope has reached its node.
    fn on_envelope(&mut self, envelope: Envelope) {
        let (set, client, content) = envelope.into_parts();
        match content {
            Content::Query { from, number, query } => {
                let answer = self.hand_offs.answer(set, client, from, query);
                let Some(registry) = self.hand_offs.config(set).map(|config| config.registry) else { return };
                let to = self.service_sets.access_point(set, AccessPointId(from.0)).node;
                let content = Content::Answer { to: from, number, answer };
                self.send_envelope([registry, to], Envelope::new(set, client, content));
            }
            Content::Answer { to, number, answer } => {
                let id = self.hand_off_of(Association { set, client, access_point: AccessPointId(to.0) });
                let outputs = self.hand_offs.get_mut(id).on_answer(number, answer);
                self.carry_out_hand_off(id, outputs);
            }
            Content::Rest { to, attempt, state } => {
                let id = self.hand_off_of(Association { set, client, access_point: AccessPointId(to.0) });
                self.on_rest(id, attempt, state);
            }
            Content::Redirect { from, redirects } => self.on_redirect((set, client), from, &redirects),
            Content::Redirected { to } => {
                let id = self.hand_off_of(Association { set, client, access_point: AccessPointId(to.0) });
                self.on_redirected(id);
            }
            Content::Message { from, to, message, association } => {
                let of = Association { set, client, access_point: AccessPointId(to.0) };
                let id = self.hand_off_of(of);
                if matches!(message, Message::Request { .. })
                    && association > self.hand_offs.get(id).association()
                {
                    // The client has gone there. The announcement of that may have been lost.
                    self.service_sets.remove(of, &mut self.transit);
                    self.carry_out_actions();
                }
                if let Message::Transfer { attempt, .. } = message {
                    self.hand_offs.get_mut(id).on_transfer(attempt);
                }
                if let Some(waiting) = self.redirections.get_mut(id) {
                    let content = Content::Message { from, to, message, association };
                    waiting.read_later(Envelope::new(set, client, content));
                    return;
                }
                let (client_node, node) = self.hand_offs.get(id).nodes();
                let Some(mut handoff) = self.hand_offs.get_mut(id).take() else { return };
                let freeze = || {
                    let mappings = self.export_mappings(id);
                    self.export_client(client_node, node).with_mappings(mappings)
                };
                let outputs = handoff.on_message(from, message, freeze);
                self.hand_offs.get_mut(id).restore(handoff);
                self.carry_out_hand_off(id, outputs);
            }
        }
    }

    /// A state has come to an access point that follows a transfer.
    fn on_rest(&mut self, id: HandOffId, attempt: Attempt, state: FlowState) {
        let at = self.hand_offs.get_mut(id);
        let (node, Association { set, client, .. }) = (at.nodes().1, at.of());
        match at.on_rest(attempt, state) {
            Follower::Import(state) => self.import_state(node, &state),
            Follower::Forward(attempt, state) => {
                let to_node = self.service_sets.access_point(set, AccessPointId(attempt.by.0)).node;
                let content = Content::Rest { to: attempt.by, attempt, state };
                self.send_envelope([node, to_node], Envelope::new(set, client, content));
            }
            Follower::Waits => {}
        }
    }

    /// Whether a packet that has reached a node is a tunnel's.
    pub(super) fn deliver_to_tunnel(&mut self, node: NodeId, key: PacketKey) -> bool {
        let Some(end) = self.tunnels.of_packet(node, self.transit.packet(key)) else { return false };
        self.transit.accounts_mut().consumed += 1;
        let packet = self.transit.packets_mut().take(key);
        let envelopes = self.tunnels.receive(end, &packet, self.transit.now());
        self.pump_tunnel(end);
        for envelope in envelopes {
            self.on_envelope(envelope);
        }
        true
    }

    fn pump_tunnel(&mut self, end: TunnelEndId) {
        while let Some((node, key)) = self.tunnels.transmit(end, &mut self.transit) {
            self.send_out(node, key);
        }
        self.tunnels.follow(end, &mut self.transit);
    }

    #[inline(never)]
    pub(super) fn on_tunnel_deadline(&mut self, end: TunnelEndId) {
        self.tunnels.on_deadline(end, self.transit.now());
        self.pump_tunnel(end);
    }
}

/// What follows a message to another access point: of a transfer the part that may come later, which is taken from it.
fn rest_to_send(at: &mut ClientAtAccessPoint, to: Peer, message: &mut Message<ClientState>) -> Vec<Content> {
    let Message::Transfer { attempt, state, .. } = message else { return Vec::new() };
    let (attempt, rest) = (*attempt, state.take_rest());
    let rest = if at.gives(attempt) { rest } else { Vec::new() };
    rest.into_iter().map(|state| Content::Rest { to, attempt, state }).collect()
}
