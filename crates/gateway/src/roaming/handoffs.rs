//! The clients of an access point: one hand-off for each, their timers, and what is counted.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use lasthop_handoff::{Answer, Attempt, Config, Entry, Handoff, Message, Output, Peer, Query};
use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

use super::access_points::{AccessPoints, SELF};
use super::channel::{Destination, Pending};
use super::message::{self, Body};
use super::nat::access_point::TakenUp;
use super::nat::mapping::Moved;
use crate::frame::MacAddress;

/// What hand-offs have done to the outside of them. Each call returns at once, or in the time that the packet loop
/// needs for a turn.
pub trait Outside {
    /// Sends a message to an access point. It may be lost.
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending;

    /// Octets that came from the access point with this name so far, also those of a message that is not complete.
    fn arrived_from(&self, name: &str) -> u64;

    /// Asks the registry about a client; the answer comes to [`Handoffs::on_answer`], with this number. A question
    /// replaces earlier ones about the client.
    fn ask(&mut self, client: MacAddress, number: u64, query: Query);

    /// The state of the client's connections is awaited ([`crate::Engine::await_client`]).
    fn await_state(&mut self, client: MacAddress);

    /// The client is served here, with this state if there is one ([`crate::Engine::serve_client`]).
    fn serve(&mut self, client: MacAddress, state: Option<Bytes>);

    /// The client is no longer served here. Returns the state of its connections
    /// ([`crate::Engine::give_client`]).
    fn give(&mut self, client: MacAddress) -> Bytes;

    /// The client is elsewhere, and a state that is here is lost ([`crate::Engine::lose_client`]).
    fn lose(&mut self, client: MacAddress);

    /// Nothing need be known of the client any more ([`crate::Engine::forget_client`]).
    fn forget(&mut self, client: MacAddress);

    /// The translations of this state go on here, if this access point translates.
    fn take_up(&mut self, client: MacAddress, state: &Bytes) -> TakenUp;

    /// The client is elsewhere: its translations that were given are no longer needed here.
    fn release(&mut self, client: MacAddress);

    /// Redirects connections of the client to the access point with this name, which serves it at this epoch. Returns
    /// their number; `None` if this is not the central translator, or they are not an access point's, or another one
    /// has served the client since.
    fn redirect(&mut self, client: MacAddress, to: &str, epoch: u64, moved: &[Moved]) -> Option<u64>;
}

/// An answer of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryAnswer {
    /// Where the client is.
    Found(Option<Holder>),
    /// The client was claimed.
    Won(u64),
    /// There was no answer.
    Away,
}

/// Who has a client, as the registry names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The name of the access point.
    pub name: String,
    /// Where it is reached.
    pub address: SocketAddr,
    /// The epoch of its claim.
    pub epoch: u64,
}

lasthop_agent::counters! {
    /// What is counted of hand-offs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct HandoffCounters {
        /// Clients that came.
        joins: JOINS = "client_joins",
        /// Clients that were served from then on with the state of their connections.
        received: RECEIVED_STATES = "handoffs_received",
        /// Clients that were served from then on without a state: new ones, and those whose former access point did
        /// not answer or had none.
        without_state: WITHOUT_STATE = "handoffs_without_state",
        /// Clients whose state was given to another access point.
        given: GIVEN_STATES = "handoffs_given",
        /// Clients whose state was given up, because another access point had claimed them without it.
        lost: LOST_STATES = "handoffs_lost",
        /// Clients whose state was given and may be lost: the registry says that another access point serves them, and
        /// none has said so itself.
        unreleased: UNRELEASED_STATES = "handoffs_unreleased",
        /// The sum of the times from when a client came until it was served, in microseconds.
        interruption_us: INTERRUPTION = "interruption_microseconds",
        /// Messages and answers that changed nothing, because they were old.
        stale: STALE = "stale_messages",
        /// Messages that were ignored: malformed, too long, or of another version.
        ignored: IGNORED = "ignored_messages",
        /// Messages that were ignored, because they were about attempts of other access points than their sender's or
        /// this one's.
        forged: FORGED = "forged_messages",
        /// Clients that were not handed over, because there was no room for another one.
        too_many: TOO_MANY_CLIENTS = "handoffs_too_many",
        /// Translations of clients that came, which go on here.
        translations_taken: TRANSLATIONS_TAKEN = "translations_taken",
        /// Translations of clients that came, which could not be those of the client, or found no port.
        translations_refused: TRANSLATIONS_REFUSED = "translations_refused",
        /// Connections that this gateway, which translates the site, has sent to another access point.
        redirected: REDIRECTED = "connections_redirected",
        /// Requests for that which were refused: most often, another access point has served the client since.
        redirections_refused: REDIRECTIONS_REFUSED = "redirections_refused",
        /// Clients that were served although the gateway that translates the site did not answer: their connections
        /// end.
        unredirected: UNREDIRECTED = "handoffs_unredirected",
    }
}

