//! Configuration of a cell: physical layer, MAC, propagation and errors.

use std::time::Duration;

use super::errors::{BitErrorRates, ErrorConfig};
use super::frame::DataOverhead;
use super::phy::{PhyConfig, Rate, Standard};
use super::propagation::{Capture, Propagation};

/// Configuration of a cell: stations that hear each other if they are near and on the same channel.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    /// The physical layer.
    pub phy: PhyConfig,
    /// The medium access control (MAC).
    pub mac: MacConfig,
    /// Which stations decode and sense each other's frames.
    pub propagation: Propagation,
    /// Whether a receiver decodes a strong frame in spite of weaker ones that overlap it. `None`:
    /// never.
    pub capture: Option<Capture>,
    /// Errors of frames that do not collide, on links that have no error process of their own.
    pub errors: ErrorConfig,
    /// Whether an exchange is computed as a whole when it begins, errors included, where no other
    /// station can interfere: all stations of a domain hear each other, and no station outside it.
    /// The results are the same, with fewer events. Default on; comparisons with the simulation
    /// frame by frame set it off.
    pub settle: bool,
}

impl WlanConfig {
    /// The defaults of a standard: all stations decode each other's frames, and there are no
    /// errors.
    pub fn new(standard: Standard) -> Self {
        Self {
            phy: PhyConfig::new(standard),
            mac: MacConfig::new(standard),
            propagation: Propagation::Everywhere,
            capture: None,
            errors: ErrorConfig::none(),
            settle: true,
        }
    }

    /// The first rule that the configuration breaks, as a sentence; `None` if it is valid. A
    /// [`super::Wlan`] does not check its configuration.
    pub fn problem(&self) -> Option<&'static str> {
        let Self { phy, mac, propagation, capture, errors, .. } = self;
        let second = Duration::from_secs(1);
        let has_rate = |rate: &Rate| phy.has_rate(*rate);
        let is_non_ht = |rate: &Rate| rate.non_ht_index().is_some() && has_rate(rate);
        let bits = errors.bit.as_ref().is_none_or(BitErrorRates::are_valid);
        let rules = [
            (phy.standard.is_in(phy.band), "the standard is not in this band"),
            (has_rate(&phy.rate), "the standard has no such rate"),
            (phy.basic_rates.iter().all(is_non_ht), "responses have rates of DSSS, CCK and OFDM"),
            (is_non_ht(&phy.eifs_rate), "EIFS is reckoned with a rate that the standard does not have"),
            (
                phy.cw_min <= phy.cw_max && phy.cw_max <= 65_535,
                "CWmin is at most CWmax, and CWmax at most 65535",
            ),
            (!phy.slot.is_zero() && phy.slot <= second, "a slot is above zero and at most a second"),
            (
                phy.carrier_sense_delay.is_none_or(|it| it <= phy.slot),
                "a station senses within a slot what began before it",
            ),
            (
                phy.sifs <= second && phy.rx_start_delay <= second,
                "SIFS and PHY-RX-START-Delay are at most a second",
            ),
            (mac.response_timeout.is_none_or(|it| it <= second), "ACKTimeout is at most a second"),
            (
                mac.short_retry_limit > 0 && mac.long_retry_limit > 0,
                "retry limits count the first transmission",
            ),
            ((1..=15).contains(&mac.aifsn), "AIFSN is from 1 to 15"),
            (mac.overhead.octets() <= 10_000, "headers have at most 10,000 octets"),
            (
                propagation.is_valid(),
                "carrier sense reaches as far as reception, and all parameters of propagation are in range",
            ),
            (capture.is_none_or(|it| it.threshold > 1.0), "a frame that is captured is stronger than others"),
            (bits, "a bit error rate is from 0 to 1"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem)
    }
}

