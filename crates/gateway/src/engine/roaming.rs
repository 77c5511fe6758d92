//! Clients that roam between access points: whose connections are served here, and packets that wait for the
//! state of theirs.
//!
//! A client is known by its MAC address, which a bridge keeps. The engine knows of each client whether its
//! connections are served here, elsewhere, or will be here: then their state is awaited. Only packets of
//! connections that are not in the table are looked up, so that others cost nothing.
//!
//! | the client's connections are | from the client | to the client |
//! |---|---|---|
//! | served here | agents see it | agents see it |
//! | served elsewhere, or unknown | the client has arrived: its state is awaited | passes: it is sent to all ports of the bridge, or late |
//! | awaited | held, then passes | held, then passes |
//!
//! An agent that terminates a connection has sequence numbers of its own towards each end. If a packet passed it,
//! an endpoint would get the numbers of the other one. So packets are held until the state is here, at most for
//! [`HOLD`](super::whereabouts::HOLD) and to [`MAX_HELD`](super::whereabouts::MAX_HELD); after that, connections that need no state go on, and an endpoint of a split
//! connection refuses numbers outside of its windows (RFC 9293, section 3.10.7.4; RFC 5961, section 5).

use std::collections::BTreeMap;

use lasthop_agent::{ImportError, Side, Slot};
use lasthop_packet::buffer::buffer_of;
use lasthop_packet::{FlowKey, Instant, Protocol};
use serde::{Deserialize, Serialize};

use super::whereabouts::{RoamingCounters, Whereabouts};
use super::{CurrentPacket, Engine, Outgoing, SavedConnection, rule_for};
use crate::connection::Arrival;
use crate::frame::{LinkHeader, MacAddress};
use crate::io::PortId;

/// What became of the connections of a client that is served here now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Connections that go on with their state.
    pub connections: usize,
    /// Connections whose state was refused.
    pub refused: usize,
    /// Why the first of these was refused.
    pub why: Option<ImportError>,
}

impl Served {
    /// The sum of two packet loops.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            refused: self.refused + other.refused,
            why: self.why.or(other.why),
        }
    }
}

/// Connections that are served elsewhere from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Their state.
    pub saved: Vec<SavedConnection>,
    /// Whether the client has no others here.
    pub is_all: bool,
}

/// The octets of state after which a turn of the packet loop ends that gives connections: more take so long that other
/// clients' packets are late.
const GIVEN_IN_A_TURN: u64 = 256 << 10;

/// The maximum number of connections that are given in a turn.
const MAX_GIVEN_IN_A_TURN: u64 = 64;

/// The connections of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientLoad {
    /// The number of its connections.
    pub connections: u64,
    /// Octets of them that agents have acknowledged and not delivered.
    pub octets_at_risk: u64,
}

impl ClientLoad {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            connections: self.connections.saturating_add(other.connections),
            octets_at_risk: self.octets_at_risk.saturating_add(other.octets_at_risk),
        }
    }
}

impl Engine {
    /// From now on, clients may roam. At most `max_clients` are known at a time; the connections of others stay
    /// here. The clients of the connections that are in the table are here, and have arrived.
    pub fn roam(&mut self, max_clients: usize) {
        let mut roaming = Whereabouts::new(max_clients);
        for client in self.client_loads().into_keys().take(max_clients) {
            roaming.set_place(client, true);
            roaming.report(client);
        }
        self.roaming = Some(Box::new(roaming));
    }

    /// The clients that have arrived since the last call: of which a packet came that is of no connection known
    /// here.
    pub fn take_arrived(&mut self) -> Vec<MacAddress> {
        self.roaming.as_mut().map(|roaming| roaming.take_arrived()).unwrap_or_default()
    }

    /// The state of a client's connections is awaited. Connections of it that are here, and of which nothing is
    /// owed, are forgotten: their state is the one to come.
    pub fn await_client(&mut self, client: MacAddress, now: Instant, out: &mut Outgoing) {
        let Some(roaming) = &mut self.roaming else { return };
        if roaming.begin_to_wait(client, now) {
            for slot in self.slots_of(client) {
                if self.obligation(slot).is_free() {
                    self.forget(slot, now, out);
                }
            }
        }
    }

