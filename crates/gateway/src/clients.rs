//! Traffic counters per client. They include closed connections, so no counter decreases when a
//! connection ends. The table is bounded: the first clients with a connection have counters of
//! their own, all others share one. Each packet loop has its own table, with an equal share of the
//! entries.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::hop_watch::HopCounters;
use super::listing::{Column, Row};

/// The traffic of a client's connections, including closed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCounters {
    /// The number of its connections.
    pub connections: u64,
    /// The number of these that are in the table now.
    pub connections_now: u64,
    /// The traffic that they carried.
    #[serde(flatten)]
    pub carried: Carried,
    /// The round-trip time from the gateway to the client, smoothed over all its connections, in seconds;
    /// none until measured.
    pub rtt_hop_s: Option<f64>,
    /// The minimum of these round-trip times, in seconds.
    pub rtt_min_hop_s: Option<f64>,
}

/// The traffic of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// Packets to the client.
    pub packets_down: u64,
    /// Packets from the client.
    pub packets_up: u64,
    /// Octets of IP packets to the client.
    pub octets_down: u64,
    /// Octets of IP packets from the client.
    pub octets_up: u64,
    /// Segments over the hop and their losses.
    #[serde(flatten)]
    pub hop: HopCounters,
}

/// The counters of all clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientsReport {
    /// The clients with counters of their own, by address.
    pub by_address: BTreeMap<IpAddr, ClientCounters>,
    /// All clients whose first connection began when the table was full.
    pub other: ClientCounters,
}

/// A client, or all clients without counters of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientReport {
    /// Its address; `other` for all clients without counters of their own.
    pub client: String,
    /// Its counters.
    #[serde(flatten)]
    pub counters: ClientCounters,
    /// The percentage of the segments to the client that were lost: `lost_down` less `needless`;
    /// none if there were no segments.
    pub lost_down_percent: Option<f64>,
    /// The percentage of the segments from the client that were lost on the hop; none if there were
    /// no segments.
    pub lost_up_percent: Option<f64>,
}

/// The entry of a client in the table; by default the shared one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(Option<u16>);

/// The counters for a bounded number of clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    capacity: usize,
    places: BTreeMap<IpAddr, u16>,
    counters: Vec<ClientCounters>,
    other: ClientCounters,
}

impl Clients {
    /// Creates a table with entries for this many clients, and a shared one.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let mut clients = Self::default();
        clients.set_capacity(capacity);
        clients
    }

    /// Sets the maximum number of clients with counters of their own. Each entry takes some 100
    /// octets, allocated when a client's first connection begins. Existing entries stay.
    pub(super) fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.min(usize::from(u16::MAX));
    }

    /// Counts a new connection of this client.
    pub(super) fn begin(&mut self, client: IpAddr) -> Place {
        let place = self.places.get(&client).copied();
        let place = place.or_else(|| {
            let free =
                u16::try_from(self.counters.len()).ok().filter(|free| usize::from(*free) < self.capacity)?;
            self.places.insert(client, free);
            self.counters.push(ClientCounters::default());
            Some(free)
        });
        let place = Place(place);
        let counters = self.at(place);
        counters.connections += 1;
        counters.connections_now += 1;
        place
    }

    /// Counts a connection that replaces one between the same ports.
    pub(super) fn begin_again(&mut self, place: Place) {
        self.at(place).connections += 1;
    }

    /// Counts the end of a connection.
    pub(super) fn end(&mut self, place: Place) {
        let counters = self.at(place);
        counters.connections_now = counters.connections_now.saturating_sub(1);
    }

    /// Adds traffic of one of its connections.
    pub(super) fn carry(&mut self, place: Place, more: Carried) {
        let counters = self.at(place);
        counters.carried = counters.carried.plus(more);
    }

    /// Adds a round-trip time over the hop, measured on one of its connections, and the minimum of
    /// that connection. Smoothed with the gain of RFC 6298, section 2.
    pub(super) fn measure(&mut self, place: Place, rtt: Duration, minimum: Duration) {
        let counters = self.at(place);
        let (rtt, minimum) = (rtt.as_secs_f64(), minimum.as_secs_f64());
        counters.rtt_hop_s =
            Some(counters.rtt_hop_s.map_or(rtt, |smoothed| smoothed + (rtt - smoothed) / 8.0));
        counters.rtt_min_hop_s = Some(counters.rtt_min_hop_s.map_or(minimum, |known| known.min(minimum)));
    }

    fn at(&mut self, Place(place): Place) -> &mut ClientCounters {
        place.and_then(|place| self.counters.get_mut(usize::from(place))).unwrap_or(&mut self.other)
    }

    pub(super) fn report(&self) -> ClientsReport {
        let counters = |place: u16| self.counters.get(usize::from(place)).copied().unwrap_or_default();
        let by_address = self.places.iter().map(|(client, place)| (*client, counters(*place))).collect();
        ClientsReport { by_address, other: self.other }
    }
}

