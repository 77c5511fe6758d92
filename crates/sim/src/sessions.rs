//! The sessions of a world, and what they have at work: calls, dialogues and their connections.

mod calls;
mod channels;

use std::net::IpAddr;
use std::time::Duration;

use lasthop_apps::measured::Measured;
use lasthop_apps::media::Call;
use lasthop_apps::session::dialogue::{Dialogue, DialogueEvent};
use lasthop_apps::session::script::{Lane, Party, Step};
use lasthop_apps::session::{
    Activity, DialogueOutcome, Draws, SessionOutcome, SessionResult, SessionSoFar, SessionTcp,
};
use lasthop_packet::{Instant, Packet, Rng, Seq};
use lasthop_tcp::Connection;

use crate::id::{ChannelEndId, NodeId, PartyId, SessionId};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;
use calls::Calls;
use channels::{Channel, Channels, Taken};

pub(crate) use channels::ChannelKey;

/// How long a client takes to find that it has no port for a connection: it does not try again at
/// once and for ever.
const NO_PORT: Duration = Duration::from_secs(1);

/// A session between two hosts.
pub struct SessionConfig {
    /// Its name, for reports.
    pub name: String,
    /// How many sessions the scenario has before it: with its name and the seed it decides what the
    /// session draws ([`lasthop_apps::session::Draws`]), whichever of the others this world has.
    pub index: usize,
    /// The host that begins: a client, or one party of a call.
    pub client: NodeId,
    /// The other host.
    pub server: NodeId,
    /// When it starts.
    pub start: Instant,
    /// When it stops: nothing new is begun, and no packet of a call is sent; `None` for never.
    pub stop: Option<Instant>,
    /// What they do.
    pub activity: Activity,
}

#[derive(Default)]
pub(crate) struct Sessions {
    list: Vec<Session>,
    calls: Calls,
    channels: Channels,
    /// Sessions that are to be stopped and are not done yet.
    unfinished: usize,
    /// Sessions that are to be stopped.
    with_end: usize,
}

struct Session {
    name: String,
    start: Instant,
    has_end: bool,
    stopped_at: Option<Instant>,
    /// When nothing more was to be expected of it.
    done_at: Option<Instant>,
    /// An octet arrived that was not the one sent: a broken simulation.
    corrupted: bool,
    work: Work,
}

/// What a session has at work.
enum Work {
    /// The call with this number.
    Call(usize),
    Dialogue(Box<Talk>),
}

/// A dialogue with its connections.
struct Talk {
    dialogue: Dialogue,
    /// The client's and the server's.
    nodes: [NodeId; 2],
    addresses: [IpAddr; 2],
    tcp: SessionTcp,
    /// Where initial sequence numbers come from.
    numbers: Rng,
    /// Its connections, as its script calls them.
    lanes: Vec<Option<ChannelKey>>,
    /// Lists that are used again.
    steps: Vec<Step>,
    touched: Vec<ChannelEnd>,
}

/// A connection, and which end of it.
pub(crate) type ChannelEnd = (ChannelKey, usize);

/// What a packet for a connection leads to.
pub(crate) struct Delivered {
    to: ChannelEnd,
    session: SessionId,
    lane: Option<Lane>,
    messages: usize,
}

impl Delivered {
    /// The end that it was for, which may have something to send.
    pub(crate) const fn to(&self) -> ChannelEnd {
        self.to
    }

    /// What the session's dialogue is to hear of: the messages that are whole now.
    pub(crate) fn events(&self) -> impl Iterator<Item = (SessionId, DialogueEvent)> + use<> {
        let (session, party) = (self.session, Party::of(self.to.1));
        let event = self.lane.map(|lane| (session, DialogueEvent::Arrived(lane, party)));
        (0..self.messages).filter_map(move |_| event)
    }
}

/// Their beginning and end.
impl Sessions {
    /// Adds a session between hosts with these addresses.
    pub(crate) fn add(
        &mut self,
        config: SessionConfig,
        addresses: [IpAddr; 2],
        seed: u64,
        transit: &mut Transit,
    ) -> SessionId {
        let SessionConfig { name, index, client, server, start, stop, activity } = config;
        let id = SessionId::of(self.list.len());
        let (start, nodes) = (start.max(transit.now()), [client, server]);
        let draws = Draws { seed, index, name: &name };
        let work = match activity {
            Activity::Call(media) => {
                let names = addresses.map(|address| format!("lasthop@{address}"));
                let call = Call::new(media, names, start, &draws);
                Work::Call(self.calls.add(id, (nodes, addresses), call, start, transit))
            }
            Activity::Dialogue { dialogue, pace, tcp } => {
                transit.schedule(start, Event::DialogueStart(id));
                Work::Dialogue(Box::new(Talk {
                    dialogue: Dialogue::new(dialogue, pace, start, draws.script()),
                    nodes,
                    addresses,
                    tcp,
                    numbers: draws.numbers(),
                    lanes: Vec::new(),
                    steps: Vec::new(),
                    touched: Vec::new(),
                }))
            }
        };
        let has_end = stop.is_some();
        self.with_end += usize::from(has_end);
        self.unfinished += usize::from(has_end);
        let (stopped_at, done_at, corrupted) = (None, None, false);
        self.list.push(Session { name, start, has_end, stopped_at, done_at, corrupted, work });
        if let Some(stop) = stop {
            transit.schedule(stop.max(transit.now()), Event::SessionStop(id));
        }
        id
    }

