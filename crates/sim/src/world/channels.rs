//! Connections of sessions at work: segments in and out, deadlines, ends.

use super::World;
use crate::channels::{ChannelKey, Taken};
use crate::id::{AgentId, ChannelEndId, NodeId};
use crate::packets::PacketKey;
use crate::resets;
use crate::schedule::Event;
use crate::sessions::Work;
use lasthop_apps::session::dialogue::DialogueEvent;
use lasthop_apps::session::script::Party;

impl World {
    /// A packet has reached a host; whether it is for a connection of a session.
    pub(super) fn deliver_to_channel(&mut self, node: NodeId, arrived: PacketKey) -> bool {
        let packet = self.transit.packet(arrived);
        let Some((key, end)) = self.sessions.channels.endpoint(node, packet) else { return false };
        let Some(channel) = self.sessions.channels.get(key) else { return false };
        let Taken { octets, messages, is_wrong } = channel.receive(end, packet, self.transit.now());
        self.transit.accounts_mut().consumed += 1;
        let (id, lane) = (channel.session, channel.lane);
        self.transit.packets_mut().remove(arrived);
        let session = &mut self.sessions.list[id.index()];
        session.corrupted |= is_wrong;
        if let Work::Dialogue(talk) = &mut session.work {
            talk.dialogue.note_received(octets);
        }
        if let Some(lane) = lane {
            for _ in 0..messages {
                self.tell_dialogue(id, DialogueEvent::Arrived(lane, Party::of(end)));
            }
        }
        self.pump_channel(key, end);
        true
    }

    /// A packet for no endpoint of a host ends here. Where connections come and go, a segment of one
    /// that is gone is answered with a reset, as a host does (RFC 9293, section 3.10.7.1).
    pub(super) fn refuse(&mut self, node: NodeId, arrived: PacketKey) {
        let packet = self.transit.packet(arrived);
        let were_any = self.sessions.channels.were_any();
        let reset = were_any.then(|| resets::in_answer_to(packet, self.transit.now())).flatten();
        self.drop_unclaimed(node, arrived);
        if let Some(reset) = reset.map(|reset| self.transit.packets_mut().insert(reset))
            && self.originate(node, reset)
        {
            self.route(node, reset, AgentId::NONE);
        }
    }

    /// Sends what an end has to send, follows its deadline, and looks whether that is its end.
    pub(super) fn pump_channel(&mut self, key: ChannelKey, end: usize) {
        let now = self.transit.now();
        loop {
            let Some(channel) = self.sessions.channels.get(key) else { return };
            let node = channel.nodes[end];
            let tcp = &mut channel.ends[end].tcp;
            let Some(packet) = self.transit.packets_mut().insert_made(|place| tcp.transmit_into(place, now))
            else {
                break;
            };
            if self.originate(node, packet) {
                self.route(node, packet, AgentId::NONE);
            }
        }
        let Some(channel) = self.sessions.channels.get(key) else { return };
        let of = &mut channel.ends[end];
        let deadline = of.tcp.deadline().map(|deadline| deadline.at.max(now));
        let event = Event::ChannelDeadline(key.end(end));
        self.transit.follow(&mut of.timer, deadline, event);
        self.settle_channel(key);
    }

    pub(super) fn on_channel_deadline(&mut self, id: ChannelEndId) {
        let now = self.transit.now();
        // A deadline of one that had this place before may come to this one: it is early then.
        let Some((key, end)) = self.sessions.channels.of_end(id) else { return };
        let Some(channel) = self.sessions.channels.get(key) else { return };
        let of = &mut channel.ends[end];
        if !of.timer.fired(now) {
            return;
        }
        if of.tcp.deadline().is_some_and(|deadline| deadline.at <= now) {
            of.tcp.on_deadline(now);
        }
        self.pump_channel(key, end);
    }

    /// Looks whether a connection is over, has failed, or only waits.
    fn settle_channel(&mut self, key: ChannelKey) {
        let Some(channel) = self.sessions.channels.get(key) else { return };
        if channel.has_failed() {
            let (id, lane) = (channel.session, channel.lane);
            self.remove_channel(key);
            if lane.is_some() {
                self.fail_dialogue(id);
            }
        } else if channel.is_over() {
            let (id, is_cut_short) = (channel.session, channel.lane.is_some() && channel.has_unsaid());
            self.remove_channel(key);
            if is_cut_short {
                self.fail_dialogue(id);
            }
        } else if !channel.is_waiting && channel.only_waits() {
            channel.is_waiting = true;
            if let Some(oldest) = self.sessions.channels.wait(key) {
                self.remove_channel(oldest);
            }
        }
    }

    /// A connection is gone.
    pub(super) fn remove_channel(&mut self, key: ChannelKey) {
        let Some(channel) = self.sessions.channels.remove(key) else { return };
        if let Work::Dialogue(talk) = &mut self.sessions.list[channel.session.index()].work {
            for end in &channel.ends {
                talk.dialogue.count(end.tcp.stats());
            }
            if let Some(lane) = channel.lane.and_then(|lane| talk.lanes.get_mut(lane)) {
                *lane = None;
            }
        }
    }

    /// Connections of sessions that there are now, those in TIME-WAIT among them.
    pub fn open_connections(&self) -> usize {
        self.sessions.channels.len()
    }
}
