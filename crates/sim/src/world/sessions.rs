//! Sessions at work: dialogues over their connections, and calls.

use lasthop_apps::session::dialogue::DialogueEvent;
use lasthop_apps::session::{SessionOutcome, SessionSoFar};

use super::World;
use crate::id::{AgentId, ChannelEndId, NodeId, PartyId, SessionId};
use crate::packets::PacketKey;
use crate::resets;
use crate::sessions::{ChannelEnd, SessionConfig};

impl World {
    /// Adds a session. Its two hosts are not the same.
    pub fn add_session(&mut self, config: SessionConfig) -> SessionId {
        let addresses = [config.client, config.server].map(|node| self.node_address(node));
        self.sessions.add(config, addresses, self.seed, &mut self.transit)
    }

    /// All sessions in the order of addition.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + use<> {
        (0..self.sessions.count()).map(SessionId::of)
    }

    /// What became of a session by now, from its start or from [`World::start_measuring`] on.
    pub fn session_outcome(&self, session: SessionId) -> SessionOutcome {
        let nothing = SessionSoFar::default();
        let earlier = self.warm_up.session(session).unwrap_or(&nothing);
        self.sessions.outcome(session, self.now(), (self.warm_up.end(), earlier))
    }

    /// Connections of sessions that there are now, those in TIME-WAIT among them.
    pub fn open_connections(&self) -> usize {
        self.sessions.connections()
    }

    pub(super) fn on_session_stop(&mut self, id: SessionId) {
        self.sessions.stop(id, self.transit.now());
        self.tell_dialogue(id, DialogueEvent::Stop);
    }

    /// A dialogue hears of something, and does what it does then.
    pub(super) fn tell_dialogue(&mut self, id: SessionId, event: DialogueEvent) {
        // What it does may lead to more that it hears of, which needs a list of its own.
        let Some(touched) = self.sessions.tell(id, event, &mut self.transit) else { return };
        for &end in &touched {
            self.pump_channel(end);
        }
        self.sessions.put_back(id, touched, self.transit.now());
    }

    /// A connection of a dialogue has failed: the others that it talks over are given up, too.
    pub(super) fn fail_dialogue(&mut self, id: SessionId) {
        for key in self.sessions.take_lanes(id) {
            if self.sessions.abort(key) {
                self.pump_channel((key, 0));
                self.sessions.remove(key);
            }
        }
        self.tell_dialogue(id, DialogueEvent::Failed);
    }

    /// A packet has reached a host; whether it is for a connection of a session.
    pub(super) fn deliver_to_channel(&mut self, node: NodeId, key: PacketKey) -> bool {
        let Some(delivered) = self.sessions.deliver(node, key, &mut self.transit) else { return false };
        for (id, event) in delivered.events() {
            self.tell_dialogue(id, event);
        }
        self.pump_channel(delivered.to());
        true
    }

    /// Sends what an end has to send, follows its deadline, and looks whether that is its end.
    fn pump_channel(&mut self, end: ChannelEnd) {
        while let Some((key, node)) = self.sessions.transmit(end, &mut self.transit) {
            if self.originate(node, key) {
                self.route(node, key, AgentId::NONE);
            }
        }
        if let Some(failed) = self.sessions.settle(end, &mut self.transit) {
            self.fail_dialogue(failed);
        }
    }

    pub(super) fn on_channel_deadline(&mut self, id: ChannelEndId) {
        if let Some(end) = self.sessions.on_deadline(id, self.transit.now()) {
            self.pump_channel(end);
        }
    }

    /// A packet for no endpoint of a host ends here. Where connections come and go, a segment of one
    /// that is gone is answered with a reset, as a host does (RFC 9293, section 3.10.7.1).
    pub(super) fn refuse(&mut self, node: NodeId, key: PacketKey) {
        let had_any = self.sessions.had_connections();
        let reset =
            had_any.then(|| resets::in_answer_to(self.transit.packet(key), self.transit.now())).flatten();
        self.drop_unclaimed(node, key);
        if let Some(reset) = reset {
            self.send(node, reset);
        }
    }

    /// A party's next packet is due.
    pub(super) fn on_media_due(&mut self, party: PartyId) {
        if let Some((node, packet)) = self.sessions.next_media(party, self.transit.now()) {
            self.send(node, packet);
            self.sessions.schedule_media(party, &mut self.transit);
        }
    }

    /// A party is to report.
    pub(super) fn on_report_due(&mut self, party: PartyId) {
        if let Some((node, packet)) = self.sessions.report(party, &mut self.transit) {
            self.send(node, packet);
        }
    }
}
