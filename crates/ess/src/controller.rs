//! A controller of the access points of an ESS. It asks clients of a loaded access point to go to a less loaded one that
//! they receive well.
//!
//! ```text
//! loads -> an access point is overloaded -> beacon request to some of its clients     (802.11k)
//! beacon report -> less loaded access points that the client receives -> BSS transition request     (802.11v)
//! transition response -> accepted, or refused: the client is left alone for a while
//! ```
//!
//! It knows what access points tell it: their loads, who is associated with them since when, and the reports and answers
//! of clients. The rules and most defaults are those of `OpenWrt`'s usteer, by the names of its options; usteer itself
//! compares numbers of clients only when a client associates.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::frame::{Heard, MAX_CANDIDATES};
use crate::signal::Dbm;
use crate::{AccessPointId, ClientId};

/// When a controller asks clients to go to other access points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerConfig {
    /// The time between two looks at the loads of access points. Default 10 s (`load_kick_delay`).
    pub interval: Duration,
    /// The load from which on an access point is overloaded. Default 10 (`load_kick_min_clients`), where loads are numbers
    /// of clients.
    pub overload: f64,
    /// How much less loaded another access point must be, above zero (`load_balancing_threshold`, which is off by default).
    /// Default 5.
    pub difference: f64,
    /// The number of clients of an overloaded access point that are asked for a beacon report at each look. Default 3,
    /// which is lasthop's own.
    pub requests: usize,
    /// The weakest signal at which a client is to receive its new access point. Default -70 dBm, which is lasthop's own.
    pub min_signal: Dbm,
    /// How long a client that has associated, or was asked, is left alone. Default 60 s (`roam_trigger_interval`).
    pub client_interval: Duration,
    /// How long a client that has refused is left alone. Default 60 s (`steer_reject_timeout`).
    pub refusal_interval: Duration,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            overload: 10.0,
            difference: 5.0,
            requests: 3,
            min_signal: Dbm(-70),
            client_interval: Duration::from_secs(60),
            refusal_interval: Duration::from_secs(60),
        }
    }
}

/// Something that an access point is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// It asks a client for a beacon report on the channels of these access points.
    Measure {
        /// The access point.
        access_point: AccessPointId,
        /// Its client.
        client: ClientId,
        /// The access points that the client might go to.
        others: Vec<AccessPointId>,
    },
    /// It asks a client to go to another access point.
    Steer {
        /// The access point.
        access_point: AccessPointId,
        /// Its client.
        client: ClientId,
        /// The other access points, the preferred one first; at most [`MAX_CANDIDATES`].
        candidates: Vec<AccessPointId>,
    },
}

/// What became of the requests of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteeringCounters {
    /// Beacon requests.
    pub measurements: u64,
    /// Beacon reports.
    pub reports: u64,
    /// BSS transition requests.
    pub requests: u64,
    /// Those that clients accepted.
    pub accepted: u64,
    /// Those that clients refused.
    pub refused: u64,
}

/// A controller.
#[derive(Debug)]
pub struct Controller {
    config: ControllerConfig,
    access_points: Vec<AccessPoint>,
    clients: BTreeMap<ClientId, Client>,
    counters: SteeringCounters,
}

/// What it knows of an access point.
#[derive(Clone, Copy, Debug, Default)]
struct AccessPoint {
    /// Its load at the last look, with the clients that have gone or come by its own requests since then.
    load: f64,
    /// The mean load of a client at the last look.
    load_of_client: f64,
}

/// What it knows of an associated client.
#[derive(Clone, Copy, Debug)]
struct Client {
    at: AccessPointId,
    left_alone_until: Instant,
    /// When it was asked for a report last.
    asked: Option<Instant>,
}

impl Controller {
    /// A controller of this many access points, which have no clients yet.
    ///
    /// # Panics
    ///
    /// Unless the difference in load is above zero: clients would move back and forth.
    pub fn new(config: ControllerConfig, access_points: usize) -> Self {
        assert!(config.difference > 0.0, "expected a difference above zero");
        Self {
            config,
            access_points: vec![AccessPoint::default(); access_points],
            clients: BTreeMap::new(),
            counters: SteeringCounters::default(),
        }
    }

    /// The time between two calls of [`Self::on_loads`].
    pub const fn interval(&self) -> Duration {
        self.config.interval
    }

    /// What became of its requests.
    pub const fn counters(&self) -> SteeringCounters {
        self.counters
    }

    /// A client has associated with an access point.
    pub fn on_associated(&mut self, client: ClientId, at: AccessPointId, now: Instant) {
        let left_alone_until = now + self.config.client_interval;
        let asked = self.clients.get(&client).and_then(|known| known.asked);
        self.clients.insert(client, Client { at, left_alone_until, asked });
    }

    /// A client is no longer associated with an access point.
    pub fn on_disassociated(&mut self, client: ClientId, from: AccessPointId) {
        if self.clients.get(&client).is_some_and(|known| known.at == from) {
            self.clients.remove(&client);
        }
    }