    /// Takes the state of some of a client's connections out of the agents, to be served elsewhere from now on: as
    /// many as a turn of the packet loop has time for. No connections of the client are added, so that there are none
    /// left after some calls.
    pub fn give_client(&mut self, client: MacAddress, now: Instant, out: &mut Outgoing) -> Given {
        self.settle(client, false, out);
        let (mut saved, mut octets) = (Vec::new(), 0);
        let mut slots = self.slots_of(client).into_iter();
        while octets < GIVEN_IN_A_TURN
            && let Some(slot) = slots.next()
        {
            let connection = self.export_slot(slot, now, out);
            self.forget(slot, now, out);
            octets += GIVEN_IN_A_TURN / MAX_GIVEN_IN_A_TURN;
            octets += connection.as_ref().map_or(0, SavedConnection::octets);
            saved.extend(connection);
        }
        if let Some(roaming) = &mut self.roaming {
            roaming.counters_mut().given += saved.len() as u64;
            let octets = saved.iter().map(|connection| connection.owed().octets());
            roaming.counters_mut().octets_given += octets.fold(0, u64::saturating_add);
        }
        Given { saved, is_all: slots.next().is_none() }
    }

    /// A client is served elsewhere, without the state of its connections here: what is owed to them is lost.
    pub fn lose_client(&mut self, client: MacAddress, now: Instant, out: &mut Outgoing) {
        for slot in self.slots_of(client) {
            self.forget(slot, now, out);
        }
        self.settle(client, false, out);
    }

    /// Serves a client from now on, and continues these connections. `saved` is not trusted. A refused obligation
    /// is counted as broken, because the other access point has given it up.
    pub fn serve_client(
        &mut self,
        client: MacAddress,
        saved: &[SavedConnection],
        now: Instant,
        out: &mut Outgoing,
    ) -> Served {
        let port = self.roaming.as_ref().and_then(|roaming| roaming.port_of(client));
        let mut served = Served::default();
        for connection in saved {
            let arrivals = self.arrivals_here(connection, client, port);
            match arrivals.and_then(|arrivals| self.take_over(connection, arrivals, now, out)) {
                Ok(()) => served.connections += 1,
                Err(why) => {
                    self.counters.counts.count_broken(connection.owed());
                    served.refused += 1;
                    served.why.get_or_insert(why);
                }
            }
        }
        if let Some(roaming) = &mut self.roaming {
            roaming.counters_mut().taken += served.connections as u64;
            roaming.counters_mut().refused += served.refused as u64;
        }
        for packet in self.settle(client, true, out) {
            self.on_packet(packet, now, out);
        }
        served
    }

    /// Forgets a client that is no longer here. Its connections stay.
    pub fn forget_client(&mut self, client: MacAddress, out: &mut Outgoing) {
        let Some(roaming) = &mut self.roaming else { return };
        let held = roaming.forget(client);
        self.pass(held, out);
    }

    /// What is counted of clients that roam; `None` if none may.
    pub fn roaming_counters(&self) -> Option<RoamingCounters> {
        self.roaming.as_ref().map(|roaming| roaming.counters())
    }

    /// The connections of the clients that roam.
    pub fn client_loads(&self) -> BTreeMap<MacAddress, ClientLoad> {
        let mut loads = BTreeMap::<MacAddress, ClientLoad>::new();
        for slot in self.connections.slots() {
            let Some(client) = self.client_of(slot) else { continue };
            let load = loads.entry(client).or_default();
            load.connections += 1;
            load.octets_at_risk = load.octets_at_risk.saturating_add(self.obligation(slot).octets());
        }
        loads
    }

    /// The client of a packet of a connection that is not in the table; `None` if the client is served here.
    #[cold]
    pub(super) fn awaits(
        &mut self,
        current: &CurrentPacket,
        key: FlowKey,
        now: Instant,
    ) -> Option<MacAddress> {
        if self.is_drained || self.roaming.is_none() {
            return None;
        }
        let client = match current.side {
            Side::Core => current.link.destination(),
            Side::Radio => current.link.source(),
        };
        let client =
            client.filter(|_| rule_for(&self.traffic, &self.rules[..self.planned], key).is_some())?;
        let roaming = self.roaming.as_mut().filter(|roaming| !roaming.is_here(client))?;
        if current.side == Side::Core {
            return Some(client);
        }
        if roaming.begin_to_wait(client, now) || roaming.is_overdue(client, now) {
            roaming.report(client);
        }
        if roaming.is_known(client) {
            return Some(client);
        }
        roaming.counters_mut().too_many += 1;
        None
    }