    /// How many sessions there are.
    pub(crate) const fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether a session is not done that is to be stopped; `None` if none is to be.
    pub(crate) fn is_waited_for(&self) -> Option<bool> {
        (self.with_end > 0).then_some(self.unfinished > 0)
    }

    /// A session stops. Its dialogue, if it has one, is to hear of it.
    pub(crate) fn stop(&mut self, id: SessionId, now: Instant) {
        let session = &mut self.list[id.index()];
        session.stopped_at = Some(now);
        if let Work::Call(call) = session.work {
            self.calls.stop(call);
            self.check_if_done(id, now);
        }
    }

    /// Nothing more may be to be expected of a session.
    fn check_if_done(&mut self, id: SessionId, now: Instant) {
        let session = &mut self.list[id.index()];
        if session.stopped_at.is_none() || session.done_at.is_some() {
            return;
        }
        let is_done = match &session.work {
            Work::Call(call) => self.calls.is_done(*call),
            Work::Dialogue(talk) => talk.dialogue.is_done(),
        };
        if is_done {
            session.done_at = Some(now);
            self.unfinished -= usize::from(session.has_end);
        }
    }
}

/// Calls: packets that are sent, received, and gone; and the reports on them.
impl Sessions {
    /// The packet that is due from a party, with the node that sends it.
    pub(crate) fn next_media(&mut self, party: PartyId, now: Instant) -> Option<(NodeId, Packet)> {
        self.calls.send(party, now)
    }

    /// A party's packet has been sent: when the next is due.
    pub(crate) fn schedule_media(&self, party: PartyId, transit: &mut Transit) {
        self.calls.schedule_media(party, transit);
    }

    /// A party's report, which is due, with the node that sends it.
    pub(crate) fn report(&mut self, party: PartyId, transit: &mut Transit) -> Option<(NodeId, Packet)> {
        self.calls.report(party, transit)
    }

    /// A datagram has reached a host. Whether it is a call's, and was taken.
    pub(crate) fn receive_media(&mut self, node: NodeId, key: PacketKey, transit: &mut Transit) -> bool {
        let packet = transit.packet(key);
        let Some((id, is_right)) = self.calls.receive(node, packet, transit.now()) else { return false };
        self.list[id.index()].corrupted |= !is_right;
        transit.accounts_mut().consumed += 1;
        transit.packets_mut().remove(key);
        self.check_if_done(id, transit.now());
        true
    }

    /// A packet has left the network before its destination.
    pub(crate) fn packet_gone(&mut self, packet: &Packet, now: Instant) {
        if let Some(id) = self.calls.packet_gone(packet) {
            self.check_if_done(id, now);
        }
    }

    /// An agent sends a packet.
    pub(crate) fn packet_added(&mut self, packet: &Packet) {
        self.calls.packet_added(packet);
    }
}

/// Dialogues: what happens to them, and what they do with connections.
impl Sessions {
    /// A dialogue hears of something, and does what it does then. Returns the ends of connections that may
    /// have something to send: they are sent for, and [put back](Self::put_back). `None` if the session has none.
    pub(crate) fn tell(
        &mut self,
        id: SessionId,
        event: DialogueEvent,
        transit: &mut Transit,
    ) -> Option<Vec<ChannelEnd>> {
        let talk = self.talk(id)?;
        let mut touched = std::mem::take(&mut talk.touched);
        let mut steps = std::mem::take(&mut talk.steps);
        if let Some(at) = talk.dialogue.on_event(event, transit.now(), &mut steps) {
            transit.schedule(at.max(transit.now()), Event::DialogueDue(id));
        }
        for step in steps.drain(..) {
            if let Some(end) = self.take_step(id, step, transit)
                && touched.last() != Some(&end)
            {
                touched.push(end);
            }
        }
        self.talk(id)?.steps = steps;
        Some(touched)
    }

