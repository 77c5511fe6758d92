//! The settings.

use std::time::Duration;

use lasthop_tcp::{Config, Congestion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::last_hop::Aims;
use crate::settings::{GIB, Octets, SECOND, Time, WEEK};
use crate::split::legs;
use crate::split::settings::SplitSettings;

/// The settings of [`Itcp`](super::Itcp).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Buffer at the access point for one direction of a connection, in octets, and the largest
    /// window that it offers; default 256 KiB. The text of the paper was not available.
    #[serde(with = "Octets::<65_536, GIB>")]
    pub buffer: usize,
    /// Which end may open a connection that is split; default "either". In the paper it is
    /// "mobile-host", as CICADA's paper reports. Other connections pass untouched.
    pub opened_by: OpenedBy,
    /// Whether both legs use selective acknowledgments (RFC 2018); default false, as CICADA's paper
    /// describes I-TCP.
    pub sack: bool,
    /// Congestion control of both legs; default "cubic".
    pub congestion: LegCongestion,
    /// How long the end of a leg that closed first stays in TIME-WAIT; resolution 1 s, default
    /// 10 s.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub time_wait: Duration,
    /// The ends of a connection that has been idle for this long are asked whether they are still
    /// there, every 75 s, and reset if one of them has not answered nine times; default 124 min, the
    /// least of RFC 5382 (REQ-5) for what translates.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// Which end opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OpenedBy {
    /// The end on the radio side.
    MobileHost,
    /// Either end.
    Either,
}

/// The congestion control of a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LegCongestion {
    /// Reno as in Linux.
    Reno,
    /// CUBIC as in Linux.
    Cubic,
}

impl Settings {
    /// The endpoint of either leg: an ordinary one.
    pub(super) fn leg(&self) -> Config {
        let congestion = match self.congestion {
            LegCongestion::Reno => Congestion::Reno.as_in_linux(),
            LegCongestion::Cubic => Congestion::Cubic.as_in_linux(),
        };
        Config {
            congestion,
            slow_start: congestion.slow_start_in_linux(),
            sack: self.sack,
            dsack: self.sack,
            time_wait: self.time_wait,
            ..legs::core(self.buffer as u32)
        }
    }

    /// The settings of the pairs that follow from these.
    pub(super) fn splits(&self) -> SplitSettings {
        SplitSettings {
            legs: (self.leg(), self.leg()),
            aims: Aims::default(),
            bound: self.buffer,
            idle_timeout: self.idle_timeout,
            grace: self.eviction_grace,
            notifies: false,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            buffer: 256 << 10,
            opened_by: OpenedBy::Either,
            sack: false,
            congestion: LegCongestion::Cubic,
            time_wait: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(124 * 60),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
