//! What a radio cell can be.

use std::time::Duration;

use super::errors::ErrorConfig;
use super::frame::DataOverhead;
use super::phy::{PhyConfig, Rate, Standard};
use super::propagation::{Capture, Propagation};

/// Stations on one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    /// The physical layer.
    pub phy: PhyConfig,
    /// The medium access control.
    pub mac: MacConfig,
    /// Who hears whom.
    pub propagation: Propagation,
    /// Whether a strong frame survives weak ones; `None` for never.
    pub capture: Option<Capture>,
    /// Frames that are lost without a collision, on links that have no error process of their own.
    pub errors: ErrorConfig,
    /// Where nobody can interfere (all stations of a domain hear each other and nobody else) an
    /// exchange is settled when it begins, which gives the same results with fewer events; errors
    /// and all. Off only to show that.
    pub settle: bool,
}

impl WlanConfig {
    /// The defaults of a standard: everybody hears everybody, no errors.
    pub fn new(standard: Standard) -> Self {
        Self {
            phy: PhyConfig::new(standard),
            mac: MacConfig::default(),
            propagation: Propagation::Everywhere,
            capture: None,
            errors: ErrorConfig::none(),
            settle: true,
        }
    }

    /// What makes no sense in it, as a sentence; `None` if it can be run. A [`super::Wlan`] takes
    /// that for granted.
    pub fn problem(&self) -> Option<&'static str> {
        let Self { phy, mac, propagation, capture, errors, .. } = self;
        let second = Duration::from_secs(1);
        let has_rate = |rate: &Rate| rate.is_of(phy.standard);
        let is_range = |metres: f64| metres.is_finite() && metres >= 0.0;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        let ranges = match propagation {
            Propagation::Everywhere => true,
            Propagation::Ranges { reception, carrier_sense } => {
                is_range(*reception) && is_range(*carrier_sense) && reception <= carrier_sense
            }
            Propagation::TwoRayGround(model) => {
                let all =
                    [model.transmit_power, model.gain, model.height, model.frequency, model.system_loss];
                let thresholds = [model.reception_threshold, model.carrier_sense_threshold];
                all.into_iter().chain(thresholds).all(is_positive) && thresholds[0] >= thresholds[1]
            }
        };
        let bits = errors.bit.is_none_or(|rates| rates.iter().all(|rate| (0.0..=1.0).contains(rate)));
        let rules = [
            (has_rate(&phy.rate) && phy.basic_rates.iter().all(has_rate), "the standard has no such rate"),
            (has_rate(&phy.eifs_rate), "EIFS is reckoned with a rate that the standard does not have"),
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
            (mac.overhead.octets() <= 10_000, "headers have at most 10,000 octets"),
            (ranges, "carrier sense reaches as far as reception, and neither is below zero"),
            (capture.is_none_or(|it| it.threshold > 1.0), "a frame that is captured is stronger than others"),
            (bits, "a bit error rate is from 0 to 1"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, problem)| problem)
    }
}

/// Parameters of the distributed coordination function (IEEE 802.11-2012, 9.3 and annex C).
#[derive(Clone, Debug, PartialEq)]
pub struct MacConfig {
    /// `dot11RTSThreshold`: octets of a data frame, MAC header and FCS included, above which an RTS
    /// precedes it. Default 65,535: never.
    pub rts_threshold: u32,
    /// `dot11ShortRetryLimit`: transmissions of a frame at most, or of its RTS. Default 7.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: transmissions of a data frame that an RTS precedes. Default 4.
    pub long_retry_limit: u32,
    /// Octets around a packet. Default 24 + 8 + 4.
    pub overhead: DataOverhead,
    /// A CTS that a station of 802.11g sends to itself before OFDM data, at a rate that stations of
    /// 802.11b hear (9.23.2). Off by default.
    pub cts_to_self: bool,
    /// EIFS after frames that were not decoded (9.3.2.3.7). Default on; off, DIFS follows
    /// everything.
    pub eifs: bool,
    /// `ACKTimeout` and `CTSTimeout`, from the end of a frame; `None` for the standard's
    /// ([`PhyConfig::response_timeout`]).
    pub response_timeout: Option<Duration>,
    /// Whether a station resets a NAV that an RTS has set if nothing follows (9.3.2.4: it may).
    /// Default on.
    pub nav_reset: bool,
    /// How long a station sends standard frames to a neighbour that did not acknowledge its first
    /// frame with options, before it tries another; default 1 s. A neighbour that knows none costs a
    /// frame each time, and one whose ACK was lost is without options for so long.
    pub options_probe_interval: Duration,
}

impl Default for MacConfig {
    fn default() -> Self {
        Self {
            rts_threshold: 65_535,
            short_retry_limit: 7,
            long_retry_limit: 4,
            overhead: DataOverhead::STANDARD,
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

    #[test]
    fn the_standards_have_no_problem_and_nonsense_has_one() {
        for standard in [Standard::Dsss, Standard::HrDsss, Standard::Ofdm, Standard::Erp] {
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
}
