//! The hand-off of agents' state from access point to access point: for each client that an access point knows of, a
//! [`Handoff`] that says who serves it, and the packets that wait until the state has come.

use std::collections::{BTreeMap, VecDeque};

use lasthop_agent::{Counter, FlowState, Side};
use lasthop_ess::ClientId;
use lasthop_handoff::{Answer, Attempt, Config, Entry, Handoff, Message, Output, Peer, Query};
use lasthop_nat::{Mapping, Redirect, transfer};
use lasthop_packet::Instant;

use crate::id::{At, HandOffId, NodeId, ServiceSetId};
use crate::packets::PacketKey;
use crate::schedule::{Event, LazyTimer};
use crate::service_sets::Association;
use crate::transit::Transit;
use crate::tunnels::Priority;

/// The state of a client's connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientState {
    /// What they need to continue.
    needed: Vec<FlowState>,
    /// What follows it; nothing in a state that has come from another access point.
    rest: Vec<FlowState>,
    /// Octets of what follows it.
    octets_of_rest: u64,
    /// Its entries in the translation table of the access point.
    mappings: Vec<Mapping>,
}

impl ClientState {
    pub(crate) fn new(states: Vec<FlowState>) -> Self {
        let (rest, needed): (Vec<_>, Vec<_>) = states.into_iter().partition(|state| state.may_follow);
        let octets_of_rest = rest.iter().map(FlowState::len_with_payloads).sum();
        Self { needed, rest, octets_of_rest, mappings: Vec::new() }
    }

    /// With the client's entries in the access point's translation table.
    pub(crate) fn with_mappings(self, mappings: Vec<Mapping>) -> Self {
        Self { mappings, ..self }
    }

    /// The client's entries in the translation table of the access point that it comes from.
    pub(crate) fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// What the connections need to continue.
    pub(crate) fn needed(&self) -> &[FlowState] {
        &self.needed
    }

    /// What follows it, to be imported in this order.
    pub(crate) fn rest(&self) -> &[FlowState] {
        &self.rest
    }

    /// Takes what follows it.
    pub(crate) fn take_rest(&mut self) -> Vec<FlowState> {
        std::mem::take(&mut self.rest)
    }

    /// The length of what is needed, in octets.
    fn octets_needed(&self) -> u64 {
        let connections: u64 = self.needed.iter().map(FlowState::len_with_payloads).sum();
        let mappings = if self.mappings.is_empty() { 0 } else { transfer::write(&self.mappings).len() };
        connections + mappings as u64
    }

    /// Its length, in octets.
    pub(crate) fn octets(&self) -> u64 {
        self.octets_needed() + self.octets_of_rest
    }
}

/// Counted where a state could not be continued.
pub(crate) static NOT_IMPORTED: Counter =
    Counter::new("states_not_imported", "connections whose state an access point's agent could not continue");

/// How a service set hands over the state of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOffConfig {
    /// The node where the registry is, which knows who serves each client.
    pub registry: NodeId,
    /// How long access points wait for each other.
    pub times: Config,
    /// The node of the central translator, if the access points translate addresses and the entries of a client in
    /// their tables follow it ([`lasthop_nat::transfer`]).
    pub central: Option<NodeId>,
}

impl HandOffConfig {
    /// The defaults, with the registry at this node, and no central translator.
    pub fn new(registry: NodeId) -> Self {
        Self { registry, times: Config::default(), central: None }
    }
}

/// What access points and the registry say to each other.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    set: ServiceSetId,
    client: ClientId,
    content: Content,
}

impl Envelope {
    /// An envelope about a client.
    pub(crate) const fn new(set: ServiceSetId, client: ClientId, content: Content) -> Self {
        Self { set, client, content }
    }

    /// The client, and what the envelope says.
    pub(crate) fn into_parts(self) -> (ServiceSetId, ClientId, Content) {
        (self.set, self.client, self.content)
    }

    /// The length of its content, in octets, beside what every envelope has.
    pub(crate) fn octets(&self) -> u64 {
        match &self.content {
            Content::Message { message: Message::Transfer { state, .. }, .. } => state.octets_needed(),
            Content::Rest { state, .. } => state.len_with_payloads(),
            Content::Redirect { redirects, .. } => redirects.len() as u64 * REDIRECT,
            _ => 0,
        }
    }

