//! What each client's connections carried, counted when they end. The table is bounded: the first
//! clients one of whose connections ends have counters of their own, all others share one. Each packet
//! loop has a table of its own, with an equal share of the places.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::connection::TrackedConnection;

/// What ended connections carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCounters {
    /// Connections that ended.
    pub connections: u64,
    /// Packets of these to the client.
    pub packets_down: u64,
    /// Packets of these from the client.
    pub packets_up: u64,
    /// Octets of IP packets to the client.
    pub octets_down: u64,
    /// Octets of IP packets from the client.
    pub octets_up: u64,
}

/// The clients that have counters of their own, and all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientsReport {
    /// By address.
    pub by_address: BTreeMap<IpAddr, ClientCounters>,
    /// All clients whose first connection ended when there was no room.
    pub other: ClientCounters,
}

/// Counts for a number of clients.
#[derive(Debug)]
pub(super) struct Clients {
    most: usize,
    report: ClientsReport,
}

impl Clients {
    /// Counters for this many clients beside those of all others; some 100 octets each, taken when
    /// a client's first connection ends.
    pub(super) fn new(most: usize) -> Self {
        Self { most, report: ClientsReport::default() }
    }

    /// A connection of this client has ended.
    pub(super) fn ended(&mut self, client: IpAddr, connection: &TrackedConnection) {
        let ClientsReport { by_address, other } = &mut self.report;
        let has_room = by_address.len() < self.most;
        let counters = match by_address.get_mut(&client) {
            Some(counters) => counters,
            None if has_room => by_address.entry(client).or_default(),
            None => other,
        };
        let TrackedConnection { from_core, from_radio, .. } = connection;
        *counters = counters.plus(ClientCounters {
            connections: 1,
            packets_down: from_core.packets,
            packets_up: from_radio.packets,
            octets_down: from_core.octets,
            octets_up: from_radio.octets,
        });
    }

    pub(super) const fn report(&self) -> &ClientsReport {
        &self.report
    }
}

impl ClientCounters {
    const fn plus(self, other: Self) -> Self {
        Self {
            connections: self.connections + other.connections,
            packets_down: self.packets_down + other.packets_down,
            packets_up: self.packets_up + other.packets_up,
            octets_down: self.octets_down + other.octets_down,
            octets_up: self.octets_up + other.octets_up,
        }
    }
}

impl ClientsReport {
    pub(super) fn and(mut self, other: Self) -> Self {
        for (client, more) in other.by_address {
            let counters = self.by_address.entry(client).or_default();
            *counters = counters.plus(more);
        }
        Self { other: self.other.plus(other.other), ..self }
    }
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Instant;

    use super::*;
    use crate::gateway::connection::State;

    #[test]
    fn the_first_clients_have_counters_and_all_others_share_one() {
        let mut clients = Clients::new(2);
        let mut connection = TrackedConnection::new(None, State::Closing, Instant::ZERO);
        (connection.from_core.octets, connection.from_radio.packets) = (1000, 3);
        let address = |last| IpAddr::from([10, 0, 0, last]);
        for last in [1, 2, 3, 1, 4, 5] {
            clients.ended(address(last), &connection);
        }
        let report = clients.report();
        let connections = |last| report.by_address.get(&address(last)).map(|client| client.connections);
        assert_eq!([1, 2, 3].map(connections), [Some(2), Some(1), None]);
        assert_eq!(report.by_address[&address(1)].octets_down, 2000);
        assert_eq!((report.other.connections, report.other.packets_up), (3, 9));
        let both = report.clone().and(report.clone());
        assert_eq!((both.by_address.len(), both.other.octets_down), (2, 6000));
    }
}
