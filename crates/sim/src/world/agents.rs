//! Agents at interfaces.

use std::collections::BTreeMap;
use std::net::IpAddr;

use lasthop_agent::{Agent, Context, LinkEvent, LinkSenses, Side, Verdict};
use lasthop_packet::Rng;

use super::{MOST_ADDRESSES, World};
use crate::accounts::DropCause;
use crate::id::{AgentId, NodeId};
use crate::observe::TraceEvent;
use crate::parcel::ParcelKey;
use crate::schedule::{Event, LazyTimer};

pub(super) struct PlacedAgent {
    pub(super) agent: Box<dyn Agent>,
    pub(super) needs: LinkSenses,
    pub(super) node: NodeId,
    /// Index of its interface at the node.
    pub(super) interface: usize,
    pub(super) rng: Rng,
    pub(super) timer: LazyTimer,
    /// Where packets went that passed here, by addresses that are not the model's: what the agent sends to one of them goes there, too.
    pub(super) ends: BTreeMap<IpAddr, NodeId>,
}

impl World {
    /// A parcel crosses an interface with an agent.
    pub(super) fn ask_agent(&mut self, node: NodeId, interface: usize, key: ParcelKey, from: Side) {
        let Some(id) = self.nodes[node.index()].interfaces[interface].agent else { return };
        self.learn_end(id, key);
        let placed = &mut self.agents[id.index()];
        let mut cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
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

    /// An agent learns of a frame's fate, if it wants to and there is one.
    pub(super) fn tell_agent(
        &mut self,
        node: NodeId,
        link: crate::LinkId,
        key: ParcelKey,
        event: impl Fn(&lasthop_packet::Packet) -> LinkEvent<'_>,
    ) {
        let interfaces = &self.nodes[node.index()].interfaces;
        let Some(id) = interfaces.iter().find(|interface| interface.link == link).and_then(|i| i.agent)
        else {
            return;
        };
        let placed = &mut self.agents[id.index()];
        if !placed.needs.contains(LinkSenses::FRAME_FATE) {
            return;
        }
        let mut cx = Context::new(self.now, &mut placed.rng, &mut self.outbox);
        placed.agent.on_link(&event(self.parcels[key].packet()), &mut cx);
        self.after_call(id);
    }

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
        let (node, interface) = (placed.node, placed.interface);
        let deadline = placed.agent.deadline().map(|deadline| deadline.at.max(self.now));
        placed.timer.follow(deadline, Event::AgentDeadline(id), &mut self.schedule);
        // Asking costs nothing here.
        self.outbox.bypasses.clear();
        if self.outbox.packets.is_empty() && self.outbox.reports.is_empty() {
            return;
        }
        // Sending may lead to further calls, which need an outbox of their own.
        let mut outbox = std::mem::take(&mut self.outbox);
        for report in outbox.reports.drain(..) {
            self.reported.count(report.counter, report.amount);
            self.emit(&TraceEvent::AgentReport { node, report: &report });
        }
        for (to, packet) in outbox.packets.drain(..) {
            self.datagram_added(&packet);
            let end = self.agents[id.index()].ends.get(&packet.ip().destination).copied();
            let Some(key) = self.parcels.insert(|| Some(packet)) else { continue };
            match end {
                Some(end) => self.originate_to(end, key),
                None if self.originate(node, key) => {}
                None => continue,
            }
            match to {
                Side::Core => self.route(node, key, false),
                Side::Radio => self.transmit(node, interface, key),
            }
        }
        self.outbox = outbox;
    }

    /// Real hosts' addresses are not the model's, and the same one may be behind different ends, seen from different links.
    fn learn_end(&mut self, id: AgentId, key: ParcelKey) {
        let parcel = &self.parcels[key];
        let (address, end) = (parcel.packet().ip().destination, parcel.destination);
        if self.resolve(address) == Some(end) {
            return;
        }
        let ends = &mut self.agents[id.index()].ends;
        if ends.len() < MOST_ADDRESSES || ends.contains_key(&address) {
            ends.insert(address, end);
        }
    }
}
