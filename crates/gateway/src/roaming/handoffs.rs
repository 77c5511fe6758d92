//! The clients of an access point: one hand-off for each, their timers, and what is counted.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::Duration;

use bytes::Bytes;
use lasthop_handoff::{Answer, Attempt, Config, Entry, Handoff, Message, Output, Peer};
use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};
use tracing::{debug, info, warn};

use super::access_points::{AccessPoints, SELF};
use super::channel::{Destination, Pending};
use super::counters::HandoffCounters;
use super::message::{self, Body};
use super::nat::access_point::TakenUp;
use super::nat::mapping::Moved;
use super::outside::{Holder, Outside, RegistryAnswer};
use crate::frame::MacAddress;

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

    /// Whether the state of a client is on its way, here or to another access point: then no other access point is asked.
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
        if let Some(at) = self.clients.remove(&client).and_then(|forgotten| forgotten.deadline) {
            self.deadlines.remove(&(at, client));
        }
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
