//! Clients that roam: between cells, service sets, routes and agents.
//!
//! An access point that has associated a client announces it to the distribution system (`announcements`).

use std::collections::BTreeSet;
use std::time::Duration;

use lasthop_agent::Agent;
use lasthop_ess::{AccessPointId, ClientId};
use lasthop_wifi::{RawFrame, StationId};

use super::World;
use super::build::AttachError;
use crate::accounts::DropCause;
use crate::id::{LinkId, MemberId, NodeId, ServiceSetId, WlanId};
use crate::observe::TraceEvent;
use crate::packets::PacketKey;
use crate::service_sets::{
    AccessPointMember, Action, Association, ClientMember, DistributionSystem, Place, ServiceSetConfig,
};
use crate::technology::{Egress, StationEvent, Technology as _};

impl World {
    /// Makes stations of a cell the access points and clients of an extended service set, after all other nodes and links
    /// have been added. Each client gets a link, which leads to the access point that it is associated with; these links
    /// are returned. A client has no other link.
    ///
    /// The access points reach each other over wired links. The nodes on these ways, the distribution system, learn
    /// where each client is.
    ///
    /// # Panics
    ///
    /// If there is no access point, or one is off the air; and as soon as a client changes its channel if the cell has power save.
    pub fn add_service_set(
        &mut self,
        cell: WlanId,
        name: &str,
        config: ServiceSetConfig,
        access_points: Vec<AccessPointMember>,
        clients: Vec<ClientMember>,
    ) -> (ServiceSetId, Vec<LinkId>) {
        let node = |station| self.links.cells().cell(cell).node(station);
        let nodes: Vec<NodeId> = access_points.iter().map(|member| node(member.station)).collect();
        let anchor = access_points[0].station;
        let distribution = self.distribution_of(&nodes);
        let learners = distribution.nodes();
        let mut links = Vec::new();
        for station in access_points.iter().map(|member| member.station) {
            self.links.cells_mut().cell_mut(cell).needs_association(station);
        }
        let mut members = Vec::new();
        for client in clients {
            let node = self.links.cells().cell(cell).node(client.station);
            let ends = (nodes[0], node);
            let senses = self.links.cells().cell(cell).senses();
            let link = self.network.add_roaming_link(&client.link, ends, learners.clone(), senses);
            let interface = self.network.interfaces(node).len();
            let port = self.links.cells_mut().add_port(
                (link, Duration::ZERO),
                cell,
                (client.station, anchor),
                interface,
            );
            self.links.cells_mut().cell_mut(cell).needs_association(client.station);
            self.network.add_interface(node, link, Egress::Radio(port));
            links.push(link);
            members.push((client, node, link));
        }
        self.links.cells_mut().cell_mut(cell).wlan_mut().expect_moves();
        let wlan = self.links.cells().cell(cell).wlan();
        let placed = access_points.into_iter().zip(nodes).map(|(member, node)| {
            let channel = wlan.channel(member.station).expect("access points are on the air");
            (member, channel, node)
        });
        let access_points = placed.collect();
        let mut rng = self.stream(&format!("service set {name}"));
        let access_points = (access_points, distribution);
        let set = self.service_sets.add((cell, config), access_points, members, &mut rng, &mut self.transit);
        (set, links)
    }

    /// Gives an access point of a service set an agent that watches its interfaces to all clients that come.
    ///
    /// # Panics
    ///
    /// If the service set has no such access point, or no client.
    pub fn attach_to_clients(
        &mut self,
        set: ServiceSetId,
        access_point: AccessPointId,
        agent: Box<dyn Agent>,
    ) -> Result<(), AttachError> {
        let needs = agent.needs();
        let (_, anchor) = self.service_sets.client(set, ClientId(0));
        let senses = self.links.cells().cell(self.service_sets.cell(set)).senses();
        if let Some(missing) = needs.missing_from(senses) {
            return Err(AttachError::Missing(anchor, missing));
        }
        let Place { node, station } = self.service_sets.access_point(set, access_point);
        if self.network.radio_agent(node).is_some() {
            return Err(AttachError::Occupied(anchor));
        }
        let rng = self.stream(&format!("agent {} clients", self.node_name(node)));
        let id = self.seats.add(node, agent, rng);
        self.network.set_radio_agent(node, id);
        let cell = self.service_sets.cell(set);
        self.links.cells_mut().cell_mut(cell).watch_station(station, needs);
        Ok(())
    }

