//! The dialogues of sessions: what their scripts do with connections, and what those lead to.

use std::time::Duration;

use lasthop_apps::session::dialogue::{Dialogue, DialogueEvent};
use lasthop_apps::session::script::{Lane, Party, Step};
use lasthop_apps::session::{DialogueOutcome, SessionResult, SessionSoFar, SessionTcp};
use lasthop_packet::{Instant, Rng, Seq};
use lasthop_tcp::Connection;
use lasthop_tcp::connection::Socket;

use super::channels::{Channel, ChannelKey, Channels, Taken};
use super::{Hosts, WorkOutcome};
use crate::id::{ChannelEndId, DialogueId, NodeId, SessionId};
use crate::packets::PacketKey;
use crate::schedule::Event;
use crate::transit::Transit;

/// The time that a client takes to find that it has no port for a connection, so that it does not retry
/// endlessly at one instant.
const NO_PORT: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Dialogues {
    list: Vec<Talk>,
    channels: Channels,
}

/// A dialogue with its connections.
struct Talk {
    session: SessionId,
    dialogue: Dialogue,
    hosts: Hosts,
    tcp: SessionTcp,
    /// The generator of initial sequence numbers.
    numbers: Rng,
    /// Its connections, as its script calls them.
    lanes: Vec<Option<ChannelKey>>,
    /// An octet arrived that was not the one sent: a broken simulation.
    corrupted: bool,
    /// Lists that are used again.
    steps: Vec<Step>,
    touched: Vec<ChannelEnd>,
}

/// A connection, and which end of it.
pub(crate) type ChannelEnd = (ChannelKey, usize);

/// The effects of a packet for a connection.
pub(crate) struct Delivered {
    dialogue: DialogueId,
    to: ChannelEnd,
    lane: Option<Lane>,
    messages: usize,
}

impl Delivered {
    /// The end that it was for, which may have something to send.
    pub(crate) const fn to(&self) -> ChannelEnd {
        self.to
    }

    /// What happens in the dialogue: messages are complete.
    pub(crate) fn events(&self) -> impl Iterator<Item = (DialogueId, DialogueEvent)> + use<> {
        let (dialogue, party) = (self.dialogue, Party::from_index(self.to.1));
        let event = self.lane.map(|lane| (dialogue, DialogueEvent::Arrived(lane, party)));
        (0..self.messages).filter_map(move |_| event)
    }
}

/// Their events, and their steps on connections.
impl Dialogues {
    /// Adds the dialogue of a session. Initial sequence numbers come from `numbers`.
    pub(crate) fn add(
        &mut self,
        session: SessionId,
        hosts: Hosts,
        dialogue: Dialogue,
        (tcp, numbers): (SessionTcp, Rng),
    ) -> DialogueId {
        self.list.push(Talk {
            session,
            dialogue,
            hosts,
            tcp,
            numbers,
            lanes: Vec::new(),
            corrupted: false,
            steps: Vec::new(),
            touched: Vec::new(),
        });
        DialogueId::from_index(self.list.len() - 1)
    }

    /// An event happens in a dialogue, and it does what its script does then. Clients reach a server's port
    /// by the address and port that `reach` returns. Returns the ends of connections that may have something
    /// to send: they are sent for, and [put back](Self::put_back).
    pub(crate) fn on_event(
        &mut self,
        id: DialogueId,
        event: DialogueEvent,
        mut reach: impl FnMut([NodeId; 2], Socket) -> Socket,
        transit: &mut Transit,
    ) -> Vec<ChannelEnd> {
        let Self { list, channels } = self;
        let talk = &mut list[id.index()];
        let mut touched = std::mem::take(&mut talk.touched);
        let mut steps = std::mem::take(&mut talk.steps);
        if let Some(at) = talk.dialogue.on_event(event, transit.now(), &mut steps) {
            transit.schedule(at.max(transit.now()), Event::DialogueDue(id));
        }
        for step in steps.drain(..) {
            if let Some(end) = talk.take_step(id, step, channels, &mut reach, transit)
                && touched.last() != Some(&end)
            {
                touched.push(end);
            }
        }
        talk.steps = steps;
        touched
    }

    /// All has been sent that an event has led to. Returns the session, if nothing that its dialogue has begun is
    /// under way and it has stopped.
    pub(crate) fn put_back(&mut self, id: DialogueId, mut touched: Vec<ChannelEnd>) -> Option<SessionId> {
        let talk = &mut self.list[id.index()];
        touched.clear();
        talk.touched = touched;
        talk.dialogue.is_done().then_some(talk.session)
    }

    /// A connection of a dialogue has failed. Returns the others that it uses, which are given up,
    /// too ([`Self::abort`]).
    pub(crate) fn take_lanes(&mut self, id: DialogueId) -> Vec<ChannelKey> {
        self.list[id.index()].lanes.drain(..).flatten().collect()
    }
}