/// A client, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientPlace {
    /// Its address.
    pub client: MacAddress,
    /// The access point that serves it; empty if that is not known yet.
    pub access_point: String,
    /// Whether that is this one.
    pub is_here: bool,
    /// Seconds since then.
    pub since_s: f64,
}

/// The clients that came to this access point, or were at it.
pub struct Handoffs {
    config: Config,
    access_points: AccessPoints,
    max_clients: usize,
    clients: BTreeMap<MacAddress, Client>,
    deadlines: BTreeSet<(Instant, MacAddress)>,
    counters: HandoffCounters,
    /// The number of the first attempt of a client that comes at `started`.
    first_attempt: u64,
    started: Instant,
    /// The gateway that translates the site, if the access points translate.
    central: Option<Peer>,
}

struct Client {
    handoff: Handoff<Bytes>,
    deadline: Option<Instant>,
    /// The number of the last question to the registry.
    question: u64,
    is_associated: bool,
    /// When it came; `None` once it is served.
    came: Option<Instant>,
    /// Who serves it, and since when.
    place: Option<Peer>,
    since: Instant,
    /// When its state was given to another access point.
    gave: Option<Instant>,
    /// The attempt that its state was sent for last, and whether it still waits to be sent.
    sending: Option<(Attempt, Pending)>,
    /// The access point that is asked for its state.
    asked: Option<Asked>,
    /// While the central translator is asked to redirect its connections.
    redirection: Option<Redirection>,
}

/// What waits until the central translator has redirected the connections of a client. Meanwhile no message about the
/// client is read: translations move in the order in which the client goes, and senders repeat.
struct Redirection {
    state: Bytes,
    epoch: u64,
    moved: Vec<Moved>,
    /// How often it was asked.
    tries: u8,
    /// What is to be done after that.
    later: Vec<Output<Bytes>>,
}

/// An access point that is asked for a state.
#[derive(Clone, Copy)]
struct Asked {
    peer: Peer,
    since: Instant,
    /// Octets that had come from it at the last time-out.
    arrived: u64,
}

/// How long a state may be awaited while octets come from the access point that is asked for it: four of the longest
/// messages may wait before it there, and each may take as long as [`SETTINGS`](super::links::SETTINGS) say.
const LONGEST_TRANSFER: Duration = Duration::from_secs(20);

/// How long packets of a client may be under way that it sent before it moved.
const UNDER_WAY: Duration = Duration::from_millis(100);

impl Client {
    /// Whether the state that was sent for an attempt has not left yet.
    fn is_sending(&self, attempt: Attempt) -> bool {
        self.sending.as_ref().is_some_and(|(of, pending)| *of == attempt && pending.is_waiting())
    }

    fn leave(&mut self) {
        (self.is_associated, self.came) = (false, None);
        self.handoff.on_leave();
    }
}

impl Handoffs {
    /// No clients, at the access point with this name. `first_attempt` is above all numbers of attempts that it has
    /// ever used: the nanoseconds since 1970.
    pub fn new(name: &str, max_clients: usize, config: Config, first_attempt: u64, now: Instant) -> Self {
        Self {
            config,
            access_points: AccessPoints::new(name),
            max_clients,
            clients: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            counters: HandoffCounters::default(),
            first_attempt,
            started: now,
            central: None,
        }
    }

    /// With a gateway of this name that translates the site, and redirects the connections of clients that come.
    #[must_use]
    pub fn with_central(mut self, name: &str) -> Self {
        self.central = self.access_points.number(name);
        self
    }

    /// The access points that it knows of.
    pub const fn access_points(&mut self) -> &mut AccessPoints {
        &mut self.access_points
    }

    /// A packet or a frame of a client was seen that is not served here: it has come, unless its state was given away
    /// a moment ago. Then it may have been under way since before.
    pub fn on_notice(&mut self, client: MacAddress, now: Instant, outside: &mut dyn Outside) {
        let gave = self.clients.get(&client).and_then(|known| known.gave);
        if gave.is_some_and(|gave| now.since(gave) < UNDER_WAY) {
            outside.lose(client);
        } else {
            self.on_join(client, None, now, outside);
        }
    }

    /// A client has associated. `from`: the access point that it says it comes from.
    pub fn on_join(
        &mut self,
        client: MacAddress,
        from: Option<&str>,
        now: Instant,
        outside: &mut dyn Outside,
    ) {
        let from = from.and_then(|name| self.access_points.number(name));
        if !self.clients.contains_key(&client) && !self.make_room(outside) {
            self.counters.too_many += 1;
            // Its connections are served here, and do not follow it.
            outside.serve(client, None);
            return;
        }
        let number = self.first_attempt.wrapping_add(now.since(self.started).as_nanos() as u64);
        let known = self.clients.entry(client).or_insert_with(|| Client {
            handoff: Handoff::new(SELF, number, &self.config),
            deadline: None,
            question: 0,
            is_associated: false,
            came: None,
            place: None,
            since: now,
            gave: None,
            sending: None,
            asked: None,
            redirection: None,
        });
        known.is_associated = true;
        // Who had it is known without the registry.
        let from = from.or(known.place);
        if known.handoff.service().is_none() {
            self.counters.joins += u64::from(known.came.is_none());
            known.came.get_or_insert(now);
            outside.await_state(client);
        }
        self.step(client, now, outside, |handoff, _| handoff.on_join(from));
    }