    /// The tunnel that it takes.
    pub(crate) const fn priority(&self) -> Priority {
        match self.content {
            Content::Rest { .. } => Priority::Low,
            _ => Priority::High,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Message {
        from: Peer,
        to: Peer,
        message: Message<ClientState>,
        /// The number of the client's last association with the sender.
        association: u64,
    },
    /// What follows the transfer that answers an attempt.
    Rest {
        to: Peer,
        attempt: Attempt,
        state: FlowState,
    },
    Query {
        from: Peer,
        number: u32,
        query: Query,
    },
    Answer {
        to: Peer,
        number: u32,
        answer: Answer,
    },
    /// An access point asks the central translator to redirect a client's mappings to it.
    Redirect {
        from: Peer,
        redirects: Vec<Redirect>,
    },
    /// The central translator has answered.
    Redirected {
        to: Peer,
    },
}

/// The length of a redirection of one endpoint: two addresses, protocols and ports.
const REDIRECT: u64 = 2 * 7;

#[derive(Default)]
pub(crate) struct HandOffs {
    /// By service set.
    sets: Vec<Option<Set>>,
    clients: Vec<ClientAtAccessPoint>,
    /// By access point and client.
    by_nodes: BTreeMap<(NodeId, NodeId), HandOffId>,
}

struct Set {
    config: HandOffConfig,
    entries: BTreeMap<ClientId, Entry>,
}

/// A client at an access point.
pub(crate) struct ClientAtAccessPoint {
    of: Association,
    /// The client's node and the access point's.
    nodes: (NodeId, NodeId),
    /// `None` only during a call of it.
    handoff: Option<Handoff<ClientState>>,
    timer: LazyTimer,
    /// When its time-out is due.
    due: Option<Instant>,
    /// The number of the last question to the registry.
    question: u32,
    /// The question, until it is answered.
    unanswered: Option<Query>,
    standing: Standing,
    /// The number of the client's last association here.
    association: u64,
    /// The own attempt whose transfer has come last.
    obtained: Option<Attempt>,
    /// What followed a transfer before the client was served.
    early: Vec<(Attempt, FlowState)>,
    /// The attempt that the last state given away answered, and the own one that it had come from.
    given: Option<(Attempt, Option<Attempt>)>,
    /// Octets that had come from the access point that is asked for the state, or had reached the one that the state was
    /// given to, when the wait was last extended.
    progress: u64,
}

/// What becomes of a client's packets at an access point.
enum Standing {
    /// They pass the agent by.
    Elsewhere,
    /// They wait for the client's state.
    Awaited(VecDeque<(At, PacketKey, Side)>),
    /// The agent sees them.
    Served,
}

/// What becomes of a packet at an access point with an agent.
pub(crate) enum Passage {
    /// The agent sees it.
    Agent,
    /// It passes the agent by.
    Around,
    /// It waits.
    Waits,
    /// There is no room for it.
    NoRoom,
}

/// What becomes of a state that follows a transfer.
pub(crate) enum Follower {
    /// The agent continues a connection with it.
    Import(FlowState),
    /// The client has gone on to the access point that made this attempt, and so does this.
    Forward(Attempt, FlowState),
    /// It waits until the client is served.
    Waits,
}

/// Packets of a client that wait for its state at most.
const MAX_WAITING: usize = 512;

impl HandOffs {
    pub(crate) fn set_config(&mut self, set: ServiceSetId, config: HandOffConfig) {
        if self.sets.len() <= set.index() {
            self.sets.resize_with(set.index() + 1, || None);
        }
        self.sets[set.index()] = Some(Set { config, entries: BTreeMap::new() });
    }

    pub(crate) fn config(&self, set: ServiceSetId) -> Option<&HandOffConfig> {
        self.sets.get(set.index())?.as_ref().map(|set| &set.config)
    }

    pub(crate) fn are_configured(&self) -> bool {
        self.sets.iter().any(Option::is_some)
    }

    #[inline]
    pub(crate) const fn are_any(&self) -> bool {
        !self.clients.is_empty()
    }

    /// A client of an access point, which is new if it is not known.
    pub(crate) fn of(&mut self, of: Association, (client_node, node): (NodeId, NodeId)) -> HandOffId {
        let clients = &mut self.clients;
        let times = self.sets.get(of.set.index()).and_then(Option::as_ref).map(|set| set.config.times);
        *self.by_nodes.entry((node, client_node)).or_insert_with(|| {
            let me = Peer(of.access_point.0);
            clients.push(ClientAtAccessPoint {
                of,
                nodes: (client_node, node),
                handoff: Some(Handoff::new(me, 0, &times.unwrap_or_default())),
                timer: LazyTimer::default(),
                due: None,
                question: 0,
                unanswered: None,
                standing: Standing::Elsewhere,
                association: 0,
                obtained: None,
                early: Vec::new(),
                given: None,
                progress: 0,
            });
            HandOffId::from_index(clients.len() - 1)
        })
    }

    pub(crate) fn get(&self, id: HandOffId) -> &ClientAtAccessPoint {
        &self.clients[id.index()]
    }

    /// As [`Self::get`].
    pub(crate) fn get_mut(&mut self, id: HandOffId) -> &mut ClientAtAccessPoint {
        &mut self.clients[id.index()]
    }

    /// What becomes of a packet between an access point and a client.
    pub(crate) fn passage(
        &mut self,
        (access_point, client): (NodeId, NodeId),
        packet: (At, PacketKey, Side),
    ) -> Passage {
        let Some(id) = self.by_nodes.get(&(access_point, client)) else { return Passage::Agent };
        match &mut self.clients[id.index()].standing {
            Standing::Elsewhere => Passage::Around,
            Standing::Awaited(waiting) if waiting.len() >= MAX_WAITING => Passage::NoRoom,
            Standing::Awaited(waiting) => {
                waiting.push_back(packet);
                Passage::Waits
            }
            Standing::Served => Passage::Agent,
        }
    }

    /// The registry answers a question.
    pub(crate) fn answer(&mut self, set: ServiceSetId, client: ClientId, from: Peer, query: Query) -> Answer {
        let Some(Some(set)) = self.sets.get_mut(set.index()) else { return Answer::Away };
        let entry = set.entries.get(&client).copied();
        match query {
            Query::Claim { expected } if expected == entry.map(|entry| entry.epoch) => {
                let epoch = expected.unwrap_or(0) + 1;
                set.entries.insert(client, Entry { holder: from, epoch });
                Answer::Won(epoch)
            }
            Query::Claim { .. } | Query::Lookup => Answer::Found(entry),
        }
    }

    /// Follows the time-out of a client at an access point, after an input that changed something.
    pub(crate) fn follow(&mut self, id: HandOffId, transit: &mut Transit) {
        let of = &mut self.clients[id.index()];
        let Some(config) = self.sets.get(of.of.set.index()).and_then(Option::as_ref) else { return };
        let wait = of.handoff.as_ref().and_then(|handoff| handoff.timeout(&config.config.times));
        let due = wait.map(|wait| transit.now() + wait);
        of.due = due;
        transit.follow(&mut of.timer, due, Event::HandOffDue(id));
    }
}

/// Inputs. Each returns what is to be done.
impl ClientAtAccessPoint {
    pub(crate) const fn of(&self) -> Association {
        self.of
    }

    /// The client's node and the access point's.
    pub(crate) const fn nodes(&self) -> (NodeId, NodeId) {
        self.nodes
    }

    /// The client has associated here: its packets wait, unless it is served already.
    pub(crate) fn on_join(&mut self, previous: Option<Peer>, association: u64) -> Vec<Output<ClientState>> {
        self.association = association;
        if let Standing::Elsewhere = self.standing {
            self.standing = Standing::Awaited(VecDeque::new());
        }
        self.handoff.as_mut().map(|handoff| handoff.on_join(previous)).unwrap_or_default()
    }

    pub(crate) const fn on_leave(&mut self) {
        if let Some(handoff) = &mut self.handoff {
            handoff.on_leave();
        }
    }

    /// The state machine, for a call that needs the agent's state. It is [restored](Self::restore) after that.
    pub(crate) const fn take(&mut self) -> Option<Handoff<ClientState>> {
        self.handoff.take()
    }

    /// See [`Self::take`].
    pub(crate) fn restore(&mut self, handoff: Handoff<ClientState>) {
        self.handoff = Some(handoff);
    }

    pub(crate) fn on_answer(&mut self, number: u32, answer: Answer) -> Vec<Output<ClientState>> {
        match &mut self.handoff {
            Some(handoff) if number == self.question && self.unanswered.take().is_some() => {
                handoff.on_answer(answer)
            }
            _ => Vec::new(),
        }
    }

    /// The access point that is asked for the state.
    pub(crate) fn asks(&self) -> Option<Peer> {
        self.handoff.as_ref()?.asks()
    }

    /// The access point that the state was given to, and that has not confirmed it.
    pub(crate) fn gave(&self) -> Option<Peer> {
        self.handoff.as_ref()?.gave().map(|(peer, _)| peer)
    }

    /// Its timer has fired; so many octets have come from the access point that is asked for the state, or have reached the
    /// one that the state was given to. As long as these become more, the state is on its way.
    pub(crate) fn on_timeout(&mut self, progress: u64, now: Instant) -> Vec<Output<ClientState>> {
        let is_due = self.timer.fired(now) && self.due.is_some_and(|due| due <= now);
        let is_waiting = self.asks().is_some() || self.gave().is_some();
        let has_come = is_waiting && std::mem::replace(&mut self.progress, progress) < progress;
        match &mut self.handoff {
            Some(handoff) if is_due && !has_come => handoff.on_timeout(),
            _ => Vec::new(),
        }
    }

    /// The number of a question to the registry: that of the last one if it is the same and has no answer yet, so that
    /// the answer to either counts.
    pub(crate) fn number_of(&mut self, query: Query) -> u32 {
        if self.unanswered != Some(query) {
            self.question += 1;
            self.unanswered = Some(query);
        }
        self.question
    }

    /// The agent has the client's state. Returns the packets that have waited for it.
    pub(crate) fn serve(&mut self) -> VecDeque<(At, PacketKey, Side)> {
        self.change(Standing::Served)
    }

    /// The agent no longer has it. Returns the packets that have waited for it.
    pub(crate) fn stop(&mut self) -> VecDeque<(At, PacketKey, Side)> {
        self.change(Standing::Elsewhere)
    }

    /// The number of the client's last association here.
    pub(crate) const fn association(&self) -> u64 {
        self.association
    }

    /// Another access point is asked for the state, or is given it. See [`Self::on_timeout`].
    pub(crate) const fn begin_to_wait(&mut self, progress: u64) {
        self.progress = progress;
    }

    /// A transfer has come that answers an attempt.
    pub(crate) fn on_transfer(&mut self, attempt: Attempt) {
        if self.handoff.as_ref().and_then(Handoff::attempt) == Some(attempt) {
            self.obtained = Some(attempt);
        }
    }

    /// A state goes to another access point. Whether this is the first time: then what follows it goes there, too.
    pub(crate) fn gives(&mut self, attempt: Attempt) -> bool {
        let is_known = self.given.is_some_and(|(known, _)| known == attempt);
        if !is_known {
            self.given = Some((attempt, self.obtained));
        }
        !is_known
    }

    /// A state has come that follows the transfer for an own attempt. Returns what is to be done with it.
    pub(crate) fn on_rest(&mut self, attempt: Attempt, state: FlowState) -> Follower {
        match self.given {
            _ if matches!(self.standing, Standing::Served) && self.obtained == Some(attempt) => {
                Follower::Import(state)
            }
            Some((to, Some(from))) if from == attempt => Follower::Forward(to, state),
            _ => {
                self.early.push((attempt, state));
                Follower::Waits
            }
        }
    }

    /// What followed the state that is served from now on, before this; and the number of those that have lost theirs.
    pub(crate) fn take_early(&mut self) -> (Vec<FlowState>, usize) {
        let all = std::mem::take(&mut self.early);
        let (mine, lost): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(attempt, _)| self.obtained == Some(*attempt));
        (mine.into_iter().map(|(_, state)| state).collect(), lost.len())
    }

    /// Whether packets wait for the client's state.
    pub(crate) const fn is_awaited(&self) -> bool {
        matches!(self.standing, Standing::Awaited(_))
    }

    fn change(&mut self, standing: Standing) -> VecDeque<(At, PacketKey, Side)> {
        match std::mem::replace(&mut self.standing, standing) {
            Standing::Awaited(waiting) => waiting,
            _ => VecDeque::new(),
        }
    }
}
