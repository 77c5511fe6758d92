//! Sessions at work: dialogues over their connections, and calls.

use lasthop_apps::media::Call;
use lasthop_apps::session::{Activity, Dialogue, DialogueEvent, Draws, SessionOutcome, SessionSoFar};
use lasthop_nat::Protocol;

use super::World;
use super::reach::reach;
use crate::id::{ChannelEndId, DialogueId, NodeId, PartyId, SessionId};
use crate::packets::PacketKey;
use crate::resets;
use crate::schedule::Event;
use crate::sessions::dialogues::ChannelEnd;
use crate::sessions::{Hosts, SessionConfig, Work};

impl World {
    /// Adds a session. Its two hosts are not the same.
    pub fn add_session(&mut self, config: SessionConfig) -> SessionId {
        let SessionConfig { name, index, client, server, start, stop, activity } = config;
        let (id, start) = (self.sessions.next_id(), start.max(self.now()));
        let nodes = [client, server];
        let hosts = Hosts { nodes, addresses: nodes.map(|node| self.node_address(node)) };
        let draws = Draws { seed: self.seed, index, name: &name };
        let work = match activity {
            Activity::Call(media) => {
                let names = hosts.addresses.map(|address| format!("lasthop@{address}"));
                let call = Call::new(media, names, start, &draws);
                let reached = self.reach_parties(hosts, self.calls.next_port());
                let roams = nodes.iter().any(|node| self.network.is_roaming_client(*node));
                let signals = roams && self.translators.are_any();
                Work::Call(self.calls.add(id, (hosts, reached, signals), call, start, &mut self.transit))
            }
            Activity::Dialogue { dialogue, pace, tcp } => {
                let dialogue = Dialogue::new(dialogue, pace, start, draws.script());
                let dialogue = self.dialogues.add(id, hosts, dialogue, (tcp, draws.numbers()));
                self.transit.schedule(start, Event::DialogueStart(dialogue));
                Work::Dialogue(dialogue)
            }
        };
        self.sessions.add(name, (start, stop), work, &mut self.transit);
        id
    }

    /// All sessions in the order of addition.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + use<> {
        (0..self.sessions.count()).map(SessionId::from_index)
    }

    /// The outcome of a session by now, from its start or from [`World::start_measuring`] on.
    pub fn session_outcome(&self, session: SessionId) -> SessionOutcome {
        let nothing = SessionSoFar::default();
        let earlier = self.warm_up.session(session).unwrap_or(&nothing);
        let outcome = match self.sessions.work(session) {
            Work::Call(call) => self.calls.outcome_since(call, &earlier.call),
            Work::Dialogue(dialogue) => self.dialogues.outcome_since(dialogue, earlier),
        };
        self.sessions.outcome(session, (self.warm_up.end(), self.now()), outcome)
    }

    /// The state of each session's outcome so far.
    pub(super) fn sessions_so_far(&self) -> Vec<SessionSoFar> {
        let so_far = |session| match self.sessions.work(session) {
            Work::Call(call) => self.calls.so_far(call),
            Work::Dialogue(dialogue) => self.dialogues.so_far(dialogue),
        };
        self.sessions().map(so_far).collect()
    }

    /// The number of open connections of sessions, including those in TIME-WAIT.
    pub fn open_connections(&self) -> usize {
        self.dialogues.connections()
    }

    pub(super) fn on_session_stop(&mut self, id: SessionId) {
        match self.sessions.work(id) {
            Work::Call(call) => {
                self.calls.stop(call);
                self.check_call(call);
            }
            Work::Dialogue(dialogue) => self.on_dialogue_event(dialogue, DialogueEvent::Stop),
        }
    }

    /// The session of a call is done if nothing more of it is to come.
    pub(super) fn check_call(&mut self, call: usize) {
        if let Some(session) = self.calls.done(call) {
            self.sessions.on_done(session, self.transit.now());
        }
    }

    /// An event happens in a dialogue, and it does what its script does then.
    pub(super) fn on_dialogue_event(&mut self, id: DialogueId, event: DialogueEvent) {
        // Its steps may lead to further events in it, which need a list of their own.
        let Self { dialogues, translators, network, transit, .. } = self;
        let now = transit.now();
        let reach = |hosts, server| reach(network, translators, hosts, (Protocol::Tcp, server), now);
        let touched = dialogues.on_event(id, event, reach, transit);
        for &end in &touched {
            self.pump_channel(end);
        }
        if let Some(session) = self.dialogues.put_back(id, touched) {
            self.sessions.on_done(session, self.transit.now());
        }
    }

    /// A connection of a dialogue has failed: the others that it uses are given up, too.
    pub(super) fn fail_dialogue(&mut self, id: DialogueId) {
        for key in self.dialogues.take_lanes(id) {
            if self.dialogues.abort(key) {
                self.pump_channel((key, 0));
                self.dialogues.remove(key);
            }
        }
        self.on_dialogue_event(id, DialogueEvent::Failed);
    }

    /// A packet has reached a host; whether it is for a connection of a session.
    pub(super) fn deliver_to_channel(&mut self, node: NodeId, key: PacketKey) -> bool {
        let Some(delivered) = self.dialogues.deliver(node, key, &mut self.transit) else { return false };
        for (id, event) in delivered.events() {
            self.on_dialogue_event(id, event);
        }
        self.pump_channel(delivered.to());
        true
    }

    /// Sends what an end has to send, follows its deadline, and looks whether that is its end.
    fn pump_channel(&mut self, end: ChannelEnd) {
        while let Some((key, node)) = self.dialogues.transmit(end, &mut self.transit) {
            self.send_out(node, key);
        }
        if let Some(failed) = self.dialogues.check_end(end, &mut self.transit) {
            self.fail_dialogue(failed);
        }
    }

    pub(super) fn on_channel_deadline(&mut self, id: ChannelEndId) {
        if let Some(end) = self.dialogues.on_deadline(id, self.transit.now()) {
            self.pump_channel(end);
        }
    }

    /// A packet for no endpoint of a host ends here. Where connections come and go, or get other addresses, a segment
    /// of one that the host does not know is answered with a reset, as a host does (RFC 9293, section 3.10.7.1).
    pub(super) fn refuse(&mut self, node: NodeId, key: PacketKey) {
        if self.translators.are_any() && self.accept_translated(node, key) {
            return;
        }
        let had_any = self.dialogues.had_connections() || self.translators.are_any();
        let reset =
            had_any.then(|| resets::in_answer_to(self.transit.packet(key), self.transit.now())).flatten();
        self.drop_unclaimed(node, key);
        if let Some(reset) = reset {
            self.send(node, reset);
        }
    }

    /// A party's next packet is due.
    pub(super) fn on_media_due(&mut self, party: PartyId) {
        if self.translators.are_any() {
            self.signal(party);
        }
        if let Some((node, packet)) = self.calls.send(party, self.transit.now()) {
            self.send(node, packet);
            self.calls.schedule_media(party, &mut self.transit);
        }
    }

    /// A party is to report.
    pub(super) fn on_report_due(&mut self, party: PartyId) {
        if self.translators.are_any() {
            self.signal(party);
        }
        if let Some((node, packet)) = self.calls.report(party, &mut self.transit) {
            self.send(node, packet);
        }
    }
}
