//! Parameters of power save.

use std::time::Duration;

use lasthop_link::QueueLimit;

/// Parameters of power save (IEEE 802.11-2020, 11.2.3).
#[derive(Clone, Debug, PartialEq)]
pub struct PowerSaveConfig {
    /// `dot11BeaconPeriod`, the time from one TBTT to the next. The standard permits multiples of a
    /// TU, 1,024 us. Default 100 TU.
    pub beacon_interval: Duration,
    /// `dot11DTIMPeriod`: every n-th beacon has a DTIM. 0 has the effect of 1. Default 1.
    pub dtim_period: u32,
    /// `ListenInterval`: a station in power-save mode wakes for every n-th beacon. 0 has the effect
    /// of 1. Default 1.
    pub listen_interval: u32,
    /// `ReceiveDTIMs`: whether stations also wake for every beacon with a DTIM, to receive the group
    /// frames that follow it. Default false.
    pub receive_dtims: bool,
    /// The limit of the access point's buffer for each station, and of its buffer for group frames.
    /// Default 64 packets, as in Linux's mac80211 (`STA_MAX_TX_BUFFER`).
    pub buffer: QueueLimit,
    /// The time of the aging function (11.2.3): a frame that has waited for longer than this, and
    /// longer than its receiver's listen interval, is dropped at the next TBTT. Default 10 s, as in
    /// Linux's mac80211 (`STA_TX_BUFFER_EXPIRE`).
    pub ageing: Duration,
    /// The first TBTT. `None`, the default: drawn from the first beacon interval, by the seed.
    pub first_beacon: Option<Duration>,
}

impl Default for PowerSaveConfig {
    fn default() -> Self {
        Self {
            beacon_interval: 100 * Self::TIME_UNIT,
            dtim_period: 1,
            listen_interval: 1,
            receive_dtims: false,
            buffer: QueueLimit::Packets(64),
            ageing: Duration::from_secs(10),
            first_beacon: None,
        }
    }
}

impl PowerSaveConfig {
    /// The time unit of the standard (TU): 1,024 us.
    pub const TIME_UNIT: Duration = Duration::from_micros(1024);

    /// Nanoseconds from TBTT to TBTT.
    pub(crate) fn interval(&self) -> u64 {
        lasthop_packet::time::nanos(self.beacon_interval).max(1)
    }

    /// The age above which a frame is dropped, in nanoseconds.
    pub(super) fn max_age(&self) -> u64 {
        let listen = self.beacon_interval.saturating_mul(self.listen_interval);
        lasthop_packet::time::nanos(self.ageing.max(listen))
    }
}
