//! Where the connections of each client are served, and packets that wait for the state of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lasthop_packet::Instant;
use serde::{Deserialize, Serialize};

use crate::frame::MacAddress;
use crate::io::PortId;

/// How long packets wait for the state of their connection.
pub const HOLD: Duration = Duration::from_millis(300);

/// The maximum number of octets of memory that the packets of one client take while they wait. Further packets
/// are dropped, as in a full queue.
pub const MAX_HELD: usize = 1 << 20;

/// The same of all clients.
pub const MAX_HELD_IN_ALL: usize = 16 << 20;

/// How often the arrival of a client is reported that is awaited and sends packets: a report may be lost.
const REPORT_AGAIN: Duration = Duration::from_secs(1);

/// The known clients, a bounded number. `P` is a packet that waits.
pub(super) struct Whereabouts<P> {
    clients: BTreeMap<MacAddress, Place<P>>,
    max_clients: usize,
    /// When packets of which clients have waited for long enough.
    ends: BTreeSet<(Instant, MacAddress)>,
    held_octets: usize,
    /// Clients that have arrived and were not yet reported.
    arrived: Vec<MacAddress>,
    counters: RoamingCounters,
}

/// Where a client's connections are served.
enum Place<P> {
    Here,
    Elsewhere,
    Awaited(Waiting<P>),
}

/// Packets of a client whose state is awaited.
struct Waiting<P> {
    until: Instant,
    /// When its arrival is reported again, if it is still awaited then.
    report_at: Instant,
    /// The radio port from which its last packet came.
    port: Option<PortId>,
    held: Vec<P>,
    octets: usize,
}

lasthop_agent::counters! {
    /// What the engine counts of clients that roam.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct RoamingCounters {
        /// Packets that waited for the state of their connection.
        held: HELD = "held_packets",
        /// Packets that did not find room to wait, and were dropped.
        dropped: DROPPED = "dropped_packets",
        /// Packets that passed, because the state of their connection is elsewhere or did not come in time.
        passed: PASSED = "passed_packets",
        /// Connections given to another access point.
        given: GIVEN = "connections_given",
        /// Octets at risk of these connections.
        octets_given: OCTETS_GIVEN = "octets_given",
        /// Connections taken over from another access point.
        taken: TAKEN = "connections_taken",
        /// Connections whose state another access point sent and that could not be taken over.
        refused: REFUSED = "connections_refused",
        /// Clients for which there was no room in the table.
        too_many: TOO_MANY = "clients_too_many",
    }
}

impl<P> Whereabouts<P> {
    /// Nothing is known of any client.
    pub(super) fn new(max_clients: usize) -> Self {
        Self {
            clients: BTreeMap::new(),
            max_clients,
            ends: BTreeSet::new(),
            held_octets: 0,
            arrived: Vec::new(),
            counters: RoamingCounters::default(),
        }
    }

    /// Whether a client is served here.
    pub(super) fn is_here(&self, client: MacAddress) -> bool {
        matches!(self.clients.get(&client), Some(Place::Here))
    }

    /// Whether anything is known of a client.
    pub(super) fn is_known(&self, client: MacAddress) -> bool {
        self.clients.contains_key(&client)
    }

    /// Whether the packets of a client wait now.
    pub(super) fn waits(&self, client: MacAddress, now: Instant) -> bool {
        matches!(self.clients.get(&client), Some(Place::Awaited(waiting)) if waiting.until > now)
    }

    /// Awaits the state of a client that is not served here, unless it is awaited already or there is no room.
    /// Returns whether it does so from now on.
    pub(super) fn begin_to_wait(&mut self, client: MacAddress, now: Instant) -> bool {
        let is_settled = matches!(self.clients.get(&client), Some(Place::Here | Place::Awaited(_)));
        if is_settled || !self.has_room_for(client) {
            return false;
        }
        let (until, report_at) = (now + HOLD, now + REPORT_AGAIN);
        let waiting = Waiting { until, report_at, port: None, held: Vec::new(), octets: 0 };
        self.ends.insert((waiting.until, client));
        self.clients.insert(client, Place::Awaited(waiting));
        true
    }

    /// Whether a client has been awaited for so long that its arrival is to be reported again.
    pub(super) fn is_overdue(&mut self, client: MacAddress, now: Instant) -> bool {
        let Some(Place::Awaited(waiting)) = self.clients.get_mut(&client) else { return false };
        let is_overdue = waiting.report_at <= now;
        if is_overdue {
            waiting.report_at = now + REPORT_AGAIN;
        }
        is_overdue
    }

    /// Has a packet wait that takes this many octets, and that came from this radio port if it is from the client.
    pub(super) fn hold(&mut self, client: MacAddress, packet: P, octets: usize, port: Option<PortId>) {
        let Some(Place::Awaited(waiting)) = self.clients.get_mut(&client) else { return };
        waiting.port = port.or(waiting.port);
        if waiting.octets + octets > MAX_HELD || self.held_octets + octets > MAX_HELD_IN_ALL {
            self.counters.dropped += 1;
            return;
        }
        waiting.held.push(packet);
        waiting.octets += octets;
        self.held_octets += octets;
        self.counters.held += 1;
    }

    /// Takes the packets of a client that have waited until now. Its later packets do not wait.
    pub(super) fn take_held(&mut self, client: MacAddress) -> Vec<P> {
        let Some(Place::Awaited(waiting)) = self.clients.get_mut(&client) else { return Vec::new() };
        self.ends.remove(&(waiting.until, client));
        self.held_octets -= std::mem::take(&mut waiting.octets);
        std::mem::take(&mut waiting.held)
    }

    /// A client is served here, or elsewhere, if there is room to know that. Returns the packets that have waited.
    pub(super) fn set_place(&mut self, client: MacAddress, is_here: bool) -> Vec<P> {
        let held = self.take_held(client);
        if self.has_room_for(client) {
            self.clients.insert(client, if is_here { Place::Here } else { Place::Elsewhere });
        }
        held
    }

    /// Forgets a client. Returns the packets that have waited.
    pub(super) fn forget(&mut self, client: MacAddress) -> Vec<P> {
        let held = self.take_held(client);
        self.clients.remove(&client);
        held
    }

    /// The client whose packets have waited for the longest time, and when it is long enough.
    pub(super) fn first_end(&self) -> Option<(Instant, MacAddress)> {
        self.ends.first().copied()
    }

    /// The radio port from which the last packet of a client came that waited.
    pub(super) fn port_of(&self, client: MacAddress) -> Option<PortId> {
        match self.clients.get(&client)? {
            Place::Awaited(waiting) => waiting.port,
            Place::Here | Place::Elsewhere => None,
        }
    }

    /// Reports that a client has arrived.
    pub(super) fn report(&mut self, client: MacAddress) {
        self.arrived.push(client);
    }

    /// The clients that have arrived since the last call.
    pub(super) fn take_arrived(&mut self) -> Vec<MacAddress> {
        std::mem::take(&mut self.arrived)
    }

    /// What was counted.
    pub(super) const fn counters(&self) -> RoamingCounters {
        self.counters
    }

    /// What is counted outside of the table.
    pub(super) const fn counters_mut(&mut self) -> &mut RoamingCounters {
        &mut self.counters
    }

    /// The number of packets that wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> u64 {
        let waiting = |place: &Place<P>| if let Place::Awaited(it) = place { it.held.len() } else { 0 };
        self.clients.values().map(waiting).sum::<usize>() as u64
    }

    fn has_room_for(&self, client: MacAddress) -> bool {
        self.clients.len() < self.max_clients || self.clients.contains_key(&client)
    }
}
