//! How a service set is configured.

use std::time::Duration;

use lasthop_ess::{AccessPointConfig, ClientConfig, FrameSizes};
use lasthop_packet::Instant;
use lasthop_wifi::StationId;

/// What the members of a service set have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceSetConfig {
    /// The lengths of management frames.
    pub sizes: FrameSizes,
    /// The time between two beacons of an access point. Default 102.4 ms: 100 time units (9.4.1.3).
    pub beacon_interval: Duration,
    /// How long a client's radio takes to change its channel; it is off the air meanwhile. Default 3 ms; those of real
    /// radios differ.
    pub switch_time: Duration,
    /// Clients begin their first scans at random times in this time. Default 100 ms: those that begin together collide, and
    /// each that comes to a channel costs time by the number of those that are there.
    pub first_scan: Duration,
}

impl Default for ServiceSetConfig {
    fn default() -> Self {
        Self {
            sizes: FrameSizes::default(),
            beacon_interval: Duration::from_micros(102_400),
            switch_time: Duration::from_millis(3),
            first_scan: Duration::from_millis(100),
        }
    }
}

/// An access point of a service set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPointMember {
    /// Its station, which is tuned to its channel from the beginning, and stays there.
    pub station: StationId,
    /// What it does.
    pub config: AccessPointConfig,
}

/// A client of a service set.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientMember {
    /// The name of its link, which leads to one access point after another.
    pub link: String,
    /// Its station, which is off the air at the beginning.
    pub station: StationId,
    /// What it does; its channels are those of the access points, by their numbers.
    pub config: ClientConfig,
    /// It begins its first scan at a random time in [`ServiceSetConfig::first_scan`] from this time on.
    pub start: Instant,
}
