//! Clients' entries in the translation tables of access points, which follow their clients; and the central translator,
//! which redirects its own entries to them (CICADA, section III): between hand-offs and translators.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use lasthop_agent::{Counter, Report, Side};
use lasthop_ess::{AccessPointId, ClientId};
use lasthop_handoff::Peer;
use lasthop_nat::{Mapping, Redirect};
use lasthop_packet::Instant;

use crate::accounts::DropCause;
use crate::hand_offs::{ClientState, Content, Envelope, Passage};
use crate::id::{AgentId, HandOffId, NodeId, ServiceSetId};
use crate::packets::PacketKey;
use crate::service_sets::Association;
use crate::world::World;

/// Packets of a client that has gone are still under way to its former access point for this time at most.
const LATE: Duration = Duration::from_secs(1);

static NOT_CONTINUED: Counter =
    Counter::new("mappings_not_continued", "clients whose translations an access point could not continue");
static NOT_REDIRECTED: Counter = Counter::new(
    "mappings_not_redirected",
    "clients whose translations the central translator did not redirect",
);

impl World {
    /// An access point is to serve a client with this state: at once, or when the central translator has answered.
    pub(super) fn take_up(
        &mut self,
        id: HandOffId,
        (client, node): (NodeId, NodeId),
        state: Option<ClientState>,
    ) {
        let Association { set, client: client_id, access_point } = self.hand_offs.get(id).of();
        let Some(central) = self.hand_offs.config(set).and_then(|config| config.central) else {
            self.serve_client(id, (client, node), state.as_ref());
            return;
        };
        let redirects =
            self.continue_mappings((client, node), state.as_ref().map_or(&[], ClientState::mappings));
        match state {
            Some(state) if !redirects.is_empty() => {
                self.redirections.wait(id, state);
                let content = Content::Redirect { from: Peer(access_point.0), redirects };
                self.send_envelope([node, central], Envelope::new(set, client_id, content));
            }
            state => self.serve_client(id, (client, node), state.as_ref()),
        }
    }

    /// An access point continues a client's mappings. Returns those that the central translator knows by another
    /// endpoint.
    fn continue_mappings(&mut self, (client, node): (NodeId, NodeId), mappings: &[Mapping]) -> Vec<Redirect> {
        let (now, host) = (self.transit.now(), self.host_address(client));
        let (Some(host), Some(nat)) = (host, self.translators.nat_mut(node)) else { return Vec::new() };
        // It may have kept them for a client that has come back. Forwardings of one that has just come are new.
        if nat.resume(host) {
            nat.remove(host);
        }
        let Ok(mut redirects) = nat.import(mappings, now) else {
            self.transit.report(node, &Report::new(&NOT_CONTINUED));
            return Vec::new();
        };
        redirects.retain(|redirect| redirect.from != redirect.to);
        redirects
    }

    /// The central translator redirects a client's mappings, if the access point that asks for it has the new endpoints.
    pub(super) fn on_redirect(
        &mut self,
        (set, client): (ServiceSetId, ClientId),
        from: Peer,
        redirects: &[Redirect],
    ) {
        let Some(central) = self.hand_offs.config(set).and_then(|config| config.central) else { return };
        let to = self.service_sets.access_point(set, AccessPointId(from.0)).node;
        let now = self.transit.now();
        let is_its_own = |redirect: &Redirect| {
            self.translators.nat(to).is_some_and(|nat| nat.has_address(redirect.to.address))
        };
        let is_done = redirects.iter().all(is_its_own)
            && self.translators.nat_mut(central).is_some_and(|nat| nat.redirect(redirects, now).is_ok());
        if !is_done {
            self.transit.report(central, &Report::new(&NOT_REDIRECTED));
        }
        let content = Content::Redirected { to: from };
        self.send_envelope([central, to], Envelope::new(set, client, content));
    }

    /// The central translator has answered: the client is served, whatever the answer.
    pub(super) fn on_redirected(&mut self, id: HandOffId) {
        let Some(waiting) = self.redirections.take(id) else { return };
        let (state, unsent, unread) = waiting.into_parts();
        let nodes = self.hand_offs.get(id).nodes();
        self.serve_client(id, nodes, Some(&state));
        for (to, envelope) in unsent {
            self.send_envelope([nodes.1, to], envelope);
        }
        for envelope in unread {
            self.on_envelope(envelope);
        }
    }

    /// The client's mappings at an access point that gives them away. They stay there, so that nobody else gets their
    /// ports, but no packet passes any more.
    pub(super) fn export_mappings(&mut self, id: HandOffId) -> Vec<Mapping> {
        let Some((node, host)) = self.moving_host(id) else { return Vec::new() };
        let now = self.transit.now();
        let Some(nat) = self.translators.nat_mut(node) else { return Vec::new() };
        nat.hold(host, Instant::MAX, now);
        nat.export(host, now)
    }

    /// An access point no longer needs a client's mappings. What still comes of the client gets no new ones.
    pub(super) fn release_mappings(&mut self, id: HandOffId) {
        drop(self.redirections.take(id));
        let Some((node, host)) = self.moving_host(id) else { return };
        let now = self.transit.now();
        if let Some(nat) = self.translators.nat_mut(node) {
            nat.remove(host);
            nat.hold(host, now + LATE, now);
        }
    }

    /// The access point and the address of a client whose mappings move.
    fn moving_host(&self, id: HandOffId) -> Option<(NodeId, Ipv4Addr)> {
        let of = self.hand_offs.get(id);
        self.hand_offs.config(of.of().set)?.central?;
        let (client, node) = of.nodes();
        Some((node, self.host_address(client)?))
    }

    fn host_address(&self, host: NodeId) -> Option<Ipv4Addr> {
        match self.network.address(host) {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        }
    }

    /// Whether a client's packet, which is about to leave its access point, waits for the client's mappings. If so, it
    /// has been taken care of.
    pub(in crate::world) fn waits_for_mappings(
        &mut self,
        node: NodeId,
        key: PacketKey,
        sender: AgentId,
    ) -> bool {
        if sender != AgentId::NONE || !self.hand_offs.are_any() {
            return false;
        }
        let Some(client) = self.network.resolve(&self.transit.packet(key).ip().source) else { return false };
        let Some(interface) = self.network.interface_of_client(node, client) else { return false };
        match self.hand_offs.passage((node, client), ((node, interface), key, Side::Radio)) {
            Passage::Agent | Passage::Around => false,
            Passage::Waits => true,
            Passage::NoRoom => {
                self.drop_packet(node, key, DropCause::QueueFull);
                true
            }
        }
    }
}
