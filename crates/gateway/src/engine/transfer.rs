//! Transfer: connections as values, for another engine on this host or another to continue.

use std::net::IpAddr;

use lasthop_agent::{FlowState, ImportError, Obligation, Scope, Side, Slot};
use lasthop_packet::{FlowKey, Instant, Protocol};
use serde::{Deserialize, Serialize};

use super::{Engine, Outgoing, rule_for};
use crate::connection::{Arrival, State, TrackedConnection};
use crate::frame::LinkHeader;
use crate::io::PortId;

/// A connection with its agent's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedConnection {
    connection: FlowKey,
    /// The schemes of its rule, from the core side to the radio side.
    schemes: String,
    /// As [`State::index`].
    state: u8,
    /// How packets of it arrived from the core side and from the radio side; `None` for a direction
    /// that was not seen.
    arrivals: [Option<SavedArrival>; 2],
    /// Whether a FIN was received from the core side and from the radio side.
    finished: [bool; 2],
    /// Its agent's obligation for it.
    owed: Obligation,
    pub(super) states: Vec<FlowState>,
}

/// A port by its number, and a link header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedArrival {
    port: u16,
    link: Vec<u8>,
}

impl SavedConnection {
    /// The length of its agent's state, in octets.
    #[cfg(feature = "roaming")]
    pub(super) fn octets(&self) -> u64 {
        self.states.iter().map(FlowState::len_with_payloads).sum()
    }

    /// The address of its client, which determines its worker.
    pub const fn client(&self) -> IpAddr {
        self.connection.destination.0
    }

    /// Its agent's obligation for it.
    pub const fn owed(&self) -> Obligation {
        self.owed
    }

    /// The link headers of packets from the core side and from the radio side; `None` for a direction that was
    /// not seen.
    #[cfg(feature = "roaming")]
    pub(super) fn links(&self) -> [Option<&[u8]>; 2] {
        self.arrivals.each_ref().map(|arrival| arrival.as_ref().map(|arrival| &*arrival.link))
    }
}

impl Engine {
    /// Takes the state of all connections out of the agents, and returns it; after that the
    /// connections pass without an agent. Packets that agents hold are part of the state. A
    /// connection that was seen in one direction only has no state worth moving, unless its agent
    /// has an obligation.
    pub fn export(&mut self, now: Instant, out: &mut Outgoing) -> Vec<SavedConnection> {
        let slots = self.connections.slots();
        slots.filter_map(|slot| self.export_slot(slot, now, out)).collect()
    }

    /// The same of one connection.
    pub(super) fn export_slot(
        &mut self,
        slot: Slot,
        now: Instant,
        out: &mut Outgoing,
    ) -> Option<SavedConnection> {
        let connection = self.connections.at(slot);
        let rule = connection.rule.filter(|_| connection.aside.is_none())?;
        let arrivals = [Side::Core, Side::Radio].map(|side| connection.from(side).arrival.clone());
        let (key, is_two_way) = (self.connections.key(slot), connection.is_two_way());
        let state = connection.state.index() as u8;
        let finished = [connection.from_core.finished, connection.from_radio.finished];
        let owed = self.obligation(slot);
        if !is_two_way && owed.is_free() {
            return None;
        }
        let states = self.export_one(rule, key, now, out);
        if states.is_empty() {
            return None;
        }
        let schemes = self.rules[usize::from(rule)].schemes.clone();
        let arrivals = arrivals.map(|arrival| arrival.map(SavedArrival::from));
        Some(SavedConnection { connection: key, schemes, state, arrivals, finished, owed, states })
    }

    /// Continues a connection of another engine. `saved` is not trusted. The obligation for a
    /// refused connection is counted as broken, because the other engine has given it up.
    pub fn import(
        &mut self,
        saved: &SavedConnection,
        now: Instant,
        out: &mut Outgoing,
    ) -> Result<(), ImportError> {
        let [core, radio] = &saved.arrivals;
        let arrival = |saved: &Option<SavedArrival>, side| {
            saved.as_ref().map(|saved| self.arrival(saved, side)).transpose()
        };
        let arrivals = arrival(core, Side::Core).and_then(|core| Ok([core, arrival(radio, Side::Radio)?]));
        let imported = arrivals.and_then(|arrivals| self.take_over(saved, arrivals, now, out));
        self.counters.counts.taken_over += u64::from(imported.is_ok());
        if imported.is_err() {
            self.counters.counts.not_taken_over += 1;
            self.counters.counts.count_broken(saved.owed);
        }
        imported
    }

