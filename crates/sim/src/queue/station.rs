//! The configuration of what waits above the MAC of a station in a cell.

use std::collections::BTreeMap;
use std::time::Duration;

use lasthop_wifi::StationId;

use super::config::{CoDelConfig, FqCoDelConfig, QueueConfig};
use lasthop_link::QueueLimit;

/// Where the packets of a station wait.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum StationQueue {
    /// In the queue of its MAC ([`lasthop_wifi::StationConfig`]).
    #[default]
    Mac,
    /// Under a queueing discipline of its interface. The driver takes them from there as long as it has fewer than `driver`
    /// frames.
    Discipline {
        /// The discipline. With drop-tail, packets wait in the queue of the MAC.
        queue: QueueConfig,
        /// The most frames that the driver has.
        driver: DriverQueue,
    },
    /// In a queue for each receiver, whose turns are by air time, as in Linux's mac80211.
    Airtime(AirtimeConfig),
}

/// How much a driver has at most of what waits above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverQueue {
    /// As much as there is, or as airtime queue limits allow.
    Unlimited,
    /// This number of packets, 1 or more.
    Packets(usize),
    /// What goes into this number of transmissions, 1 or more, each to one receiver.
    Aggregates(usize),
}

impl DriverQueue {
    /// The packets that ath9k had at most for an access category before it had a queue for each receiver (`ATH_MAX_QDEPTH`).
    pub const OF_DISCIPLINE: Self = Self::Packets(123);
    /// The aggregates that ath9k has at most.
    pub const BY_AIRTIME: Self = Self::Aggregates(2);
}

/// Queues for each receiver, with flow queues and CoDel in each, and turns by air time.
#[derive(Clone, Debug, PartialEq)]
pub struct AirtimeConfig {
    /// The limit of packets that wait, for all receivers together.
    pub limit: QueueLimit,
    /// The flow queues; all receivers share them.
    pub flows: FqCoDelConfig,
    /// Airtime queue limits, if there are any.
    pub limits: Option<AirtimeLimits>,
    /// The most that the driver has.
    pub driver: DriverQueue,
    /// The weights of receivers, 1 or more: what each adds to its deficit at each turn, in microseconds. That of the others is
    /// [`Self::WEIGHT`].
    pub weights: BTreeMap<StationId, u32>,
}

impl AirtimeConfig {
    /// The weight of a station by default (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
    pub const WEIGHT: u32 = 256;
}

impl Default for AirtimeConfig {
    /// As in Linux 6.12, for a device that has 802.11ac: 8192 packets, 16 MiB, 4096 flow queues of 300 octets, CoDel with 20 ms
    /// and ECN, airtime queue limits; and two aggregates with the driver, as ath9k has them.
    fn default() -> Self {
        let codel = CoDelConfig { target: Duration::from_millis(20), ecn: true, ..CoDelConfig::default() };
        Self {
            limit: QueueLimit::Packets(8_192),
            flows: FqCoDelConfig { codel, flows: 4_096, quantum: 300, memory_limit: 16 << 20 },
            limits: Some(AirtimeLimits::default()),
            driver: DriverQueue::BY_AIRTIME,
            weights: BTreeMap::new(),
        }
    }
}

/// Airtime queue limits: how much expected air time may be with the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirtimeLimits {
    /// For a receiver, always.
    pub low: Duration,
    /// For a receiver, while all together have less than `threshold`.
    pub high: Duration,
    /// See `high`.
    pub threshold: Duration,
}

impl Default for AirtimeLimits {
    /// 5, 12 and 24 ms, as in Linux since 5.5.
    fn default() -> Self {
        let millis = Duration::from_millis;
        Self { low: millis(5), high: millis(12), threshold: millis(24) }
    }
}