    fn distribution_of(&mut self, access_points: &[NodeId]) -> DistributionSystem {
        let mut steps = BTreeSet::new();
        for node in access_points {
            let routes = self.network.routes();
            let mut from = node.index();
            for hop in routes.path(node.index(), access_points[0].index()) {
                steps.insert((hop.link, from, hop.to));
                from = hop.to;
            }
        }
        let links = steps.into_iter().map(|(link, from, to)| {
            (LinkId::from_index(link), NodeId::from_index(from), NodeId::from_index(to))
        });
        DistributionSystem::new(access_points, links)
    }

    /// The access point that a client is associated with asks it to go to one of these, the preferred one first. Nothing
    /// happens if the client is not associated.
    pub fn steer(&mut self, set: ServiceSetId, client: ClientId, candidates: &[AccessPointId]) {
        self.service_sets.steer(set, client, candidates, &mut self.transit);
        self.carry_out_actions();
    }

    /// The access point that a client is associated with.
    pub fn association(&self, set: ServiceSetId, client: ClientId) -> Option<NodeId> {
        let access_point = self.service_sets.association(set, client)?;
        Some(self.service_sets.access_point(set, access_point).node)
    }

    /// Something is due at a member of a service set.
    #[inline(never)]
    pub(super) fn on_management_due(&mut self, member: MemberId) {
        self.service_sets.on_due(member, &mut self.transit);
        self.carry_out_actions();
    }

    /// Something has happened at a station that sends frames of its own.
    #[inline(never)]
    pub(super) fn on_station_event(&mut self, cell: WlanId, event: StationEvent) {
        if self.radios.are_any() {
            self.radios.on_event(cell, event);
        }
        let Self { service_sets, transit, .. } = self;
        match event {
            StationEvent::Frame { at, from, key, power, .. } => {
                service_sets.on_frame(cell, (at, from), (key, power), transit);
            }
            StationEvent::Sent { from, key, .. } => service_sets.on_sent(cell, from, key, transit),
            StationEvent::Tuned { station, channel } => {
                service_sets.on_tuned(cell, station, channel, transit);
            }
            StationEvent::NotAssociated { at, from, key } => {
                service_sets.on_data_without_association(cell, (at, from), transit);
                let node = self.links.cells().cell(cell).node(at);
                self.drop_packet(node, key, DropCause::NotAssociated);
            }
        }
        self.carry_out_actions();
    }

    /// Carries out what members of service sets ask for.
    pub(super) fn carry_out_actions(&mut self) {
        let is_passing_on = self.links.cells().are_passing_on();
        while let Some(action) = self.service_sets.next_action() {
            match action {
                Action::Send { cell, from, frame } => self.send_raw(cell, from, frame),
                Action::Tune { cell, station, channel } => {
                    self.links.cells_mut().tune(cell, station, channel, &mut self.transit);
                }
                Action::Clear { cell, station } => self.clear_queue(cell, station),
                Action::Hold { cell, from, to, limit } => self.hold(cell, (from, to), limit),
                Action::Joined(association) => self.on_joined(association),
                Action::Left(association) => self.on_left(association),
                Action::Accepted { association, previous, number } => {
                    self.on_accepted(association, previous, number);
                }
                Action::Removed(association) => self.on_removed(association),
            }
        }
        if !is_passing_on && self.links.cells().are_passing_on() {
            self.pass_on_cells();
        }
    }

    fn send_raw(&mut self, cell: WlanId, from: StationId, frame: RawFrame) {
        if !self.links.cells_mut().send_raw(cell, from, frame, &mut self.transit) {
            // There was no room: as if it had been given up.
            self.service_sets.on_sent(cell, from, frame.key, &mut self.transit);
        }
    }

    fn clear_queue(&mut self, cell: WlanId, station: StationId) {
        let cell = self.links.cells_mut().cell_mut(cell);
        let (node, gone) = (cell.node(station), cell.clear_queue(station, &mut self.transit));
        let link = self.network.interfaces(node).first().map(|interface| interface.link);
        for key in gone {
            self.drop_on_link((node, link), key, DropCause::NotAssociated);
        }
    }

    fn hold(&mut self, cell: WlanId, between: (StationId, StationId), limit: Option<usize>) {
        let Some(port) = self.links.cells().port(cell, between.0, between.1) else { return };
        self.links.cells_mut().hold(cell, between, limit, &mut self.transit);
        let Some(at) = self.links.cells().at(port) else { return };
        while let Some((key, cause)) = self.links.cells_mut().next_displaced(port.index()) {
            let link = self.network.interface(at).link;
            self.drop_from_queue((at.0, link), key, cause);
        }
    }
}