impl Carried {
    /// The increase since `before`; zero for a counter that is lower.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            packets_down: self.packets_down.saturating_sub(before.packets_down),
            packets_up: self.packets_up.saturating_sub(before.packets_up),
            octets_down: self.octets_down.saturating_sub(before.octets_down),
            octets_up: self.octets_up.saturating_sub(before.octets_up),
            hop: self.hop.since(before.hop),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            packets_down: self.packets_down.saturating_add(other.packets_down),
            packets_up: self.packets_up.saturating_add(other.packets_up),
            octets_down: self.octets_down.saturating_add(other.octets_down),
            octets_up: self.octets_up.saturating_add(other.octets_up),
            hop: self.hop.plus(other.hop),
        }
    }
}

impl ClientCounters {
    /// Merges the counters of another packet loop. Round-trip times are averaged with equal weight.
    fn plus(self, other: Self) -> Self {
        let both = |one: Option<f64>, other: Option<f64>, of_both: fn(f64, f64) -> f64| match (one, other) {
            (Some(one), Some(other)) => Some(of_both(one, other)),
            (one, other) => one.or(other),
        };
        Self {
            connections: self.connections + other.connections,
            connections_now: self.connections_now + other.connections_now,
            carried: self.carried.plus(other.carried),
            rtt_hop_s: both(self.rtt_hop_s, other.rtt_hop_s, f64::midpoint),
            rtt_min_hop_s: both(self.rtt_min_hop_s, other.rtt_min_hop_s, f64::min),
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

    /// One row per client, ordered by address, and one for all others if there are any.
    pub fn rows(&self) -> Vec<ClientReport> {
        let row = |client: String, counters: &ClientCounters| {
            let Lost { down, up } = Lost::from_counters(&counters.carried.hop);
            ClientReport { client, counters: *counters, lost_down_percent: down, lost_up_percent: up }
        };
        let rows = self.by_address.iter().map(|(client, counters)| row(client.to_string(), counters));
        let others = (self.other.connections > 0).then(|| row("other".to_owned(), &self.other));
        rows.chain(others).collect()
    }
}

/// Losses on the hop as a percentage of the segments; `None` if there were no segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// To the client: segments that were retransmitted, and not needlessly.
    pub down: Option<f64>,
    /// From the client: segments that did not arrive.
    pub up: Option<f64>,
}

impl Lost {
    /// Computes the losses from these counters.
    pub fn from_counters(hop: &HopCounters) -> Self {
        let percent = |lost: u64, of: u64| (of > 0).then(|| 100.0 * lost as f64 / of as f64);
        // A needless retransmission indicates that the original was not lost.
        let down = percent(hop.lost_down.saturating_sub(hop.needless), hop.segments_down);
        // `segments_up` counts only segments that arrived.
        Self { down, up: percent(hop.lost_up, hop.segments_up + hop.lost_up) }
    }
}

impl ClientReport {
    fn address(&self) -> Option<IpAddr> {
        self.client.parse().ok()
    }
}

impl Row for ClientReport {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::end("client", |row| Some(SocketAddr::new(row.address()?, 0))),
        Column::number("connections", "", |row| Some(row.counters.connections as f64)),
        Column::number("connections_now", "now", |row| Some(row.counters.connections_now as f64)),
        Column::number("packets_down", "", |row| Some(row.counters.carried.packets_down as f64)),
        Column::number("packets_up", "", |row| Some(row.counters.carried.packets_up as f64)),
        Column::number("octets_down", "down", |row| Some(row.counters.carried.octets_down as f64)),
        Column::number("octets_up", "up", |row| Some(row.counters.carried.octets_up as f64)),
        Column::number("segments_down", "", |row| Some(row.counters.carried.hop.segments_down as f64)),
        Column::number("lost_down", "", |row| Some(row.counters.carried.hop.lost_down as f64)),
        Column::number("needless", "", |row| Some(row.counters.carried.hop.needless as f64)),
        Column::number("repairs", "", |row| Some(row.counters.carried.hop.repairs as f64)),
        Column::number("lost_before", "", |row| Some(row.counters.carried.hop.lost_before as f64)),
        Column::number("segments_up", "", |row| Some(row.counters.carried.hop.segments_up as f64)),
        Column::number("lost_up", "", |row| Some(row.counters.carried.hop.lost_up as f64)),
        Column::number("rtt_hop_s", "rtt", |row| row.counters.rtt_hop_s),
        Column::number("rtt_min_hop_s", "", |row| row.counters.rtt_min_hop_s),
        Column::number("lost_down_percent", "loss", |row| row.lost_down_percent),
        Column::number("lost_up_percent", "loss-up", |row| row.lost_up_percent),
    ];

