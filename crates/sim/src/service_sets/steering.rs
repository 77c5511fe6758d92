//! The controller of a service set, and the loads that its access points report.

use std::time::Duration;

use lasthop_ess::{Controller, ControllerConfig};

/// How the controller of a service set steers clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteeringConfig {
    /// What is an access point's load.
    pub load: Load,
    /// What the controller does.
    pub controller: ControllerConfig,
}

/// The load of an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// The number of clients that are associated with it.
    Clients,
    /// The share of the last interval in which it and its clients transmitted data frames and RTS, in percent.
    AirTime,
}

/// A controller, and what it needs to know of earlier reports.
pub(super) struct Steering {
    load: Load,
    controller: Controller,
    /// By station of the cell, the time that it had transmitted at the last look.
    used: Vec<Duration>,
}

impl Steering {
    /// Of a service set with this many access points.
    pub(super) fn new(config: SteeringConfig, access_points: usize) -> Self {
        let controller = Controller::new(config.controller, access_points);
        Self { load: config.load, controller, used: Vec::new() }
    }

    pub(super) const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// As [`Self::controller`].
    pub(super) const fn controller_mut(&mut self) -> &mut Controller {
        &mut self.controller
    }

    /// The load of each access point, whose stations are those of its clients and itself. `used`: the time that each station
    /// of the cell has transmitted so far.
    pub(super) fn loads(&mut self, stations: &[Vec<usize>], used: Vec<Duration>) -> Vec<f64> {
        let before = std::mem::replace(&mut self.used, used);
        let interval = self.controller.interval().as_secs_f64();
        let since = |station: &usize| {
            let before = before.get(*station).copied().unwrap_or_default();
            self.used.get(*station).copied().unwrap_or_default().saturating_sub(before)
        };
        let load = |stations: &Vec<usize>| match self.load {
            Load::Clients => stations.len().saturating_sub(1) as f64,
            Load::AirTime => 100.0 * stations.iter().map(since).sum::<Duration>().as_secs_f64() / interval,
        };
        stations.iter().map(load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steering(load: Load) -> Steering {
        let controller =
            ControllerConfig { interval: Duration::from_secs(10), ..ControllerConfig::default() };
        Steering::new(SteeringConfig { load, controller }, 2)
    }

    /// Stations 0 and 3 are access points, 1 and 2 clients of the first.
    const STATIONS: [&[usize]; 2] = [&[0, 1, 2], &[3]];

    #[test]
    fn a_load_is_the_number_of_clients_or_the_air_time_since_the_last_look() {
        let stations = STATIONS.map(<[usize]>::to_vec);
        let seconds = |used: [u64; 4]| used.map(Duration::from_secs).to_vec();
        assert_eq!(steering(Load::Clients).loads(&stations, seconds([1, 2, 3, 4])), [2.0, 0.0]);
        let mut steering = steering(Load::AirTime);
        assert_eq!(steering.loads(&stations, seconds([1, 0, 2, 4])), [30.0, 40.0]);
        assert_eq!(steering.loads(&stations, seconds([2, 3, 2, 4])), [40.0, 0.0]);
    }
}
