//! The ways of clients between access points, as their `wpa_supplicant` prints them.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lasthop_gateway::frame::MacAddress;
use lasthop_packet::Instant;

use crate::roaming::{HandOff, Joined, Served, served_at};

/// The ways of all clients of a cell.
#[derive(Clone, Debug)]
pub(super) struct Journeys {
    /// The address of each access point's radio.
    access_points: Arc<[MacAddress]>,
    /// By client.
    logs: Arc<[Mutex<Log>]>,
}

/// The way of a client until now.
#[derive(Debug, Default)]
struct Log {
    /// Where it was associated, in order of time.
    visits: Vec<Visit>,
    /// Where it tries to associate, if it does.
    ahead: Option<usize>,
    /// When it left the last access point, if it has.
    left: Option<Instant>,
    /// Who is to know of its associations.
    told: Option<Sender<Joined>>,
}

/// An association.
#[derive(Clone, Copy, Debug)]
struct Visit {
    access_point: usize,
    joined: Instant,
    /// When it left the access point before, if there was one.
    left_before: Option<Instant>,
}

/// Something that `wpa_supplicant` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// It leaves its access point, if it has one, and goes to this one.
    Leaves(MacAddress),
    /// It may send data over this access point.
    Joined(MacAddress),
    /// It has lost its access point.
    Lost,
}

impl Journeys {
    /// Of as many clients, between access points whose radios have these addresses.
    pub(super) fn new(clients: usize, access_points: impl IntoIterator<Item = MacAddress>) -> Self {
        Self {
            access_points: access_points.into_iter().collect(),
            logs: (0..clients).map(|_| Mutex::default()).collect(),
        }
    }

    /// The `wpa_supplicant` of a client has printed a line.
    pub(super) fn add(&self, client: usize, line: &str, now: Instant) {
        let Some(news) = News::parse(line) else { return };
        let number = |address: MacAddress| self.access_points.iter().position(|known| *known == address);
        let log = &mut *self.log(client);
        match news {
            News::Leaves(to) => {
                log.ahead = number(to);
                log.leave(now);
            }
            News::Lost => log.leave(now),
            News::Joined(at) => {
                let Some(access_point) = number(at) else { return };
                log.visits.push(Visit { access_point, joined: now, left_before: log.left.take() });
                log.ahead = None;
                if let Some(told) = &log.told {
                    // Without its receiver, that returns its own error.
                    let _ = told.send(Joined { client, access_point, at: now });
                }
            }
        }
    }

    /// Reports associations there from now on.
    pub(super) fn tell(&self, told: &Sender<Joined>) {
        for client in 0..self.logs.len() {
            self.log(client).told = Some(told.clone());
        }
    }

    /// Reports associations no longer.
    pub(super) fn be_silent(&self) {
        for client in 0..self.logs.len() {
            self.log(client).told = None;
        }
    }

    /// The hand-offs that began at `zero` or later, with the names of clients and access points. `served`: when gateways
    /// served the clients, if they hand over.
    pub(super) fn hand_offs(
        &self,
        zero: Instant,
        (clients, access_points): (&[&str], &[&str]),
        served: Option<&[Served]>,
    ) -> Vec<HandOff> {
        let of_client = |client: usize| {
            let log = self.log(client);
            let arrivals =
                log.visits.iter().map(|visit| (visit.access_point, visit.left_before, Some(visit.joined)));
            let under_way = log.ahead.map(|to| (to, log.left, None));
            let arrivals: Vec<_> = arrivals.chain(under_way).collect();
            let ways = arrivals.windows(2).filter(|pair| pair[0].0 != pair[1].0).filter_map(|pair| {
                let (from, (to, left, joined)) = (pair[0].0, pair[1]);
                let left = left.filter(|left| *left >= zero)?;
                let at = joined.map(|at| Joined { client, access_point: to, at });
                let end = at.and_then(|joined| match served {
                    Some(served) => served_at(served, joined),
                    None => Some(joined.at),
                });
                let seconds = |until: Instant| until.since(left).as_secs_f64();
                Some(HandOff {
                    client: clients[client].to_owned(),
                    from: access_points[from].to_owned(),
                    to: access_points[to].to_owned(),
                    radio_gap_s: joined.map(seconds),
                    interruption_s: end.map(seconds),
                })
            });
            ways.collect::<Vec<_>>()
        };
        (0..self.logs.len()).flat_map(of_client).collect()
    }

