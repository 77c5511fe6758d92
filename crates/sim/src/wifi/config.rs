//! What a radio cell can be.

use std::time::Duration;

use super::errors::ErrorConfig;
use super::frame::DataOverhead;
use super::phy::{PhyConfig, Standard};
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
    /// Where nobody can interfere (all stations of a domain hear each other and nobody else) an exchange is settled when it begins,
    /// which gives the same results with fewer events. Off only to show that.
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
}

/// Parameters of the distributed coordination function (IEEE 802.11-2012, 9.3 and annex C).
#[derive(Clone, Debug, PartialEq)]
pub struct MacConfig {
    /// `dot11RTSThreshold`: octets of a data frame, MAC header and FCS included, above which an RTS precedes it. Default 65,535: never.
    pub rts_threshold: u32,
    /// `dot11ShortRetryLimit`: transmissions of a frame at most, or of its RTS. Default 7.
    pub short_retry_limit: u32,
    /// `dot11LongRetryLimit`: transmissions of a data frame that an RTS precedes. Default 4.
    pub long_retry_limit: u32,
    /// Octets around a packet. Default 24 + 8 + 4.
    pub overhead: DataOverhead,
    /// A CTS that a station of 802.11g sends to itself before OFDM data, at a rate that stations of 802.11b hear (9.23.2). Off by default.
    pub cts_to_self: bool,
    /// EIFS after frames that were not decoded (9.3.2.3.7). Default on; off, DIFS follows everything.
    pub eifs: bool,
    /// `ACKTimeout` and `CTSTimeout`, from the end of a frame; `None` for the standard's ([`PhyConfig::response_timeout`]).
    pub response_timeout: Option<Duration>,
    /// Whether a station resets a NAV that an RTS has set if nothing follows (9.3.2.4: it may). Default on.
    pub nav_reset: bool,
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
        }
    }
}