/// Parameters of the distributed coordination function, DCF (IEEE 802.11-2020, 10.3 and annex C).
#[derive(Clone, Debug, PartialEq)]
pub struct MacConfig {
    /// `dot11RTSThreshold`, in octets with MAC header and FCS: an RTS precedes each longer data
    /// frame. Default 65,535: never.
    pub rts_threshold: u32,
    /// `AIFSN`: the number of slots between SIFS and a backoff, 1 to 15. Default 2: DIFS; 3 from 802.11n on, whose stations
    /// are `QoS` stations: that of best effort (table 9-155).
    pub aifsn: u32,
    /// `dot11ShortRetryLimit`: the largest number of transmissions of a data frame without RTS, or
    /// of an RTS; at least 1. Default 7.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: the largest number of transmissions of a data frame after an RTS; at
    /// least 1. Default 4.
    pub long_retry_limit: u32,
    /// Octets that a data frame adds to a packet; at most 10,000. Default 24 + 8 + 4; 26 + 8 + 4 from 802.11n on.
    pub overhead: DataOverhead,
    /// Whether a station of 802.11g sends a CTS-to-self before OFDM data, at a rate that stations
    /// of 802.11b decode (IEEE 802.11, protection mechanism for non-ERP receivers). Default off.
    pub cts_to_self: bool,
    /// Whether EIFS follows a frame that was not decoded (10.3.2.3.7). Default on. If off, DIFS
    /// follows every frame.
    pub eifs: bool,
    /// `ACKTimeout` and `CTSTimeout`, from the end of the frame that requires a response; at most 1
    /// s. `None`, the default, for the standard's ([`PhyConfig::response_timeout`]).
    pub response_timeout: Option<Duration>,
    /// Whether a station resets a NAV that an RTS has set if no frame follows in time, as the
    /// standard permits (10.3.2.4). Default on.
    pub nav_reset: bool,
    /// How long a station sends standard frames to a neighbor that did not acknowledge its first
    /// frame with options, before it tries options again. Default 1 s. Each attempt costs one frame
    /// if the neighbor does not understand options. A neighbor that does, and whose ACK was lost,
    /// receives standard frames for this time.
    pub options_probe_interval: Duration,
}

impl MacConfig {
    /// The defaults of a standard.
    pub fn new(standard: Standard) -> Self {
        let is_qos = standard.format().is_some();
        Self {
            rts_threshold: 65_535,
            aifsn: if is_qos { 3 } else { 2 },
            short_retry_limit: 7,
            long_retry_limit: 4,
            overhead: if is_qos { DataOverhead::QOS } else { DataOverhead::STANDARD },
            cts_to_self: false,
            eifs: true,
            response_timeout: None,
            nav_reset: true,
            options_probe_interval: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagation::LogDistance;

    #[test]
    fn the_standards_have_no_problem_and_nonsense_has_one() {
        for standard in Standard::ALL {
            assert_eq!(WlanConfig::new(standard).problem(), None);
        }
        let with = |change: fn(&mut WlanConfig)| {
            let mut config = WlanConfig::new(Standard::HrDsss);
            change(&mut config);
            config.problem().unwrap_or_default()
        };
        assert!(with(|config| config.phy.rate = Rate::OFDM_54).contains("rate"));
        assert!(with(|config| config.phy.cw_min = 2000).contains("CWmin"));
        assert!(with(|config| config.phy.slot = Duration::ZERO).contains("slot"));
        assert!(with(|config| config.mac.long_retry_limit = 0).contains("retry"));
        let ranges = Propagation::Ranges { reception: 250.0, carrier_sense: 100.0 };
        assert!(WlanConfig { propagation: ranges, ..WlanConfig::new(Standard::Erp) }.problem().is_some());
    }

    #[test]
    fn log_distance_has_bounds() {
        let with = |change: fn(&mut LogDistance)| {
            let mut model = LogDistance::OFDM;
            change(&mut model);
            let propagation = Propagation::LogDistance(model);
            WlanConfig { propagation, ..WlanConfig::new(Standard::Ofdm) }.problem()
        };
        assert_eq!(with(|_| ()), None);
        assert_eq!(with(|model| model.reference_loss = 0.0), None);
        let broken = [
            with(|model| model.transmit_power = 0.0),
            with(|model| model.transmit_power = f64::INFINITY),
            with(|model| model.exponent = 0.0),
            with(|model| model.exponent = f64::NAN),
            with(|model| model.reference_loss = -1.0),
            with(|model| model.carrier_sense_threshold = 0.0),
            with(|model| model.carrier_sense_threshold = 2.0 * model.reception_threshold),
        ];
        assert!(broken.iter().all(Option::is_some), "{broken:?}");
    }
}