    fn log(&self, client: usize) -> MutexGuard<'_, Log> {
        self.logs[client].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn leave(&mut self, now: Instant) {
        if !self.visits.is_empty() {
            self.left.get_or_insert(now);
        }
    }
}

impl News {
    fn parse(line: &str) -> Option<Self> {
        let after = |words: &str| line.split_once(words).map(|(_, rest)| rest);
        let address = |rest: &str| rest.split(' ').next()?.parse().ok();
        if let Some(rest) = after("Trying to authenticate with ") {
            return address(rest).map(Self::Leaves);
        }
        if let Some(rest) = after("CTRL-EVENT-CONNECTED - Connection to ") {
            return address(rest).map(Self::Joined);
        }
        after("CTRL-EVENT-DISCONNECTED ").map(|_| Self::Lost)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const HALL: MacAddress = MacAddress([2, 0, 0, 0, 0, 0]);
    const STAIRS: MacAddress = MacAddress([2, 0, 0, 0, 1, 0]);

    fn leaves(to: MacAddress) -> String {
        format!("wlan.0: SME: Trying to authenticate with {to} (SSID='lasthop-0' freq=2437 MHz)")
    }

    fn joined(at: MacAddress) -> String {
        format!("wlan.0: CTRL-EVENT-CONNECTED - Connection to {at} completed [id=0 id_str=]")
    }

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn hand_offs(journeys: &Journeys) -> Vec<(String, String, Option<f64>)> {
        let of = |zero| journeys.hand_offs(zero, (&["walker"], &["hall", "stairs"]), None);
        assert_eq!(of(Instant::MAX), [], "they were before");
        let all = of(Instant::ZERO);
        assert!(all.iter().all(|one| one.client == "walker" && one.interruption_s == one.radio_gap_s));
        all.into_iter().map(|one| (one.from, one.to, one.radio_gap_s)).collect()
    }

    #[test]
    fn a_hand_off_lasts_from_the_first_frame_to_another_access_point_until_data_may_flow() {
        let journeys = Journeys::new(1, [HALL, STAIRS]);
        let (told, heard) = channel();
        journeys.tell(&told);
        for (now, line) in [
            (10, leaves(HALL)),
            (20, joined(HALL)),
            (1_000, "wlan.0: CTRL-EVENT-SIGNAL-CHANGE above=0 signal=-72".to_owned()),
            (2_000, leaves(STAIRS)),
            (2_015, joined(STAIRS)),
        ] {
            journeys.add(0, &line, at(now));
        }
        assert_eq!(hand_offs(&journeys), [("hall".to_owned(), "stairs".to_owned(), Some(0.015))]);
        let of = |access_point, millis| Joined { client: 0, access_point, at: at(millis) };
        journeys.be_silent();
        drop(told);
        assert_eq!(heard.iter().collect::<Vec<_>>(), [of(0, 20), of(1, 2_015)]);
    }

    #[test]
    fn a_client_that_has_lost_its_access_point_and_returns_there_has_no_hand_off() {
        let journeys = Journeys::new(1, [HALL, STAIRS]);
        let lost = "wlan.0: CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:00:00 reason=4 locally_generated=1";
        for (now, line) in
            [(20, joined(HALL)), (900, lost.to_owned()), (950, leaves(HALL)), (960, joined(HALL))]
        {
            journeys.add(0, &line, at(now));
        }
        assert_eq!(hand_offs(&journeys), []);
        for (now, line) in [(2_000, lost.to_owned()), (2_500, leaves(STAIRS))] {
            journeys.add(0, &line, at(now));
        }
        assert_eq!(hand_offs(&journeys), [("hall".to_owned(), "stairs".to_owned(), None)], "it is under way");
        journeys.add(0, &joined(STAIRS), at(2_510));
        assert_eq!(hand_offs(&journeys), [("hall".to_owned(), "stairs".to_owned(), Some(0.51))]);
    }
}