/// Associations.
impl World {
    /// A client has an access point: it sends through it from now on.
    fn on_joined(&mut self, Association { set, client, access_point }: Association) {
        let cell = self.service_sets.cell(set);
        let to = self.service_sets.access_point(set, access_point);
        let (client, link) = self.service_sets.client(set, client);
        let Some(interface) = self.network.interface_to(client.node, link) else { return };
        let Egress::Radio(port) = self.network.interface((client.node, interface)).egress else { return };
        self.network.set_access_point(link, to.node);
        let cells = self.links.cells_mut();
        cells.redirect(port, to.station);
        cells.cell_mut(cell).associate(client.station, to.station, true);
        self.network.set_default_route(client.node, Some(interface));
        self.roams.on_joined(client.node, to.node, self.transit.now());
        self.transit.emit(&TraceEvent::Joined { client: client.node, access_point: to.node });
    }

    /// A client has no access point any more: what it wanted to send is lost.
    fn on_left(&mut self, Association { set, client, access_point }: Association) {
        let cell = self.service_sets.cell(set);
        let from = self.service_sets.access_point(set, access_point);
        let (client, link) = self.service_sets.client(set, client);
        self.links.cells_mut().cell_mut(cell).associate(client.station, from.station, false);
        self.network.set_default_route(client.node, None);
        self.roams.on_left(client.node, from.node, self.transit.now());
        self.transit.emit(&TraceEvent::Left { client: client.node, access_point: from.node });
        let frames =
            self.links.cells_mut().cell_mut(cell).withdraw(client.station, from.station, &mut self.transit);
        for frame in frames {
            self.drop_from_queue((client.node, link), PacketKey(frame.key), DropCause::NotAssociated);
        }
    }

    /// An access point has associated a client: it takes packets for the client, and tells the distribution system.
    fn on_accepted(
        &mut self,
        Association { set, client, access_point }: Association,
        previous: Option<AccessPointId>,
        number: u64,
    ) {
        let cell = self.service_sets.cell(set);
        let at = self.service_sets.access_point(set, access_point);
        let (place, link) = self.service_sets.client(set, client);
        let interface = match self.network.interface_to(at.node, link) {
            Some(interface) => interface,
            None => self.add_interface_to_client(cell, (at.node, at.station), (place.station, link)),
        };
        self.links.cells_mut().cell_mut(cell).associate(at.station, place.station, true);
        self.network.learn((at.node, interface), place.node, number);
        let association = Association { set, client, access_point };
        self.announce(at.node, None, association, number);
        self.roams.on_accepted(place.node, at.node, self.transit.now());
        self.take_over(association, previous, number);
    }

    fn add_interface_to_client(
        &mut self,
        cell: WlanId,
        (node, station): (NodeId, StationId),
        (client, link): (StationId, LinkId),
    ) -> usize {
        let interface = self.network.interfaces(node).len();
        let cells = self.links.cells_mut();
        let port = cells.add_port((link, Duration::ZERO), cell, (station, client), interface);
        self.network.add_interface(node, link, Egress::Radio(port));
        self.translators.add_inside(node, interface);
        if let Some(agent) = self.network.radio_agent(node) {
            self.network.set_agent((node, interface), agent);
            let needs = self.seats.needs(agent);
            self.links.cells_mut().watch(port.index(), needs);
        }
        interface
    }

    /// An access point no longer serves a client: what waits there for the client is lost.
    fn on_removed(&mut self, Association { set, client: id, access_point }: Association) {
        let cell = self.service_sets.cell(set);
        let at = self.service_sets.access_point(set, access_point);
        let (client, link) = self.service_sets.client(set, id);
        self.links.cells_mut().cell_mut(cell).associate(at.station, client.station, false);
        if let Some(interface) = self.network.interface_to(at.node, link) {
            self.network.forget((at.node, interface), client.node);
        }
        self.hand_offs_leave(Association { set, client: id, access_point });
        let frames =
            self.links.cells_mut().cell_mut(cell).withdraw(at.station, client.station, &mut self.transit);
        for frame in frames {
            self.drop_from_queue((at.node, link), PacketKey(frame.key), DropCause::NotAssociated);
        }
    }
}