impl Talk {
    /// Takes a step. Returns the end of a connection that may have something to send then.
    fn take_step(
        &mut self,
        id: DialogueId,
        step: Step,
        channels: &mut Channels,
        reach: &mut impl FnMut([NodeId; 2], Socket) -> Socket,
        transit: &mut Transit,
    ) -> Option<ChannelEnd> {
        match step {
            Step::Open { lane, port } => {
                self.leave(lane, channels);
                self.open(id, (lane, port), channels, reach, transit).map(|key| (key, 0))
            }
            Step::Write { lane, from, octets } => {
                let key = self.lane(lane)?;
                channels.get(key)?.write(from.index(), octets);
                Some((key, from.index()))
            }
            Step::Close { lane, from } => {
                let key = self.lane(lane)?;
                channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
            Step::Leave { lane, from } => {
                let key = self.leave(lane, channels)?;
                channels.get(key)?.close(from.index());
                Some((key, from.index()))
            }
        }
    }

    fn lane(&self, lane: Lane) -> Option<ChannelKey> {
        self.lanes.get(lane).copied().flatten()
    }

    /// The script uses a connection no more. Returns the connection.
    fn leave(&mut self, lane: Lane, channels: &mut Channels) -> Option<ChannelKey> {
        let key = self.lanes.get_mut(lane)?.take()?;
        if let Some(channel) = channels.get(key) {
            channel.leave();
        }
        Some(key)
    }

    /// The client opens a connection. Where it has no port for it, the transaction fails a moment later.
    fn open(
        &mut self,
        id: DialogueId,
        (lane, port): (Lane, u16),
        channels: &mut Channels,
        reach: &mut impl FnMut([NodeId; 2], Socket) -> Socket,
        transit: &mut Transit,
    ) -> Option<ChannelKey> {
        let Hosts { nodes, addresses } = self.hosts;
        let [iss, irs] = [(); 2].map(|()| Seq(self.numbers.next_u64() as u32));
        let [of_client, of_server] = [Party::Client, Party::Server].map(|party| (self.tcp.extensions)(party));
        let server_socket = (addresses[1], port);
        let remote = reach(nodes, server_socket);
        let Some(local_port) = channels.free_port(nodes[0], remote) else {
            transit.schedule(transit.now() + NO_PORT, Event::DialogueRefused(id));
            return None;
        };
        let local = (addresses[0], local_port);
        let client = Connection::connect(self.tcp.client.clone(), local, remote, iss)
            .with_sender_extension(of_client.0)
            .with_receiver_extension(of_client.1);
        let server = Connection::listen(self.tcp.server.clone(), server_socket, irs)
            .with_sender_extension(of_server.0)
            .with_receiver_extension(of_server.1);
        let key =
            channels.add((id, lane), nodes, [(local, remote), (server_socket, local)], [client, server]);
        if self.lanes.len() <= lane {
            self.lanes.resize(lane + 1, None);
        }
        self.lanes[lane] = Some(key);
        Some(key)
    }
}

/// Connections of dialogues: segments in and out, deadlines, ends.
impl Dialogues {
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
        let (dialogue, lane) = (channel.dialogue(), channel.lane());
        transit.accounts_mut().consumed += 1;
        transit.packets_mut().remove(key);
        let talk = &mut self.list[dialogue.index()];
        talk.corrupted |= is_wrong;
        talk.dialogue.record_received(octets);
        Some(Delivered { dialogue, to, lane, messages })
    }

    /// See [`Channels::expect_as`].
    pub(crate) fn expect_as(
        &mut self,
        node: NodeId,
        local: Socket,
        caller: Socket,
        known_as: Socket,
    ) -> bool {
        self.channels.expect_as(node, local, caller, known_as)
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
    /// failed, or only waits. Returns the dialogue that has failed with it.
    pub(crate) fn check_end(&mut self, (key, end): ChannelEnd, transit: &mut Transit) -> Option<DialogueId> {
        let channel = self.channels.get(key)?;
        channel.follow(end, Event::ChannelDeadline(key.end(end)), transit);
        let (dialogue, is_used) = (channel.dialogue(), channel.lane().is_some());
        if channel.has_failed() {
            self.remove(key);
            return is_used.then_some(dialogue);
        }
        if channel.is_over() {
            let is_cut_short = is_used && channel.has_unsaid();
            self.remove(key);
            return is_cut_short.then_some(dialogue);
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
        let talk = &mut self.list[channel.dialogue().index()];
        for stats in channel.stats() {
            talk.dialogue.count(&stats);
        }
        if let Some(lane) = channel.lane().and_then(|lane| talk.lanes.get_mut(lane)) {
            *lane = None;
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

/// Their outcomes.
impl Dialogues {
    /// The outcome of a dialogue since it was as `earlier`.
    pub(crate) fn outcome_since(&self, id: DialogueId, earlier: &SessionSoFar) -> WorkOutcome {
        let talk = &self.list[id.index()];
        WorkOutcome {
            octets: talk.dialogue.received() - earlier.received,
            intact: !talk.corrupted,
            result: SessionResult::Dialogue(self.outcome(id).since(&earlier.dialogue)),
        }
    }

    /// The outcome of a dialogue so far.
    pub(crate) fn so_far(&self, id: DialogueId) -> SessionSoFar {
        let received = self.list[id.index()].dialogue.received();
        SessionSoFar { dialogue: self.outcome(id), received, ..SessionSoFar::default() }
    }

    /// The outcome of a dialogue so far, with the connections that it has.
    fn outcome(&self, id: DialogueId) -> DialogueOutcome {
        let mut outcome = self.list[id.index()].dialogue.outcome();
        for stats in self.channels.stats_of(id) {
            outcome.count(&stats);
        }
        outcome
    }
}