    /// Continues a connection whose packets arrive like this from the core side and from the radio side.
    pub(super) fn take_over(
        &mut self,
        saved: &SavedConnection,
        [core, radio]: [Option<Arrival>; 2],
        now: Instant,
        out: &mut Outgoing,
    ) -> Result<(), ImportError> {
        let key = saved.connection;
        let rule = rule_for(&self.traffic, &self.rules[..self.planned], key);
        let rule = rule.filter(|rule| self.rules[usize::from(*rule)].schemes == saved.schemes);
        let rule = rule.ok_or_else(|| ImportError::OtherScheme(saved.schemes.clone()))?;
        let state = State::ALL.get(usize::from(saved.state)).copied();
        let state = state.ok_or(ImportError::Malformed("unknown state of a connection"))?;
        if (state == State::Datagrams) != (key.protocol == Protocol::Udp) {
            return Err(ImportError::Malformed("the state belongs to another protocol"));
        }
        if saved.states.iter().any(|state| state.connection != key) {
            return Err(ImportError::Malformed("a state belongs to another connection"));
        }
        if self.connections.find(key).is_some() {
            return Err(ImportError::Known);
        }
        let mut connection = TrackedConnection::new(Some(rule), state, now);
        (connection.from_core.arrival, connection.from_radio.arrival) = (core, radio);
        (connection.from_core.finished, connection.from_radio.finished) = saved.finished.into();
        let slot = self.remember(key, connection, now).ok_or(ImportError::NoRoom("connections"))?;
        let imported = self.import_all(rule, &saved.states, now, out);
        if imported.is_err() {
            self.give_up(rule, &saved.states, now, out);
            self.forget(slot, now, out);
        }
        imported
    }

    /// No agent continues a connection from these states: that of the rule resets its ends if it owes them something.
    pub(super) fn give_up(&mut self, rule: u16, states: &[FlowState], now: Instant, out: &mut Outgoing) {
        for state in states {
            self.call(usize::from(rule), now, |agent, cx| agent.give_up(state, cx));
        }
        self.send_outbox(None, now, out);
    }

    /// Takes a connection's state out of a rule's agent. The agent sends packets that cannot be
    /// moved.
    pub(super) fn export_one(
        &mut self,
        rule: u16,
        key: FlowKey,
        now: Instant,
        out: &mut Outgoing,
    ) -> Vec<FlowState> {
        let scope = Scope::Connection(key);
        let states = self.call(usize::from(rule), now, |agent, cx| agent.export(scope, cx));
        self.send_outbox(None, now, out);
        states.unwrap_or_default()
    }

    /// Gives a connection's state to a rule's agent, all of it or none.
    pub(super) fn import_all(
        &mut self,
        rule: u16,
        states: &[FlowState],
        now: Instant,
        out: &mut Outgoing,
    ) -> Result<(), ImportError> {
        for (index, state) in states.iter().enumerate() {
            let imported = self.call(usize::from(rule), now, |agent, cx| agent.import(state, cx));
            self.send_outbox(None, now, out);
            if let Err(refusal) = imported.unwrap_or(Err(ImportError::NoRoom("the agent panicked"))) {
                for state in &states[..index] {
                    self.export_one(rule, state.connection, now, out);
                }
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Restores an arrival, if its port exists on this side.
    fn arrival(&self, saved: &SavedArrival, side: Side) -> Result<Arrival, ImportError> {
        self.arrival_at(PortId(saved.port), &saved.link, side)
    }

    /// An arrival at a port with this link header, if the port exists on this side, and has such headers.
    pub(super) fn arrival_at(&self, port: PortId, link: &[u8], side: Side) -> Result<Arrival, ImportError> {
        let wrong = ImportError::Malformed("unknown port");
        let known = self.ports.get(usize::from(port.0)).filter(|port| port.side == side);
        let link = if known.ok_or_else(|| wrong.clone())?.ethernet {
            LinkHeader::ethernet(link).filter(|header| header.len() == link.len())
        } else {
            link.is_empty().then_some(LinkHeader::NONE)
        };
        Ok(Arrival { port, link: link.ok_or(wrong)? })
    }
}

impl From<Arrival> for SavedArrival {
    fn from(arrival: Arrival) -> Self {
        Self { port: arrival.port.0, link: arrival.link.octets().to_vec() }
    }
}
