//! Configuration of a cell: physical layer, MAC, propagation and errors.

use std::time::Duration;

use super::errors::{BitErrorRates, ErrorConfig};
use super::frame::DataOverhead;
use super::phy::{Format, PhyConfig, Rate, Standard};
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
        let aggregation = mac.aggregation.as_ref();
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
            (mac.txop_limit <= second, "a TXOP limit is at most a second"),
            (mac.overhead.octets() <= 10_000, "headers have at most 10,000 octets"),
            (
                aggregation.is_none_or(|_| phy.standard.format().is_some()),
                "frames are aggregated from 802.11n on",
            ),
            (
                aggregation.is_none_or(|it| (1..=Aggregation::LARGEST_WINDOW).contains(&it.window)),
                "a block ack window has 1 to 256 frames",
            ),
            (
                aggregation.is_none_or(|it| it.ampdu <= 10_000_000 && it.duration <= second),
                "an A-MPDU has at most 10,000,000 octets and lasts at most a second",
            ),
            (
                aggregation.is_none_or(|it| it.amsdu <= it.largest_amsdu(phy.standard)),
                "an A-MSDU has at most 7,935 octets with 802.11n, 4,065 of them in an A-MPDU, and otherwise 11,454",
            ),
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
    /// `dot11RTSThreshold`, in octets of the PSDU: an RTS precedes each longer data frame or A-MPDU. Default 65,535, or
    /// 4,692,480 from 802.11n on: never.
    pub rts_threshold: u32,
    /// `AIFSN`: the number of slots between SIFS and a backoff, 1 to 15. Default 2: DIFS; 3 from 802.11n on, whose stations
    /// are `QoS` stations: that of best effort (table 9-155).
    pub aifsn: u32,
    /// The TXOP limit: for how long a contender that has gained the medium may send one exchange after the other, a SIFS
    /// apart (10.23.2.8), at most 1 s. Zero, the default: one exchange. Table 9-155 has 2.528 ms for best effort since the
    /// edition of 2016, and zero before.
    pub txop_limit: Duration,
    /// `dot11ShortRetryLimit`: the largest number of transmissions of a data frame without RTS, or
    /// of an RTS; at least 1. Default 7.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: the largest number of transmissions of a data frame after an RTS; at
    /// least 1. Default 4.
    pub long_retry_limit: u32,
    /// Octets that a data frame adds to a packet; at most 10,000. Default 24 + 8 + 4; 26 + 8 + 4 from 802.11n on.
    pub overhead: DataOverhead,
    /// Aggregation of data frames at rates of HT and later; `None`: each frame goes alone, and is acknowledged by an ACK.
    /// Default: A-MPDUs from 802.11n on, none before.
    pub aggregation: Option<Aggregation>,
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
            rts_threshold: if is_qos { 4_692_480 } else { 65_535 },
            aifsn: if is_qos { 3 } else { 2 },
            txop_limit: Duration::ZERO,
            short_retry_limit: 7,
            long_retry_limit: 4,
            overhead: if is_qos { DataOverhead::QOS } else { DataOverhead::STANDARD },
            aggregation: standard.format().map(Aggregation::new),
            cts_to_self: false,
            eifs: true,
            response_timeout: None,
            nav_reset: true,
            options_probe_interval: Duration::from_secs(1),
        }
    }
}

/// What stations aggregate (IEEE 802.11-2020, 10.11 and 10.12), under block ack agreements (10.25) that all stations
/// have with each other from the start. Broadcasts, raw frames and cells with power save go without. Frames have no
/// options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// The largest A-MSDU, in octets: packets to one receiver in one MPDU, each with 14 octets before its LLC header and
    /// padded to a multiple of 4, except the last. Default 0: each packet has an MPDU of its own.
    pub amsdu: u32,
    /// The largest A-MPDU, in octets: MPDUs in one PPDU, each with a delimiter of 4 octets and padded to a multiple of 4,
    /// except the last. Default the most of the format: 65,535 (HT), 1,048,575 (VHT), 4,194,303 (HE). 0: each MPDU goes
    /// alone.
    pub ampdu: u32,
    /// `aPPDUMaxTime`: the longest PPDU with an A-MPDU, at most 1 s. Default 5.484 ms.
    pub duration: Duration,
    /// The buffer size of block ack agreements: from the first MPDU that is not acknowledged, this many may be on their
    /// way; 1 to 256. The bitmap of a block ack has 64 bits, or 256 if this is above 64. Default 64, or 256 (HE).
    pub window: u16,
}

impl Aggregation {
    /// The largest block ack window.
    pub const LARGEST_WINDOW: u16 = 256;

    /// The defaults of a format.
    pub const fn new(format: Format) -> Self {
        let (ampdu, window) = match format {
            Format::Ht => (65_535, 64),
            Format::Vht => (1_048_575, 64),
            Format::He => (4_194_303, Self::LARGEST_WINDOW),
        };
        Self { amsdu: 0, ampdu, duration: Duration::from_micros(5_484), window }
    }

    /// The octets of the largest A-MSDU that a standard permits (table 9-25). The length of an MPDU in an A-MPDU has 12
    /// bits with HT.
    pub const fn largest_amsdu(&self, standard: Standard) -> u32 {
        match standard.format() {
            Some(Format::Ht) if self.ampdu > 0 => 4_095 - DataOverhead::QOS.header - DataOverhead::QOS.fcs,
            Some(Format::Ht) => 7_935,
            _ => 11_454,
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
        assert!(
            with(|config| config.mac.aggregation = Some(Aggregation::new(Format::Ht))).contains("802.11n")
        );
        let aggregation = |amsdu, ampdu| {
            let mut config = WlanConfig::new(Standard::Ht);
            config.mac.aggregation = Some(Aggregation { amsdu, ampdu, ..Aggregation::new(Format::Ht) });
            config.problem()
        };
        assert_eq!([aggregation(3_839, 65_535), aggregation(7_935, 0)], [None, None]);
        assert!(aggregation(7_935, 65_535).unwrap_or_default().contains("A-MSDU"));
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