    /// Holds a packet until its client's state has come, or passes it.
    #[cold]
    pub(super) fn detain(
        &mut self,
        client: MacAddress,
        current: CurrentPacket,
        key: FlowKey,
        now: Instant,
        out: &mut Outgoing,
    ) {
        let port = (current.side == Side::Radio).then_some(current.port);
        match &mut self.roaming {
            // Datagrams do not depend on a state.
            Some(roaming) if roaming.waits(client, now) && key.protocol == Protocol::Tcp => {
                let octets = buffer_of(current.frame.octets.len()) + size_of::<CurrentPacket>();
                roaming.hold(client, current, octets, port);
            }
            _ => self.pass(vec![current], out),
        }
    }

    /// When packets have waited for long enough.
    pub(super) fn end_of_wait(&self) -> Option<Instant> {
        self.roaming.as_ref()?.first_end().map(|(at, _)| at)
    }

    /// Lets packets pass that have waited for long enough.
    pub(super) fn end_waits(&mut self, now: Instant, out: &mut Outgoing) {
        while let Some(roaming) = &mut self.roaming
            && let Some((_, client)) = roaming.first_end().filter(|(at, _)| *at <= now)
        {
            let held = roaming.take_held(client);
            self.pass(held, out);
        }
    }

    /// Lets all packets pass that wait.
    pub(super) fn pass_all(&mut self, out: &mut Outgoing) {
        while let Some(roaming) = &mut self.roaming
            && let Some((_, client)) = roaming.first_end()
        {
            let held = roaming.take_held(client);
            self.pass(held, out);
        }
    }

    /// Forwards packets, none of which is of a connection in the table.
    fn pass(&mut self, packets: Vec<CurrentPacket>, out: &mut Outgoing) {
        if let Some(roaming) = &mut self.roaming {
            roaming.counters_mut().passed += packets.len() as u64;
        }
        out.frames.extend(packets.into_iter().map(|packet| (packet.port, packet.frame)));
    }

    /// Records where a client is served. Returns the packets that have waited for it to be served here; if it is
    /// served elsewhere, they pass.
    fn settle(&mut self, client: MacAddress, is_here: bool, out: &mut Outgoing) -> Vec<CurrentPacket> {
        let Some(roaming) = &mut self.roaming else { return Vec::new() };
        let held = roaming.set_place(client, is_here);
        if is_here {
            return held;
        }
        self.pass(held, out);
        Vec::new()
    }

    /// The slots of a client's connections that have an agent.
    fn slots_of(&self, client: MacAddress) -> Vec<Slot> {
        self.connections.slots().filter(|slot| self.client_of(*slot) == Some(client)).collect()
    }

    /// The client of a connection that has an agent.
    fn client_of(&self, slot: Slot) -> Option<MacAddress> {
        let connection = self.connections.at(slot);
        connection.rule.filter(|_| connection.aside.is_none())?;
        let link = |side| connection.from(side).arrival.as_ref().map(|arrival| &arrival.link);
        link(Side::Radio).map_or_else(|| link(Side::Core)?.destination(), LinkHeader::source)
    }

    /// How packets of a connection arrive here, if the connection is the client's. With the tc backend, an
    /// interface has a port for each direction.
    fn arrivals_here(
        &self,
        saved: &SavedConnection,
        client: MacAddress,
        radio: Option<PortId>,
    ) -> Result<[Option<Arrival>; 2], ImportError> {
        let on = |side| {
            let ports = self.ports.iter().enumerate();
            ports.filter(move |(_, port)| port.side == side && port.copies_of.is_none())
        };
        let missing = || ImportError::NoRoom("no port");
        let (radio, at) = on(Side::Radio)
            .find(|(index, _)| radio.is_none_or(|radio| usize::from(radio.0) == *index))
            .ok_or_else(missing)?;
        let same_interface = on(Side::Core).find(|(_, port)| port.name == at.name);
        let (core, _) = same_interface.or_else(|| on(Side::Core).next()).ok_or_else(missing)?;
        let arrival = |link: Option<&[u8]>, port: usize, side| {
            link.map(|link| self.arrival_at(PortId(port as u16), link, side)).transpose()
        };
        let [from_core, from_radio] = saved.links();
        let arrivals = [arrival(from_core, core, Side::Core)?, arrival(from_radio, radio, Side::Radio)?];
        let [from_core, from_radio] = &arrivals;
        let is_its = [
            from_core.as_ref().map(|arrival| arrival.link.destination()),
            from_radio.as_ref().map(|arrival| arrival.link.source()),
        ];
        if is_its.into_iter().flatten().any(|address| address != Some(client)) {
            return Err(ImportError::Malformed("the connection is another client's"));
        }
        Ok(arrivals)
    }
}
