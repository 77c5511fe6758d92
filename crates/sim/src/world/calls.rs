//! Packets of calls on their way: sent, received, and gone; and the reports on them.

use lasthop_packet::{Instant, Packet, Udp};

use super::World;
use crate::id::{AgentId, NodeId, PartyId, SessionId};
use crate::packets::PacketKey;
use crate::schedule::Event;
use lasthop_apps::media::Call;
use lasthop_apps::session::Draws;
use lasthop_apps::traffic::Media;

impl World {
    /// A call between two hosts, whose streams start at `start`.
    pub(super) fn add_call(
        &mut self,
        id: SessionId,
        ends: [NodeId; 2],
        media: [Option<Media>; 2],
        start: Instant,
        draws: &Draws<'_>,
    ) -> usize {
        let ends = ends.map(|node| (node, self.node_address(node)));
        let names = ends.map(|(_, address)| format!("lasthop@{address}"));
        let call = Call::new(media, names, start, draws);
        let call = self.sessions.calls.add(id, ends, call);
        for side in 0..2 {
            let party = PartyId::of(2 * call + side);
            let of = &mut self.sessions.calls.of(party).call;
            if let Some(next) = of.next(side) {
                self.transit.schedule(next, Event::MediaDue(party));
            }
            let report_at = of.next_report(side, start);
            self.transit.schedule(report_at, Event::ReportDue(party));
        }
        call
    }

    /// A party's next packet is due.
    pub(super) fn on_media_due(&mut self, party: PartyId) {
        if self.sessions.calls.of(party).is_stopped {
            return;
        }
        let Some(packet) = self.sessions.calls.send(party, self.transit.now()) else { return };
        self.send_of_call(party, packet);
        if let Some(next) = self.sessions.calls.of(party).call.next(party.index() % 2) {
            self.transit.schedule(next.max(self.transit.now()), Event::MediaDue(party));
        }
    }

    /// A party is to report.
    pub(super) fn on_report_due(&mut self, party: PartyId) {
        let now = self.transit.now();
        let call = self.sessions.calls.of(party);
        if call.is_stopped {
            return;
        }
        let packet = call.report(party, now);
        let next = call.call.next_report(party.index() % 2, now);
        self.transit.schedule(next, Event::ReportDue(party));
        self.send_of_call(party, packet);
    }

    fn send_of_call(&mut self, party: PartyId, packet: Packet) {
        let node = self.sessions.calls.of(party).ends[party.index() % 2];
        let key = self.transit.packets_mut().insert(packet);
        if self.originate(node, key) {
            self.route(node, key, AgentId::NONE);
        }
    }

    /// A datagram has reached a host; whether it is a call's.
    pub(super) fn deliver_to_call(&mut self, node: NodeId, key: PacketKey, udp: Udp) -> bool {
        let packet = self.transit.packet(key);
        let Some(received) = self.sessions.calls.find(packet, udp) else { return false };
        let now = self.transit.now();
        let call = self.sessions.calls.of(received.from);
        if call.ends[1 - received.from.index() % 2] != node {
            return false;
        }
        let is_right = call.receive(received, packet, now);
        self.transit.accounts_mut().consumed += 1;
        let id = call.session;
        self.sessions.list[id.index()].corrupted |= !is_right;
        self.transit.packets_mut().remove(key);
        self.sessions.check_if_done(id, now);
        true
    }

    /// A packet has left the network before its destination.
    pub(super) fn packet_gone(&mut self, packet: &Packet) {
        self.hosts.datagram_gone(packet, &mut self.transit);
        if let Some((of, side)) = self.sessions.calls.stream_of(packet) {
            of.call.note_gone(side);
            let id = of.session;
            self.sessions.check_if_done(id, self.transit.now());
        }
    }

    /// An agent sends a packet.
    pub(super) fn packet_added(&mut self, key: PacketKey) {
        let packet = self.transit.packet(key);
        self.hosts.datagram_added(packet);
        if let Some((of, side)) = self.sessions.calls.stream_of(packet) {
            of.call.note_added(side);
        }
    }
}