    /// A client is no longer associated.
    pub fn on_leave(&mut self, client: MacAddress, outside: &mut dyn Outside) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        known.leave();
        if known.handoff.service().is_none() {
            // Its packets do not wait any longer, and the next one means that it is back.
            outside.lose(client);
        }
    }

    /// A message came from the access point with this name, which the channel vouches for.
    pub fn on_message(&mut self, from: &str, octets: &[u8], now: Instant, outside: &mut dyn Outside) {
        let Some(sender) = self.access_points.number(from) else {
            self.counters.ignored += 1;
            return;
        };
        let (client, message) = match message::decode(octets, &mut self.access_points) {
            Ok((client, Body::Handoff(message))) => (client, message),
            Ok((client, Body::Redirect { epoch, moved })) => {
                self.redirect(client, sender, epoch, &moved, outside);
                return;
            }
            Ok((client, Body::Redirected { epoch })) => {
                self.on_redirected(client, sender, epoch, now, outside);
                return;
            }
            Err(why) => {
                self.counters.ignored += 1;
                debug!(from, %why, "a message was ignored");
                return;
            }
        };
        if !is_senders(&message, sender) {
            self.counters.forged += 1;
            debug!(from, "a message was ignored: it is about an attempt of another access point");
            return;
        }
        if let Some(known) = self.clients.get_mut(&client) {
            if known.redirection.is_some() {
                return;
            }
            // An access point that asks for the state has the client. A station need not say that it leaves.
            if matches!(message, Message::Request { .. }) && known.handoff.service().is_some() {
                known.leave();
            }
            self.step(client, now, outside, |handoff, outside| {
                handoff.on_message(sender, message, || outside.give(client))
            });
            return;
        }
        // Nothing is known of the client, and a message changes nothing about that: no memory is taken.
        let mut unknown = Handoff::new(SELF, 0, &self.config);
        for output in unknown.on_message(sender, message, Bytes::new) {
            if let Output::Send(to, message) = output {
                self.send(client, to, &message, outside);
            }
        }
        self.counters.stale += unknown.stale();
    }

    /// The registry's answer to the question with this number.
    pub fn on_answer(
        &mut self,
        client: MacAddress,
        number: u64,
        answer: RegistryAnswer,
        now: Instant,
        outside: &mut dyn Outside,
    ) {
        let known = self.clients.get_mut(&client).filter(|client| client.question == number);
        let Some(known) = known else {
            self.counters.stale += 1;
            return;
        };
        let answer = match answer {
            RegistryAnswer::Won(epoch) => Answer::Won(epoch),
            RegistryAnswer::Found(None) => Answer::Found(None),
            RegistryAnswer::Found(Some(Holder { name, address, epoch })) => {
                match self.access_points.number_at(&name, address) {
                    Some(holder) => {
                        // Another access point has claimed the client that is served here: it has it.
                        if holder != SELF && known.handoff.service().is_some() {
                            known.leave();
                        }
                        Answer::Found(Some(Entry { holder, epoch }))
                    }
                    None => Answer::Away,
                }
            }
            RegistryAnswer::Away => Answer::Away,
        };
        let gave = known.handoff.gave();
        self.step(client, now, outside, |handoff, _| handoff.on_answer(answer));
        if let (Some((to, _)), Some(known)) = (gave, self.clients.get(&client))
            && known.handoff.gave().is_none()
            && known.handoff.service().is_none()
        {
            self.counters.unreleased += 1;
            let to = self.access_points.name(to);
            warn!(%client, to, "the state of a client may be lost: no access point says that it has taken it");
        }
    }

    /// When [`Handoffs::on_deadline`] is next due.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Goes on with the hand-offs that have waited for long enough. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant, outside: &mut dyn Outside) {
        while let Some((_, client)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            if self.is_under_way(client, now, outside) {
                self.set_deadline(client, now);
            } else if self.clients.get(&client).is_some_and(|known| known.redirection.is_some()) {
                self.on_redirection_timeout(client, now, outside);
            } else {
                self.step(client, now, outside, |handoff, _| handoff.on_timeout());
            }
        }
    }

    /// Whether the state of a client is on its way, here or to another access point: then nobody is asked again.
    fn is_under_way(&mut self, client: MacAddress, now: Instant, outside: &dyn Outside) -> bool {
        let Some(known) = self.clients.get_mut(&client) else { return false };
        if let Some(asked) = &mut known.asked {
            let arrived = outside.arrived_from(self.access_points.name(asked.peer));
            let has_come = mem::replace(&mut asked.arrived, arrived) < arrived;
            return has_come && now.since(asked.since) < LONGEST_TRANSFER;
        }
        let gave = known.handoff.gave().map(|(_, attempt)| attempt);
        gave.is_some_and(|attempt| known.is_sending(attempt))
    }

    /// What was counted.
    pub const fn counters(&self) -> HandoffCounters {
        self.counters
    }

    /// The clients, by their addresses.
    pub fn places(&self, now: Instant) -> impl Iterator<Item = ClientPlace> {
        self.clients.iter().map(move |(address, client)| ClientPlace {
            client: *address,
            access_point: client
                .place
                .map(|place| self.access_points.name(place))
                .unwrap_or_default()
                .to_owned(),
            is_here: client.place == Some(SELF),
            since_s: now.since(client.since).as_secs_f64(),
        })
    }

    /// Gives an input to a client's hand-off, and carries out what it returns.
    fn step(
        &mut self,
        client: MacAddress,
        now: Instant,
        outside: &mut dyn Outside,
        input: impl FnOnce(&mut Handoff<Bytes>, &mut dyn Outside) -> Vec<Output<Bytes>>,
    ) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        let stale = known.handoff.stale();
        let outputs = input(&mut known.handoff, outside);
        let new_stale = known.handoff.stale() - stale;
        self.counters.stale += new_stale;
        let asks = known.handoff.asks();
        if known.asked.map(|asked| asked.peer) != asks {
            let arrived = |peer| outside.arrived_from(self.access_points.name(peer));
            known.asked = asks.map(|peer| Asked { peer, since: now, arrived: arrived(peer) });
        }
        if new_stale == 0 {
            // What changes nothing does not put off a time-out.
            self.set_deadline(client, now);
        }
        for output in outputs {
            self.carry_out(client, output, now, outside);
        }
    }

    fn carry_out(
        &mut self,
        client: MacAddress,
        output: Output<Bytes>,
        now: Instant,
        outside: &mut dyn Outside,
    ) {
        if let Some(Redirection { later, .. }) =
            self.clients.get_mut(&client).and_then(|known| known.redirection.as_mut())
        {
            later.push(output);
            return;
        }
        match output {
            Output::Send(to, message) => self.send(client, to, &message, outside),
            Output::Ask(query) => {
                let Some(known) = self.clients.get_mut(&client) else { return };
                known.question += 1;
                outside.ask(client, known.question, query);
            }
            Output::Serve(Some(state)) => {
                let TakenUp { taken, refused, moved } = outside.take_up(client, &state);
                self.counters.translations_taken += taken;
                self.counters.translations_refused += refused;
                if self.central.is_none() || moved.is_empty() {
                    self.serve(client, Some(state), now, outside);
                } else if let Some(known) = self.clients.get_mut(&client) {
                    let epoch = known.handoff.service().map_or(0, |(epoch, _)| epoch);
                    known.redirection =
                        Some(Redirection { state, epoch, moved, tries: 0, later: Vec::new() });
                    self.ask_to_redirect(client, now, outside);
                }
            }
            Output::Serve(None) => self.serve(client, None, now, outside),
            Output::Stop { is_lost: false } => {
                self.counters.given += 1;
                self.settle(client, None, now);
                if let Some(known) = self.clients.get_mut(&client) {
                    known.gave = Some(now);
                }
            }
            Output::Stop { is_lost: true } => {
                self.counters.lost += 1;
                warn!(%client, "another access point has claimed a client without the state that is here");
                self.settle(client, None, now);
                outside.lose(client);
                outside.release(client);
            }
            Output::Forward(to) => {
                self.settle(client, Some(to), now);
                outside.lose(client);
                outside.release(client);
                info!(%client, to = self.access_points.name(to), "a client is served by another access point");
            }
        }
    }

    /// The client is served here, with this state if there is one.
    fn serve(&mut self, client: MacAddress, state: Option<Bytes>, now: Instant, outside: &mut dyn Outside) {
        let has_state = state.is_some();
        let came = self.settle(client, Some(SELF), now);
        if has_state {
            self.counters.received += 1;
        } else {
            self.counters.without_state += 1;
        }
        let waited = came.map_or(Duration::ZERO, |came| now.since(came));
        self.counters.interruption_us += waited.as_micros() as u64;
        info!(%client, has_state, after_ms = waited.as_secs_f64() * 1e3, "a client is served here");
        outside.serve(client, state);
    }

    /// Asks the central translator to redirect the connections of a client that is to be served here.
    fn ask_to_redirect(&mut self, client: MacAddress, now: Instant, outside: &mut dyn Outside) {
        let Some(central) = self.central else { return };
        let Some(redirection) = self.clients.get_mut(&client).and_then(|known| known.redirection.as_mut())
        else {
            return;
        };
        redirection.tries += 1;
        let body = Body::Redirect { epoch: redirection.epoch, moved: redirection.moved.clone() };
        self.post(client, central, &body, outside);
        self.set_deadline(client, now);
    }

    /// The central translator has not answered: it is asked again, or the client is served all the same.
    fn on_redirection_timeout(&mut self, client: MacAddress, now: Instant, outside: &mut dyn Outside) {
        let redirection = self.clients.get(&client).and_then(|known| known.redirection.as_ref());
        if redirection.is_some_and(|redirection| redirection.tries < self.config.max_tries) {
            self.ask_to_redirect(client, now, outside);
        } else {
            self.counters.unredirected += 1;
            warn!(%client, "the gateway that translates the site does not answer; a client's connections end");
            self.end_redirection(client, now, outside);
        }
    }

    /// The central translator has redirected the connections of a client.
    fn on_redirected(
        &mut self,
        client: MacAddress,
        sender: Peer,
        epoch: u64,
        now: Instant,
        outside: &mut dyn Outside,
    ) {
        let redirection = self.clients.get(&client).and_then(|known| known.redirection.as_ref());
        if self.central != Some(sender) {
            self.counters.forged += 1;
        } else if redirection.is_none_or(|redirection| redirection.epoch != epoch) {
            self.counters.stale += 1;
        } else {
            self.end_redirection(client, now, outside);
        }
    }

    fn end_redirection(&mut self, client: MacAddress, now: Instant, outside: &mut dyn Outside) {
        let redirection = self.clients.get_mut(&client).and_then(|known| known.redirection.take());
        let Some(Redirection { state, later, .. }) = redirection else { return };
        self.serve(client, Some(state), now, outside);
        for output in later {
            self.carry_out(client, output, now, outside);
        }
        self.set_deadline(client, now);
    }

    /// Another access point asks this gateway, which may be the central translator, to redirect connections to it.
    fn redirect(
        &mut self,
        client: MacAddress,
        sender: Peer,
        epoch: u64,
        moved: &[Moved],
        outside: &mut dyn Outside,
    ) {
        let to = self.access_points.name(sender);
        let Some(redirected) = outside.redirect(client, to, epoch, moved) else {
            self.counters.redirections_refused += 1;
            debug!(%client, to, "connections are not redirected");
            return;
        };
        self.counters.redirected += redirected;
        info!(%client, to, redirected, of = moved.len(), "connections of a client go to another access point");
        self.post(client, sender, &Body::Redirected { epoch }, outside);
    }

    /// Records who serves a client. Returns when the client came, if it was not served since.
    fn settle(&mut self, client: MacAddress, place: Option<Peer>, now: Instant) -> Option<Instant> {
        let known = self.clients.get_mut(&client)?;
        (known.place, known.since) = (place, now);
        known.came.take()
    }

    fn send(&mut self, client: MacAddress, to: Peer, message: &Message<Bytes>, outside: &mut dyn Outside) {
        let transferred = if let Message::Transfer { attempt, .. } = message { Some(*attempt) } else { None };
        // A state that has not left yet is not sent twice.
        let known = self.clients.get(&client);
        if transferred.is_some_and(|attempt| known.is_some_and(|known| known.is_sending(attempt))) {
            return;
        }
        let pending = self.post(client, to, &Body::Handoff(message.clone()), outside);
        if let (Some(attempt), Some(known)) = (transferred, self.clients.get_mut(&client)) {
            known.sending = Some((attempt, pending));
        }
    }

    fn post(&self, client: MacAddress, to: Peer, body: &Body, outside: &mut dyn Outside) -> Pending {
        let known = &self.access_points;
        let destination = Destination { name: known.name(to), address: known.address(to) };
        outside.send(&destination, message::encode(client, body, known))
    }

    fn set_deadline(&mut self, client: MacAddress, now: Instant) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        if let Some(old) = known.deadline.take() {
            self.deadlines.remove(&(old, client));
        }
        let timeout = match known.redirection {
            Some(_) => Some(self.config.answer),
            None => known.handoff.timeout(&self.config),
        };
        known.deadline = timeout.map(|timeout| now + timeout);
        if let Some(at) = known.deadline {
            self.deadlines.insert((at, client));
        }
    }

    /// Makes room for another client: forgets the one that has been elsewhere for the longest time. Returns whether
    /// there is room.
    fn make_room(&mut self, outside: &mut dyn Outside) -> bool {
        if self.clients.len() < self.max_clients {
            return true;
        }
        let away = self
            .clients
            .iter()
            .filter(|(_, client)| !client.is_associated && client.handoff.timeout(&self.config).is_none());
        let Some(client) = away.min_by_key(|(_, client)| client.since).map(|(client, _)| *client) else {
            return false;
        };
        self.clients.remove(&client);
        outside.forget(client);
        true
    }
}