    /// The loads of all access points, in their order, which cover the last interval.
    pub fn on_loads(&mut self, loads: &[f64], now: Instant) -> Vec<Order> {
        let mut clients = vec![0_u32; self.access_points.len()];
        for client in self.clients.values() {
            clients[client.at.0 as usize] += 1;
        }
        for ((known, load), clients) in self.access_points.iter_mut().zip(loads).zip(clients) {
            *known = AccessPoint { load: *load, load_of_client: load / f64::from(clients.max(1)) };
        }
        let all = 0..self.access_points.len() as u32;
        all.map(AccessPointId).flat_map(|access_point| self.relieve(access_point, now)).collect()
    }

    /// Some clients of an overloaded access point are asked for reports: those that were not asked for the longest time.
    fn relieve(&mut self, access_point: AccessPointId, now: Instant) -> Vec<Order> {
        let others = self.less_loaded(access_point);
        if others.is_empty() {
            return Vec::new();
        }
        let clients = self.clients.iter_mut();
        let mut clients: Vec<_> = clients
            .filter(|(_, client)| client.at == access_point && client.left_alone_until <= now)
            .collect();
        clients.sort_by_key(|(id, client)| (client.asked, **id));
        clients.truncate(self.config.requests);
        self.counters.measurements += clients.len() as u64;
        let measure = |(client, known): (&ClientId, &mut Client)| {
            known.asked = Some(now);
            known.left_alone_until = now + self.config.client_interval;
            Order::Measure { access_point, client: *client, others: others.clone() }
        };
        clients.into_iter().map(measure).collect()
    }

    /// The access points to which clients of an overloaded one might go.
    fn less_loaded(&self, than: AccessPointId) -> Vec<AccessPointId> {
        let AccessPoint { load, .. } = self.access_points[than.0 as usize];
        if load < self.config.overload {
            return Vec::new();
        }
        let others = self.access_points.iter().enumerate();
        let others = others.filter(|(_, other)| other.load + self.config.difference <= load);
        others.map(|(index, _)| AccessPointId(index as u32)).collect()
    }

    /// A client has reported the access points that it receives: it is asked to go to those of them that are still less
    /// loaded, the strongest first.
    pub fn on_report(&mut self, client: ClientId, heard: &[Heard]) -> Option<Order> {
        let Client { at, .. } = *self.clients.get(&client)?;
        self.counters.reports += 1;
        let less_loaded = self.less_loaded(at);
        let mut candidates: Vec<&Heard> = heard
            .iter()
            .filter(|heard| {
                heard.signal >= self.config.min_signal && less_loaded.contains(&heard.access_point)
            })
            .collect();
        candidates.sort_by_key(|heard| (std::cmp::Reverse(heard.signal), heard.access_point));
        candidates.truncate(MAX_CANDIDATES);
        if candidates.is_empty() {
            return None;
        }
        self.counters.requests += 1;
        let candidates = candidates.into_iter().map(|heard| heard.access_point).collect();
        Some(Order::Steer { access_point: at, client, candidates })
    }