    fn octets(&self) -> u64 {
        self.counters.carried.octets_down.saturating_add(self.counters.carried.octets_up)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.address().into_iter()
    }

    fn has_port(&self, _port: u16) -> bool {
        false
    }

    fn is(&self, _word: &str) -> bool {
        false
    }

    fn words() -> Vec<&'static str> {
        Vec::new()
    }

    fn ports_and_words() -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_clients_have_own_counters_and_all_others_share_one() {
        let mut clients = Clients::with_capacity(2);
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let more = Carried { octets_down: 1000, packets_up: 3, ..Carried::default() };
        for last in [1, 2, 3, 1, 4, 5] {
            let place = clients.begin(address(last));
            clients.carry(place, more);
            if last > 3 {
                clients.end(place);
            }
        }
        let report = clients.report();
        let connections = |last| report.by_address.get(&address(last)).map(|client| client.connections);
        assert_eq!([1, 2, 3].map(connections), [Some(2), Some(1), None]);
        assert_eq!(report.by_address[&address(1)].carried.octets_down, 2000);
        let ClientCounters { connections, connections_now, carried, .. } = report.other;
        assert_eq!((connections, connections_now, carried.packets_up), (3, 1, 9));
        let both = report.clone().and(report.clone());
        assert_eq!((both.by_address.len(), both.other.carried.octets_down), (2, 6000));
        let rows: Vec<String> = both.rows().into_iter().map(|row| row.client).collect();
        assert_eq!(rows, ["10.0.0.1", "10.0.0.2", "other"]);
    }

    #[test]
    fn a_client_keeps_its_counters_when_the_bound_changes() {
        let mut clients = Clients::with_capacity(1);
        let (first, second) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let places = [first, second].map(|client| clients.begin(client));
        assert_eq!(places[1], Place::default());
        clients.set_capacity(0);
        assert_eq!(clients.begin(first), places[0]);
        clients.set_capacity(2);
        assert_ne!(clients.begin(second), Place::default());
        assert_eq!(clients.report().other.connections, 1, "what was counted stays");
    }
}