/// Whether an access point may send a message: questions are about its own attempts, and answers about those of this
/// one.
fn is_senders(message: &Message<Bytes>, sender: Peer) -> bool {
    match message {
        Message::Request { attempt, .. } | Message::Cancelled { attempt } | Message::Taken { attempt } => {
            attempt.by == sender
        }
        Message::Transfer { attempt, .. }
        | Message::Refuse { attempt, .. }
        | Message::Cancel { attempt, .. } => attempt.by == SELF,
        Message::Release { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::roaming::nat::mapping::Mapping;

    const CLIENT: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

    /// Counts what hand-offs do.
    #[derive(Default)]
    struct Counts {
        sent: usize,
        /// What waits to be sent.
        waiting: Vec<Arc<()>>,
        arrived: u64,
        served: usize,
        asked: u64,
        lost: usize,
        /// The connections that a state of translations moves.
        moved: Vec<Moved>,
        released: usize,
        is_central: bool,
    }

    impl Outside for Counts {
        fn send(&mut self, _to: &Destination<'_>, _octets: Vec<u8>) -> Pending {
            self.sent += 1;
            let (message, pending) = Pending::new();
            self.waiting.push(message);
            pending
        }

        fn arrived_from(&self, _name: &str) -> u64 {
            self.arrived
        }

        fn ask(&mut self, _client: MacAddress, number: u64, _query: Query) {
            self.asked = number;
        }

        fn await_state(&mut self, _client: MacAddress) {}

        fn serve(&mut self, _client: MacAddress, _state: Option<Bytes>) {
            self.served += 1;
        }

        fn give(&mut self, _client: MacAddress) -> Bytes {
            Bytes::new()
        }

        fn lose(&mut self, _client: MacAddress) {
            self.lost += 1;
        }

        fn forget(&mut self, _client: MacAddress) {}

        fn take_up(&mut self, _client: MacAddress, _state: &Bytes) -> TakenUp {
            TakenUp { taken: self.moved.len() as u64, refused: 0, moved: self.moved.clone() }
        }

        fn release(&mut self, _client: MacAddress) {
            self.released += 1;
        }

        fn redirect(&mut self, _client: MacAddress, _to: &str, epoch: u64, moved: &[Moved]) -> Option<u64> {
            self.is_central.then(|| moved.len() as u64 + epoch)
        }
    }

    fn new(max_clients: usize) -> Handoffs {
        Handoffs::new("hall", max_clients, Config::default(), 1, Instant::ZERO)
    }

    /// Serves a client that no access point has served before.
    fn serve(handoffs: &mut Handoffs, client: MacAddress, outside: &mut Counts) {
        handoffs.on_join(client, None, Instant::ZERO, outside);
        handoffs.on_answer(client, outside.asked, RegistryAnswer::Found(None), Instant::ZERO, outside);
        handoffs.on_answer(client, outside.asked, RegistryAnswer::Won(1), Instant::ZERO, outside);
        assert!(handoffs.places(Instant::ZERO).any(|place| place.client == client && place.is_here));
    }

    #[test]
    fn a_packet_that_was_under_way_when_its_client_moved_does_not_call_it_back() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        serve(&mut handoffs, CLIENT, &mut outside);
        let mut known = AccessPoints::new("stairs");
        let attempt = Attempt { by: SELF, number: 5 };
        let request =
            message::encode(CLIENT, &Body::Handoff(Message::Request { attempt, epoch: Some(1) }), &known);
        known.number("hall");
        handoffs.on_message("stairs", &request, Instant::ZERO, &mut outside);
        assert_eq!((outside.sent, handoffs.counters().given), (1, 1), "the state is given");
        let late = Instant::ZERO + UNDER_WAY / 2;
        handoffs.on_notice(CLIENT, late, &mut outside);
        assert_eq!((outside.sent, outside.lost), (1, 1));
        // Later it is back, and its state is asked for.
        handoffs.on_notice(CLIENT, late + UNDER_WAY, &mut outside);
        assert_eq!((outside.sent, outside.lost), (2, 1));
    }

    /// What an access point with the name `stairs` sends to `hall`.
    fn from_stairs(message: impl FnOnce(Peer, Peer) -> Message<Bytes>) -> Vec<u8> {
        let mut known = AccessPoints::new("stairs");
        let hall = known.number("hall").expect("there is room");
        message::encode(CLIENT, &Body::Handoff(message(SELF, hall)), &known)
    }

    fn request() -> Vec<u8> {
        from_stairs(|stairs, _| Message::Request {
            attempt: Attempt { by: stairs, number: 5 },
            epoch: Some(1),
        })
    }

    fn at_stairs() -> RegistryAnswer {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        RegistryAnswer::Found(Some(Holder { name: "stairs".to_owned(), address, epoch: 7 }))
    }

    /// Lets all time-outs come that are due within `time`; octets come before each.
    fn wait(
        handoffs: &mut Handoffs,
        from: Instant,
        time: Duration,
        octets: u64,
        outside: &mut Counts,
    ) -> Instant {
        while let Some(at) = handoffs.deadline().filter(|at| *at <= from + time) {
            outside.arrived += octets;
            handoffs.on_deadline(at, outside);
        }
        from + time
    }

    #[test]
    fn a_state_is_awaited_as_long_as_octets_of_the_access_point_that_has_it_arrive() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
        handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
        assert_eq!(outside.sent, 1, "a request");
        // The state is large, and takes three seconds.
        let now = wait(&mut handoffs, Instant::ZERO, Duration::from_secs(3), 10_000, &mut outside);
        assert_eq!((outside.sent, outside.served), (1, 0), "no access point is asked again");
        handoffs.on_message("stairs", &transfer(), now, &mut outside);
        handoffs.on_answer(CLIENT, outside.asked, RegistryAnswer::Won(8), now, &mut outside);
        assert_eq!((handoffs.counters().received, handoffs.counters().without_state), (1, 0));
    }

    #[test]
    fn an_access_point_that_sends_anything_but_the_state_is_not_awaited_for_ever() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
        handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
        let asked = outside.asked;
        wait(&mut handoffs, Instant::ZERO, LONGEST_TRANSFER * 2, 10_000, &mut outside);
        assert_eq!(outside.sent, 3, "it was asked three times");
        assert!(outside.asked > asked, "its epoch is claimed");
    }

    #[test]
    fn a_state_that_waits_to_be_sent_is_neither_sent_twice_nor_asked_back() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        serve(&mut handoffs, CLIENT, &mut outside);
        handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
        handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
        let now = wait(&mut handoffs, Instant::ZERO, Duration::from_secs(3), 0, &mut outside);
        assert_eq!(outside.sent, 1);
        // It has left, and was lost.
        outside.waiting.clear();
        handoffs.on_message("stairs", &request(), now, &mut outside);
        assert_eq!(outside.sent, 2);
        outside.waiting.clear();
        wait(&mut handoffs, now, Duration::from_millis(250), 0, &mut outside);
        assert_eq!(outside.sent, 3, "the other access point is asked whether it has it");
    }

    #[test]
    fn a_given_state_that_nobody_says_to_have_taken_is_counted() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        serve(&mut handoffs, CLIENT, &mut outside);
        handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
        outside.waiting.clear();
        let asked = outside.asked;
        while outside.asked == asked {
            let at = handoffs.deadline().expect("it waits for a release");
            outside.waiting.clear();
            handoffs.on_deadline(at, &mut outside);
        }
        assert_eq!(handoffs.counters().unreleased, 0);
        handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
        assert_eq!(handoffs.counters().unreleased, 1);
    }

    #[test]
    fn malformed_messages_and_answers_to_earlier_questions_are_counted_and_change_nothing() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        serve(&mut handoffs, CLIENT, &mut outside);
        handoffs.on_message("stairs", b"?", Instant::ZERO, &mut outside);
        handoffs.on_message("", b"?", Instant::ZERO, &mut outside);
        handoffs.on_answer(CLIENT, 1, RegistryAnswer::Found(None), Instant::ZERO, &mut outside);
        let counters = handoffs.counters();
        assert_eq!((counters.ignored, counters.stale, counters.lost), (2, 1, 0));
        assert_eq!(handoffs.places(Instant::ZERO).filter(|place| place.is_here).count(), 1);
    }

    #[test]
    fn messages_about_unknown_clients_are_answered_and_take_no_memory() {
        let (mut handoffs, mut outside) = (new(4), Counts::default());
        let known = AccessPoints::new("stairs");
        for last in 0..100 {
            let request = Message::Request { attempt: Attempt { by: SELF, number: 5 }, epoch: None };
            let octets = message::encode(MacAddress([2, 0, 0, 0, 1, last]), &Body::Handoff(request), &known);
            handoffs.on_message("stairs", &octets, Instant::ZERO, &mut outside);
        }
        assert_eq!((outside.sent, handoffs.places(Instant::ZERO).count()), (100, 0));
    }

    #[test]
    fn clients_beyond_the_bound_are_counted() {
        let (mut handoffs, mut outside) = (new(2), Counts::default());
        for last in 0..3 {
            handoffs.on_join(MacAddress([2, 0, 0, 0, 1, last]), None, Instant::ZERO, &mut outside);
        }
        assert_eq!((handoffs.counters().too_many, handoffs.places(Instant::ZERO).count()), (1, 2));
    }

    /// One connection that a state moves.
    fn one_connection() -> Vec<Moved> {
        use lasthop_linux::conntrack::{Entry, Protocol, Status, Tuple};

        let end = |text: &str| text.parse().expect("an address and a port");
        let (source, destination) = (end("10.77.0.7:40000"), end("192.0.2.9:53"));
        let original = Tuple { protocol: Protocol::Udp, source, destination };
        let reply = Tuple { destination: end("10.0.0.1:1024"), ..original.reversed() };
        let (status, timeout) = (Status::default(), Duration::from_secs(1));
        let entry = Entry { original, reply, status, timeout, mark: 0, tcp: None };
        let mapping = Mapping::of(&entry, [10, 0, 0, 1].into()).expect("a translation");
        vec![mapping.moved(end("10.0.0.2:1024")).expect("it has another end")]
    }

    /// A client has come from `stairs` with the translation of a connection, and `gate` is asked to redirect it.
    fn asks_central() -> (Handoffs, Counts) {
        let mut handoffs = new(4).with_central("gate");
        let mut outside = Counts { moved: one_connection(), ..Counts::default() };
        handoffs.on_join(CLIENT, None, Instant::ZERO, &mut outside);
        handoffs.on_answer(CLIENT, outside.asked, at_stairs(), Instant::ZERO, &mut outside);
        handoffs.on_message("stairs", &transfer(), Instant::ZERO, &mut outside);
        handoffs.on_answer(CLIENT, outside.asked, RegistryAnswer::Won(8), Instant::ZERO, &mut outside);
        assert_eq!((outside.sent, outside.served), (2, 0), "a request, and a redirection");
        (handoffs, outside)
    }

    fn transfer() -> Vec<u8> {
        from_stairs(|_, hall| Message::Transfer {
            attempt: Attempt { by: hall, number: 1 },
            epoch: 7,
            state: Bytes::from_static(b"state"),
        })
    }

    fn redirected(epoch: u64) -> Vec<u8> {
        message::encode(CLIENT, &Body::Redirected { epoch }, &AccessPoints::new("gate"))
    }

    #[test]
    fn a_client_is_served_and_its_former_access_point_released_when_its_connections_are_redirected() {
        let (mut handoffs, mut outside) = asks_central();
        // Another access point asks for the state meanwhile, and has to ask again.
        handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
        handoffs.on_message("gate", &redirected(7), Instant::ZERO, &mut outside);
        handoffs.on_message("stairs", &redirected(8), Instant::ZERO, &mut outside);
        assert_eq!((outside.sent, outside.served), (2, 0));
        let counters = handoffs.counters();
        assert_eq!((counters.stale, counters.forged, counters.translations_taken), (1, 1, 1));
        handoffs.on_message("gate", &redirected(8), Instant::ZERO, &mut outside);
        assert_eq!((outside.sent, outside.served), (3, 1), "it is released");
        handoffs.on_message("gate", &redirected(8), Instant::ZERO, &mut outside);
        assert_eq!((outside.served, handoffs.counters().stale), (1, 2));
        assert_eq!(outside.released, 0);
    }

    #[test]
    fn a_gateway_that_does_not_redirect_is_asked_again_and_not_awaited_for_ever() {
        let (mut handoffs, mut outside) = asks_central();
        let config = Config::default();
        let now = wait(&mut handoffs, Instant::ZERO, config.answer * 2, 0, &mut outside);
        assert_eq!((outside.sent, outside.served), (4, 0), "three redirections");
        wait(&mut handoffs, now, config.answer, 0, &mut outside);
        assert_eq!((outside.sent, outside.served, handoffs.counters().unredirected), (5, 1, 1));
    }

    #[test]
    fn translations_are_kept_until_their_client_is_served_elsewhere() {
        let (mut handoffs, mut outside) = (new(4).with_central("gate"), Counts::default());
        serve(&mut handoffs, CLIENT, &mut outside);
        handoffs.on_message("stairs", &request(), Instant::ZERO, &mut outside);
        assert_eq!(outside.released, 0, "they were given");
        let release = from_stairs(|stairs, _| Message::Release { entry: Entry { holder: stairs, epoch: 9 } });
        handoffs.on_message("stairs", &release, Instant::ZERO, &mut outside);
        assert_eq!(outside.released, 1);
    }

    #[test]
    fn only_a_gateway_that_translates_the_site_redirects() {
        let known = AccessPoints::new("stairs");
        let body = Body::Redirect { epoch: 8, moved: one_connection() };
        let octets = message::encode(CLIENT, &body, &known);
        for (is_central, counts) in [(false, (0, 0, 1)), (true, (1, 9, 0))] {
            let (mut handoffs, mut outside) = (new(4), Counts { is_central, ..Counts::default() });
            handoffs.on_message("stairs", &octets, Instant::ZERO, &mut outside);
            let counters = handoffs.counters();
            assert_eq!((outside.sent, counters.redirected, counters.redirections_refused), counts);
            assert_eq!(handoffs.places(Instant::ZERO).count(), 0, "it takes no memory");
        }
    }
}