    /// All has been sent that a dialogue has led to.
    pub(crate) fn put_back(&mut self, id: SessionId, mut touched: Vec<ChannelEnd>, now: Instant) {
        touched.clear();
        if let Some(talk) = self.talk(id) {
            talk.touched = touched;
        }
        self.check_if_done(id, now);
    }

    /// Does a step; the end of a connection that may have something to send then.
    fn take_step(&mut self, id: SessionId, step: Step, transit: &mut Transit) -> Option<ChannelEnd> {
        match step {
            Step::Open { lane, port } => {
                self.open(id, lane, port, transit);
                self.lane_of(id, lane).map(|key| (key, 0))
            }
            Step::Write { lane, from, octets } => {
                let key = self.lane_of(id, lane)?;
                self.channels.get(key)?.write(from.index(), octets);
                Some((key, from.index()))
            }
            Step::Close { lane, from } => {
                let key = self.lane_of(id, lane)?;
                self.channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
            Step::Leave { lane, from } => {
                let key = self.lane_of(id, lane)?;
                self.leave(id, lane);
                self.channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
        }
    }

    fn talk(&mut self, id: SessionId) -> Option<&mut Talk> {
        match &mut self.list[id.index()].work {
            Work::Dialogue(talk) => Some(talk),
            Work::Call(_) => None,
        }
    }

    fn lane_of(&mut self, id: SessionId, lane: Lane) -> Option<ChannelKey> {
        self.talk(id)?.lanes.get(lane).copied().flatten()
    }

    /// A script calls a connection no more.
    fn leave(&mut self, id: SessionId, lane: Lane) {
        let Some(key) = self.talk(id).and_then(|talk| talk.lanes.get_mut(lane)?.take()) else { return };
        if let Some(channel) = self.channels.get(key) {
            channel.leave();
        }
    }

    /// The client opens a connection. Where it has no port for it, the transaction has failed a
    /// moment later.
    fn open(&mut self, id: SessionId, lane: Lane, port: u16, transit: &mut Transit) {
        self.leave(id, lane);
        let Some(talk) = self.talk(id) else { return };
        let (nodes, addresses) = (talk.nodes, talk.addresses);
        let [iss, irs] = [(); 2].map(|()| Seq(talk.numbers.next_u64() as u32));
        let [of_client, of_server] = [talk.tcp.client.clone(), talk.tcp.server.clone()];
        let [client_parts, server_parts] =
            [Party::Client, Party::Server].map(|party| (talk.tcp.extensions)(party));
        let remote = (addresses[1], port);
        let Some(local_port) = self.channels.free_port(nodes[0], remote) else {
            transit.schedule(transit.now() + NO_PORT, Event::DialogueRefused(id));
            return;
        };
        let local = (addresses[0], local_port);
        let client = Connection::connect(of_client, local, remote, iss)
            .with_sender_extension(client_parts.0)
            .with_receiver_extension(client_parts.1);
        let server = Connection::listen(of_server, remote, irs)
            .with_sender_extension(server_parts.0)
            .with_receiver_extension(server_parts.1);
        let key = self.channels.add((id, lane), nodes, [local, remote], [client, server]);
        if let Some(talk) = self.talk(id) {
            if talk.lanes.len() <= lane {
                talk.lanes.resize(lane + 1, None);
            }
            talk.lanes[lane] = Some(key);
        }
    }

    /// A connection of a dialogue has failed. Returns the others that it talks over, which are given up,
    /// too ([`Self::abort`]).
    pub(crate) fn take_lanes(&mut self, id: SessionId) -> Vec<ChannelKey> {
        self.talk(id).map_or(Vec::new(), |talk| talk.lanes.drain(..).flatten().collect())
    }
}

/// Connections of dialogues: segments in and out, deadlines, ends.
impl Sessions {
    /// A packet has reached a host. If it is for a connection of a session, that takes it.
    pub(crate) fn deliver(
        &mut self,
        node: NodeId,
        key: PacketKey,
        transit: &mut Transit,
    ) -> Option<Delivered> {
        let packet = transit.packet(key);
        let to = self.channels.endpoint(node, packet)?;
        let channel = self.channels.get(to.0)?;
        let Taken { octets, messages, is_wrong } = channel.receive(to.1, packet, transit.now());
        let (session, lane) = (channel.session(), channel.lane());
        transit.accounts_mut().consumed += 1;
        transit.packets_mut().remove(key);
        let of = &mut self.list[session.index()];
        of.corrupted |= is_wrong;
        if let Work::Dialogue(talk) = &mut of.work {
            talk.dialogue.note_received(octets);
        }
        Some(Delivered { to, session, lane, messages })
    }

    /// The next packet that an end sends, and at which node.
    pub(crate) fn transmit(
        &mut self,
        (key, end): ChannelEnd,
        transit: &mut Transit,
    ) -> Option<(PacketKey, NodeId)> {
        let (now, channel) = (transit.now(), self.channels.get(key)?);
        let packet = transit.packets_mut().insert_made(|place| channel.transmit_into(end, place, now))?;
        Some((packet, channel.node(end)))
    }

    /// An end has nothing more to send: follows its deadline, and looks whether the connection is over, has
    /// failed, or only waits. Returns the session whose dialogue has failed with it.
    pub(crate) fn settle(&mut self, (key, end): ChannelEnd, transit: &mut Transit) -> Option<SessionId> {
        let channel = self.channels.get(key)?;
        channel.follow(end, Event::ChannelDeadline(key.end(end)), transit);
        let (session, is_called) = (channel.session(), channel.lane().is_some());
        if channel.has_failed() {
            self.remove(key);
            return is_called.then_some(session);
        }
        if channel.is_over() {
            let is_cut_short = is_called && channel.has_unsaid();
            self.remove(key);
            return is_cut_short.then_some(session);
        }
        if channel.starts_to_wait()
            && let Some(oldest) = self.channels.wait(key)
        {
            self.remove(oldest);
        }
        None
    }

    /// The timer of an end has fired. Returns the end if that was for its deadline, and it may have something
    /// to send.
    pub(crate) fn on_deadline(&mut self, id: ChannelEndId, now: Instant) -> Option<ChannelEnd> {
        // A deadline of one that had this place before may come to this one: it is early then.
        let (key, end) = self.channels.of_end(id)?;
        self.channels.get(key)?.on_deadline(end, now).then_some((key, end))
    }

    /// The client gives a connection up. Whether it was still there, and may have something to send.
    pub(crate) fn abort(&mut self, key: ChannelKey) -> bool {
        self.channels.get(key).map(Channel::abort).is_some()
    }

    /// A connection is gone.
    pub(crate) fn remove(&mut self, key: ChannelKey) {
        let Some(channel) = self.channels.remove(key) else { return };
        if let Some(talk) = self.talk(channel.session()) {
            for stats in channel.stats() {
                talk.dialogue.count(&stats);
            }
            if let Some(lane) = channel.lane().and_then(|lane| talk.lanes.get_mut(lane)) {
                *lane = None;
            }
        }
    }

    /// Connections that there are now.
    pub(crate) fn connections(&self) -> usize {
        self.channels.len()
    }

    /// Whether there are connections, or have been.
    pub(crate) const fn had_connections(&self) -> bool {
        self.channels.were_any()
    }
}

/// What became of them.
impl Sessions {
    /// What became of a session from `since` to `now`, where at `since` it was as `earlier`.
    pub(crate) fn outcome(
        &self,
        id: SessionId,
        now: Instant,
        (since, earlier): (Instant, &SessionSoFar),
    ) -> SessionOutcome {
        let session = &self.list[id.index()];
        let result = match &session.work {
            Work::Call(call) => SessionResult::Call(self.calls.call(*call).outcome_since(&earlier.call)),
            Work::Dialogue(talk) => SessionResult::Dialogue(self.dialogue(id, talk).since(&earlier.dialogue)),
        };
        let octets = match (&result, &session.work) {
            (_, Work::Dialogue(talk)) => talk.dialogue.received() - earlier.received,
            (SessionResult::Call(call), _) => call.streams.iter().map(|(_, stream)| stream.octets).sum(),
            (SessionResult::Dialogue(_), Work::Call(_)) => 0,
        };
        let measured = Measured { from: session.start.max(since), until: session.done_at.unwrap_or(now) };
        SessionOutcome { name: session.name.clone(), octets, measured, intact: !session.corrupted, result }
    }

    /// What became of each session so far.
    pub(crate) fn so_far(&self) -> Vec<SessionSoFar> {
        let of = |(index, session): (usize, &Session)| match &session.work {
            Work::Call(call) => {
                SessionSoFar { call: self.calls.call(*call).so_far(), ..SessionSoFar::default() }
            }
            Work::Dialogue(talk) => SessionSoFar {
                dialogue: self.dialogue(SessionId::of(index), talk),
                received: talk.dialogue.received(),
                ..SessionSoFar::default()
            },
        };
        self.list.iter().enumerate().map(of).collect()
    }

    /// What became of a dialogue so far, with the connections that it has.
    fn dialogue(&self, id: SessionId, talk: &Talk) -> DialogueOutcome {
        let mut outcome = talk.dialogue.outcome();
        for stats in self.channels.stats_of(id) {
            outcome.retransmits += stats.retransmits;
            outcome.timeouts += stats.timeouts;
            outcome.fast_retransmits += stats.fast_retransmits;
        }
        outcome
    }
}