    /// A client has answered a transition request: it goes to an access point, or stays.
    pub fn on_response(&mut self, client: ClientId, target: Option<AccessPointId>, now: Instant) {
        let Some(known) = self.clients.get_mut(&client) else { return };
        let Some(target) = target else {
            self.counters.refused += 1;
            known.left_alone_until = known.left_alone_until.max(now + self.config.refusal_interval);
            return;
        };
        self.counters.accepted += 1;
        let from = known.at.0 as usize;
        let of_client = self.access_points[from].load_of_client;
        self.access_points[from].load -= of_client;
        if let Some(to) = self.access_points.get_mut(target.0 as usize) {
            to.load += of_client;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AP: fn(u32) -> AccessPointId = AccessPointId;
    const CLIENT: fn(u32) -> ClientId = ClientId;

    fn at(second: u64) -> Instant {
        Instant::from_secs(second)
    }

    fn heard(access_point: u32, signal: i16) -> Heard {
        Heard { access_point: AP(access_point), signal: Dbm(signal) }
    }

    /// Three access points with these numbers of clients, which have associated at the beginning.
    fn with_clients(counts: [u32; 3], config: ControllerConfig) -> (Controller, [f64; 3]) {
        let mut controller = Controller::new(config, 3);
        let mut number = 0..;
        for (index, count) in counts.into_iter().enumerate() {
            for client in number.by_ref().take(count as usize) {
                controller.on_associated(CLIENT(client), AP(index as u32), Instant::ZERO);
            }
        }
        (controller, counts.map(f64::from))
    }

    fn asked(orders: &[Order]) -> Vec<u32> {
        let client = |order: &Order| match order {
            Order::Measure { client, .. } | Order::Steer { client, .. } => client.0,
        };
        orders.iter().map(client).collect()
    }

    #[test]
    fn clients_of_an_overloaded_access_point_are_asked_in_turn() {
        let (mut controller, loads) = with_clients([12, 7, 8], ControllerConfig::default());
        assert_eq!(controller.on_loads(&loads, at(59)), [], "the clients have just associated");
        let orders = controller.on_loads(&loads, at(60));
        assert_eq!(asked(&orders), [0, 1, 2]);
        let only_one_is_less_loaded_by_five =
            Order::Measure { access_point: AP(0), client: CLIENT(0), others: vec![AP(1)] };
        assert_eq!(orders[0], only_one_is_less_loaded_by_five);
        assert_eq!(asked(&controller.on_loads(&loads, at(70))), [3, 4, 5]);
        // Those who were asked are left alone for a minute, and come last then.
        assert_eq!(asked(&controller.on_loads(&loads, at(130))), [6, 7, 8]);
        assert_eq!(controller.counters().measurements, 9);
    }

    #[test]
    fn nobody_is_asked_where_loads_are_low_or_about_equal() {
        for counts in [[9, 0, 0], [12, 8, 8], [40, 36, 37]] {
            let (mut controller, loads) = with_clients(counts, ControllerConfig::default());
            assert_eq!(controller.on_loads(&loads, at(100)), [], "{counts:?}");
        }
    }

    #[test]
    fn a_client_is_asked_to_go_to_what_it_receives_well_and_has_less_load_the_strongest_first() {
        let (mut controller, loads) = with_clients([20, 4, 9], ControllerConfig::default());
        controller.on_loads(&loads, at(100));
        let steer = |candidates: &[u32]| {
            let candidates = candidates.iter().copied().map(AP).collect();
            Some(Order::Steer { access_point: AP(0), client: CLIENT(0), candidates })
        };
        let cases = [
            (vec![heard(0, -40), heard(1, -69), heard(2, -60)], steer(&[2, 1])),
            (vec![heard(0, -40), heard(1, -71), heard(2, -60)], steer(&[2])),
            (vec![heard(0, -40), heard(1, -71)], None),
            (vec![], None),
            (vec![heard(9, -30)], None),
        ];
        for (report, expected) in cases {
            assert_eq!(controller.on_report(CLIENT(0), &report), expected, "{report:?}");
        }
        assert_eq!(controller.on_report(CLIENT(99), &[heard(1, -50)]), None, "it is not associated");
        let SteeringCounters { reports, requests, .. } = controller.counters();
        assert_eq!((reports, requests), (5, 2));
    }

    #[test]
    fn those_who_have_accepted_count_at_their_new_access_point() {
        let (mut controller, loads) = with_clients([12, 0, 12], ControllerConfig::default());
        controller.on_loads(&loads, at(100));
        // Three go: nine are left, which is no overload.
        for client in 0..4 {
            let order = controller.on_report(CLIENT(client), &[heard(1, -50)]);
            assert_eq!(order.is_some(), client < 3, "{client}");
            controller.on_response(CLIENT(client), order.map(|_| AP(1)), at(101));
        }
        assert_eq!(controller.counters().accepted, 3);
        // So do those who come from the other one.
        for (client, goes) in [(12, true), (13, true), (14, true), (15, false)] {
            let order = controller.on_report(CLIENT(client), &[heard(1, -50)]);
            assert_eq!(order.is_some(), goes, "{client}");
            controller.on_response(CLIENT(client), order.map(|_| AP(1)), at(101));
        }
    }

    #[test]
    fn a_client_that_has_refused_is_left_alone() {
        let config =
            ControllerConfig { refusal_interval: Duration::from_secs(300), ..ControllerConfig::default() };
        let (mut controller, loads) = with_clients([12, 0, 0], ControllerConfig { requests: 12, ..config });
        assert_eq!(controller.on_loads(&loads, at(100)).len(), 12);
        assert!(controller.on_report(CLIENT(0), &[heard(1, -50)]).is_some());
        controller.on_response(CLIENT(0), None, at(101));
        assert_eq!(controller.counters().refused, 1);
        let again = controller.on_loads(&loads, at(200));
        assert_eq!(asked(&again), (1..12).collect::<Vec<_>>());
        assert_eq!(asked(&controller.on_loads(&loads, at(401))).len(), 12);
    }

    #[test]
    fn a_client_that_has_gone_is_forgotten() {
        let (mut controller, loads) = with_clients([12, 0, 0], ControllerConfig::default());
        // The new access point is heard of before the old one.
        controller.on_associated(CLIENT(0), AP(1), at(50));
        controller.on_disassociated(CLIENT(0), AP(0));
        controller.on_disassociated(CLIENT(1), AP(0));
        assert_eq!(asked(&controller.on_loads(&loads, at(100))), [2, 3, 4]);
        assert_eq!(controller.clients.len(), 11);
    }
}
