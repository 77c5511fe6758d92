//! Packets that a node translates.

use std::net::IpAddr;

use lasthop_nat::{Nat, NatConfig, Refusal};

use super::World;
use crate::accounts::DropCause;
use crate::config::NodeKind;
use crate::id::{AgentId, At, LinkId, NodeId};
use crate::packets::PacketKey;
use crate::translation::TranslateError;

/// Where a node that translates has an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Inside,
    Outside,
    /// It is the node's own, or there is no way to it.
    Unknown,
}

impl World {
    /// A router translates addresses: `inside` are its links to the inside, and those to clients that associate with it;
    /// all others lead outside ([`crate::translation`]). Its outside addresses must be its own or no node's. Call it
    /// before flows and sessions are added.
    pub fn translate(
        &mut self,
        node: NodeId,
        inside: &[LinkId],
        config: NatConfig,
    ) -> Result<(), TranslateError> {
        if self.network.kind(node) != NodeKind::Router {
            return Err(TranslateError::NotARouter);
        }
        if self.translators.has(node) {
            return Err(TranslateError::Twice);
        }
        let mut interfaces = Vec::with_capacity(inside.len());
        for &link in inside {
            let interface = self.network.interface_to(node, link);
            interfaces.push(interface.ok_or(TranslateError::NotItsLink(link))?);
        }
        for &address in &config.outside {
            if self.network.resolve(&address.into()).is_some_and(|owner| owner != node) {
                return Err(TranslateError::NotItsAddress(address));
            }
        }
        let rng = self.stream(&format!("translator {}", self.node_name(node)));
        let outside = config.outside.clone();
        let nat = Nat::new(config, rng)?;
        for address in outside {
            if self.network.resolve(&address.into()).is_none() {
                self.network.add_address(node, address.into());
            }
        }
        self.translators.add(node, &interfaces, nat);
        self.network.set_gates(node);
        self.flows.expect_translation();
        self.calls.expect_translation();
        Ok(())
    }

    /// The translator of a node.
    pub fn translator(&self, node: NodeId) -> Option<&Nat> {
        self.translators.nat(node)
    }

    /// The same, so that the state of a host moves to another one.
    pub fn translator_mut(&mut self, node: NodeId) -> Option<&mut Nat> {
        self.translators.nat_mut(node)
    }

    /// A packet is about to leave by an interface, in a world with translators. It is translated if it leaves
    /// to the outside. Whether it may leave; otherwise it is dropped, or waits.
    #[cold]
    pub(super) fn may_leave(&mut self, (node, interface): At, key: PacketKey, sender: AgentId) -> bool {
        if !self.translators.has(node) {
            return true;
        }
        let is_inside = self.translators.is_inside(node, interface);
        if !is_inside && self.waits_for_mappings(node, key, sender) {
            return false;
        }
        let source = self.transit.packet(key).ip().source;
        match self.locate(node, source) {
            // An agent sends in the name of an outside host. No other packet comes here untranslated.
            Where::Outside if is_inside && sender == AgentId::NONE => {
                self.drop_packet(node, key, DropCause::Translation(Refusal::NoMapping));
                false
            }
            Where::Inside | Where::Unknown if !is_inside && !self.is_own(node, source) => {
                self.translate_packet(node, true, key)
            }
            _ => true,
        }
    }

    /// A packet for an outside address of a node that translates.
    #[cold]
    pub(super) fn arrive_at_translator(&mut self, node: NodeId, key: PacketKey) {
        let source = self.transit.packet(key).ip().source;
        let is_from_inside = self.locate(node, source) == Where::Inside;
        if !self.translate_packet(node, is_from_inside, key) {
            return;
        }
        let destination = self.network.resolve(&self.transit.packet(key).ip().destination);
        let destination = destination.filter(|destination| *destination != node);
        let way = destination.and_then(|to| Some((to, self.network.interface_towards(node, to)?)));
        // A host that has gone may be reached by an outside link, on which no packet has its address.
        let way = way.filter(|(_, interface)| self.translators.is_inside(node, *interface));
        let Some((destination, interface)) = way else {
            self.drop_packet(node, key, DropCause::NoRoute);
            return;
        };
        self.transit.packets_mut().set_destination(key, destination);
        self.leave_translated((node, interface), key, AgentId::NONE);
    }

    /// Translates a packet, or drops it. Whether it is still there.
    fn translate_packet(&mut self, node: NodeId, is_from_inside: bool, key: PacketKey) -> bool {
        if self.transit.packets().is_damaged(key) {
            self.drop_packet(node, key, DropCause::WrongChecksum);
            return false;
        }
        let Self { transit, translators, .. } = self;
        let now = transit.now();
        let edit = |packet: &mut _| translators.translate(node, is_from_inside, packet, now);
        match transit.packets_mut().edit(key, edit) {
            Ok(()) => true,
            Err(refusal) => {
                self.drop_packet(node, key, DropCause::Translation(refusal));
                false
            }
        }
    }

    /// Where a node that translates has this address. A host that has mappings is inside, even if it has gone
    /// and its last packets come after the route to it has changed.
    fn locate(&mut self, node: NodeId, address: IpAddr) -> Where {
        if let IpAddr::V4(v4) = address
            && self.translators.nat(node).is_some_and(|nat| nat.has_host(v4))
        {
            return Where::Inside;
        }
        let owner = self.network.resolve(&address);
        match owner.and_then(|owner| self.network.interface_towards(node, owner)) {
            Some(interface) if self.translators.is_inside(node, interface) => Where::Inside,
            // A client that has gone, of which packets come late.
            _ if owner.is_some_and(|owner| self.network.interface_of_client(node, owner).is_some()) => {
                Where::Inside
            }
            Some(_) => Where::Outside,
            None => Where::Unknown,
        }
    }

    /// Whether an address is one of a node's own.
    fn is_own(&self, node: NodeId, address: IpAddr) -> bool {
        let IpAddr::V4(v4) = address else { return self.network.address(node) == address };
        let is_outside = || self.translators.nat(node).is_some_and(|nat| nat.has_address(v4));
        self.network.address(node) == address || is_outside()
    }
}
