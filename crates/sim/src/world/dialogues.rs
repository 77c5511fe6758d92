//! Dialogues: what happens to them, and what they do with connections.

use std::time::Duration;

use lasthop_packet::Seq;
use lasthop_tcp::Connection;

use super::World;
use crate::channels::ChannelKey;
use crate::id::SessionId;
use crate::schedule::Event;
use crate::sessions::{Talk, Work};
use lasthop_apps::session::dialogue::DialogueEvent;
use lasthop_apps::session::script::{Lane, Party, Step};

/// How long a client takes to find that it has no port for a connection: it does not try again at
/// once and for ever.
const NO_PORT: Duration = Duration::from_secs(1);

impl World {
    /// A dialogue hears of something, and does what it does then.
    pub(super) fn tell_dialogue(&mut self, id: SessionId, happening: DialogueEvent) {
        let now = self.transit.now();
        let Work::Dialogue(talk) = &mut self.sessions.list[id.index()].work else { return };
        // What it does may lead to more that it hears of, which needs a list of its own.
        let mut steps = std::mem::take(&mut talk.steps);
        if let Some(at) = talk.dialogue.on_event(happening, now, &mut steps) {
            self.transit.schedule(at.max(now), Event::DialogueDue(id));
        }
        let mut touched: Vec<(ChannelKey, usize)> = std::mem::take(&mut talk.touched);
        for step in steps.drain(..) {
            if let Some(end) = self.take_step(id, step)
                && touched.last() != Some(&end)
            {
                touched.push(end);
            }
        }
        let Work::Dialogue(talk) = &mut self.sessions.list[id.index()].work else { return };
        talk.steps = steps;
        for (key, end) in touched.drain(..) {
            self.pump_channel(key, end);
        }
        let Work::Dialogue(talk) = &mut self.sessions.list[id.index()].work else { return };
        talk.touched = touched;
        self.sessions.check_if_done(id, now);
    }

    /// Does a step; the end of a connection that may have something to send then.
    fn take_step(&mut self, id: SessionId, step: Step) -> Option<(ChannelKey, usize)> {
        match step {
            Step::Open { lane, port } => {
                self.open_channel(id, lane, port);
                self.lane_of(id, lane).map(|key| (key, 0))
            }
            Step::Write { lane, from, octets } => {
                let key = self.lane_of(id, lane)?;
                self.sessions.channels.get(key)?.write(from.index(), octets);
                Some((key, from.index()))
            }
            Step::Close { lane, from } => {
                let key = self.lane_of(id, lane)?;
                self.sessions.channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
            Step::Leave { lane, from } => {
                let key = self.lane_of(id, lane)?;
                self.leave_lane(id, lane);
                self.sessions.channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
        }
    }

    fn talk(&mut self, id: SessionId) -> Option<&mut Talk> {
        match &mut self.sessions.list[id.index()].work {
            Work::Dialogue(talk) => Some(talk),
            Work::Call(_) => None,
        }
    }

    fn lane_of(&mut self, id: SessionId, lane: Lane) -> Option<ChannelKey> {
        self.talk(id)?.lanes.get(lane).copied().flatten()
    }

    /// A script calls a connection no more.
    fn leave_lane(&mut self, id: SessionId, lane: Lane) {
        let Some(key) = self.talk(id).and_then(|talk| talk.lanes.get_mut(lane)?.take()) else { return };
        if let Some(channel) = self.sessions.channels.get(key) {
            channel.lane = None;
        }
    }

    /// The client opens a connection. Where it has no port for it, the transaction has failed a
    /// moment later.
    fn open_channel(&mut self, id: SessionId, lane: Lane, port: u16) {
        self.leave_lane(id, lane);
        let Some(talk) = self.talk(id) else { return };
        let nodes = talk.nodes;
        let (iss, irs) = (Seq(talk.numbers.next_u64() as u32), Seq(talk.numbers.next_u64() as u32));
        let configs = [talk.tcp.client.clone(), talk.tcp.server.clone()];
        let parts = [Party::Client, Party::Server].map(|party| (talk.tcp.extensions)(party));
        let addresses = nodes.map(|node| self.node_address(node));
        let remote = (addresses[1], port);
        let Some(local_port) = self.sessions.channels.free_port(nodes[0], remote) else {
            self.transit.schedule(self.transit.now() + NO_PORT, Event::DialogueRefused(id));
            return;
        };
        let local = (addresses[0], local_port);
        let [of_client, of_server] = configs;
        let mut ends =
            [Connection::connect(of_client, local, remote, iss), Connection::listen(of_server, remote, irs)];
        let mut parts = parts.into_iter();
        ends = ends.map(|end| {
            let (sender, receiver) = parts.next().unwrap_or_default();
            end.with_sender_extension(sender).with_receiver_extension(receiver)
        });
        let key = self.sessions.channels.add((id, lane), nodes, [local, remote], ends);
        if let Some(talk) = self.talk(id) {
            if talk.lanes.len() <= lane {
                talk.lanes.resize(lane + 1, None);
            }
            talk.lanes[lane] = Some(key);
        }
    }

    /// A connection of a dialogue has failed: the others that it talks over are given up, too.
    pub(super) fn fail_dialogue(&mut self, id: SessionId) {
        let Some(talk) = self.talk(id) else { return };
        let lanes: Vec<ChannelKey> = talk.lanes.drain(..).flatten().collect();
        for key in lanes {
            if let Some(channel) = self.sessions.channels.get(key) {
                channel.lane = None;
                channel.ends[0].tcp.abort();
                self.pump_channel(key, 0);
                self.remove_channel(key);
            }
        }
        self.tell_dialogue(id, DialogueEvent::Failed);
    }
}
