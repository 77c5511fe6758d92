//! Datagrams of flows on their way: sent, received, and gone.

use std::time::Duration;

use lasthop_packet::{Instant, Packet, Udp};

use super::World;
use crate::id::{AgentId, FlowId, NodeId, PipeId};
use crate::network::Interface;
use crate::observe::{Interest, TraceEvent};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::technology::Egress;

/// How long after a datagram a saturating source sends the next, where it was taken away before it
/// could leave a queue.
pub(super) const RETRY: Duration = Duration::from_millis(1);

impl World {
    /// Sends a flow's next datagram; a source that saturates the first queue (`saturates`) is to
    /// send another when this one has left it.
    pub(super) fn send_datagram(&mut self, id: FlowId, saturates: bool) {
        let now = self.transit.now();
        let flow = &mut self.hosts.flows[id.index()];
        let (from, to) = (flow.from, flow.to);
        let Some(datagrams) = flow.datagrams() else { return };
        datagrams.is_due = false;
        let gone = datagrams.gone();
        let packet = datagrams.send(now);
        let len = packet.len();
        let first_pipe = if saturates { self.first_pipe(from, to, Some(&packet)) } else { None };
        let free_at = first_pipe.map(|pipe| self.links.wired.pipe(pipe).free_at());

        let key = self.transit.packets_mut().insert(packet);
        self.transit.trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramSent { flow: id, packet });
        if self.originate(from, key) {
            self.route(from, key, AgentId::NONE);
        }
        if !saturates {
            return;
        }
        if let (Some(pipe), Some(free_at)) = (first_pipe, free_at) {
            let pipe = self.links.wired.pipe(pipe);
            let start = free_at.max(now);
            let at = match pipe.free_at() {
                // It is the last in the queue, or on its way already.
                after if after > start => start,
                // It was refused.
                after if after > now => pipe.moves_at(now),
                // It took no time, by a coarse clock: sending again at once would never end.
                _ => now + pipe.exact_time(len).max(Duration::from_nanos(1)),
            };
            if at == Instant::MAX {
                // Nothing leaves a link that is stalled.
                self.stalled_sources.push((id, from, to));
            } else {
                self.transit.schedule(at, Event::FlowWrite(id));
            }
        } else if let Some(datagrams) = self.hosts.flows[id.index()].datagrams()
            && datagrams.gone() != gone
            && !std::mem::replace(&mut datagrams.is_due, true)
        {
            self.transit.schedule(now + RETRY, Event::FlowWrite(id));
        }
    }

    /// A link has another rate: sources that saturate it go on.
    pub(super) fn resume_sources(&mut self) {
        for (id, from, to) in std::mem::take(&mut self.stalled_sources) {
            let moves_at = self
                .first_pipe(from, to, None)
                .map(|pipe| self.links.wired.pipe(pipe).moves_at(self.transit.now()));
            match moves_at {
                Some(Instant::MAX) => self.stalled_sources.push((id, from, to)),
                moves_at => {
                    let at = moves_at.unwrap_or_default().max(self.transit.now());
                    self.transit.schedule(at, Event::FlowWrite(id));
                }
            }
        }
    }

    /// The first link of the way from one node to another, if it is a wired one with a plain
    /// queue, which tells beforehand when a packet leaves it; or the way around it, for a packet that
    /// the link does not impair.
    fn first_pipe(&mut self, from: NodeId, to: NodeId, packet: Option<&Packet>) -> Option<PipeId> {
        let at = (from, self.network.interface_towards(from, to)?);
        let Interface { link, egress: Egress::Pipe(pipe), .. } = *self.network.interface(at) else {
            return None;
        };
        let packet = packet.filter(|_| self.selective.are_any);
        let around = packet.and_then(|packet| self.selective.way_around(at, link, packet));
        Some(around.unwrap_or(pipe))
    }

    /// A datagram has reached the host that it is for.
    pub(super) fn deliver_datagram(&mut self, node: NodeId, key: PacketKey, udp: Udp) {
        let packet = self.transit.packet(key);
        let Some(id) =
            self.hosts.flow_of_datagram(packet, udp).filter(|id| self.hosts.flows[id.index()].to == node)
        else {
            if !self.deliver_to_call(node, key, udp) {
                self.deliver_otherwise(node, key);
            }
            return;
        };
        self.transit.accounts_mut().consumed += 1;
        self.transit
            .trace(Interest::DATAGRAMS, key, |packet| TraceEvent::DatagramReceived { flow: id, packet });
        let flow = &mut self.hosts.flows[id.index()];
        if let Some(datagrams) = flow.datagrams() {
            flow.corrupted |= !datagrams.receive(self.transit.packet(key), self.transit.now());
        }
        self.transit.packets_mut().remove(key);
        self.hosts.check_if_done(id, &mut self.transit);
    }
}
