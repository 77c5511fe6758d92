//! What each client's connections carry, counted as they carry it: no counter falls when a connection
//! ends. The table is bounded: the first clients that have a connection have counters of their own, all
//! others share one. Each packet loop has a table of its own, with an equal share of the places.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::hop_watch::HopCounters;
use super::listing::{Column, Row};

/// What a client's connections carried, those that ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCounters {
    /// Its connections.
    pub connections: u64,
    /// Of these, those that are in the table now.
    pub connections_now: u64,
    /// What they carried.
    #[serde(flatten)]
    pub carried: Carried,
    /// The round-trip time from the gateway to the client, smoothed over all its connections, in seconds;
    /// none until measured.
    pub rtt_hop_s: Option<f64>,
    /// The least of these round-trip times, in seconds.
    pub rtt_min_hop_s: Option<f64>,
}

/// What connections carried.
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

/// The clients that have counters of their own, and all others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientsReport {
    /// By address.
    pub by_address: BTreeMap<IpAddr, ClientCounters>,
    /// All clients whose first connection began when there was no room.
    pub other: ClientCounters,
}

/// A client, or all that share a counter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientReport {
    /// Its address; `other` for all clients without counters of their own.
    pub client: String,
    /// What its connections carried.
    #[serde(flatten)]
    pub counters: ClientCounters,
    /// Of the segments to the client, those that were lost, in percent: `lost_down` but for `needless`;
    /// none where there were no segments.
    pub lost_down_percent: Option<f64>,
    /// Of the segments from the client, those that were lost on the hop, in percent; none where there
    /// were no segments.
    pub lost_up_percent: Option<f64>,
}

/// The place of a client in the table; by default that of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(Option<u16>);

/// Counts for a number of clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    most: usize,
    places: BTreeMap<IpAddr, u16>,
    counters: Vec<ClientCounters>,
    other: ClientCounters,
}

impl Clients {
    /// Counters for this many clients, beside those of all others.
    pub(super) fn of_at_most(most: usize) -> Self {
        let mut clients = Self::default();
        clients.set_most(most);
        clients
    }

    /// How many clients have counters of their own from now on; some 100 octets each, taken when a
    /// client's first connection begins. Those that have, keep them.
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most.min(usize::from(u16::MAX));
    }

    /// A connection of this client begins.
    pub(super) fn begin(&mut self, client: IpAddr) -> Place {
        let place = self.places.get(&client).copied();
        let place = place.or_else(|| {
            let free =
                u16::try_from(self.counters.len()).ok().filter(|free| usize::from(*free) < self.most)?;
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

    /// One of its connections ends, and another between the same ports begins.
    pub(super) fn begin_again(&mut self, place: Place) {
        self.at(place).connections += 1;
    }

    /// One of its connections ends.
    pub(super) fn end(&mut self, place: Place) {
        let counters = self.at(place);
        counters.connections_now = counters.connections_now.saturating_sub(1);
    }

    /// Adds what one of its connections has carried.
    pub(super) fn carry(&mut self, place: Place, more: Carried) {
        let counters = self.at(place);
        counters.carried = counters.carried.plus(more);
    }

    /// A round-trip time over the hop was measured on one of its connections; `least` is the least of that
    /// connection. Smoothed with the gain of RFC 6298, section 2.
    pub(super) fn measure(&mut self, place: Place, rtt: Duration, least: Duration) {
        let counters = self.at(place);
        let (rtt, least) = (rtt.as_secs_f64(), least.as_secs_f64());
        counters.rtt_hop_s =
            Some(counters.rtt_hop_s.map_or(rtt, |smoothed| smoothed + (rtt - smoothed) / 8.0));
        counters.rtt_min_hop_s = Some(counters.rtt_min_hop_s.map_or(least, |known| known.min(least)));
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
    /// What it is more than it was; nothing where it is less.
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

    /// Together with what others carried.
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
    /// Together with what another packet loop counts, whose round-trip times are as good.
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

    /// Each client, in the order of the addresses; then, if there are any, all others.
    pub fn rows(&self) -> Vec<ClientReport> {
        let row = |client: String, counters: &ClientCounters| {
            let Lost { down, up } = Lost::of(&counters.carried.hop);
            ClientReport { client, counters: *counters, lost_down_percent: down, lost_up_percent: up }
        };
        let rows = self.by_address.iter().map(|(client, counters)| row(client.to_string(), counters));
        let others = (self.other.connections > 0).then(|| row("other".to_owned(), &self.other));
        rows.chain(others).collect()
    }
}

/// Losses on the hop in percent of the segments; `None` where there were no segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// Of those to the client, those that were lost: sent again, and not needless.
    pub down: Option<f64>,
    /// Of those from the client, those that did not come.
    pub up: Option<f64>,
}

impl Lost {
    /// The share of the segments that were counted.
    pub fn of(hop: &HopCounters) -> Self {
        let percent = |lost: u64, of: u64| (of > 0).then(|| 100.0 * lost as f64 / of as f64);
        // What the client had was not lost.
        let down = percent(hop.lost_down.saturating_sub(hop.needless), hop.segments_down);
        // What is lost on its way here is not among what has come.
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
    fn the_first_clients_have_counters_and_all_others_share_one() {
        let mut clients = Clients::of_at_most(2);
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
        let mut clients = Clients::of_at_most(1);
        let (first, second) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let places = [first, second].map(|client| clients.begin(client));
        assert_eq!(places[1], Place::default());
        clients.set_most(0);
        assert_eq!(clients.begin(first), places[0]);
        clients.set_most(2);
        assert_ne!(clients.begin(second), Place::default());
        assert_eq!(clients.report().other.connections, 1, "what was counted stays");
    }
}
