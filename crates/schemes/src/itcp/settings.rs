//! The settings.

use std::time::Duration;

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{GIB, Octets, SECOND, Time, WEEK};
use lasthop_hop::last_hop::Targets;
use lasthop_hop::split::SplitSettings;
use lasthop_hop::split::legs;
use lasthop_tcp::{AckPolicy, Config, Congestion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of [`Itcp`](super::Itcp). The defaults are for current TCP. `preset = "published"` has
/// the TCP of the paper's time. Keys that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" sets
    /// buffer = "64 KiB", opened-by = "mobile-host", congestion = "4.3bsd", acks = "delayed".
    pub preset: Preset,
    /// Buffer at the access point for one direction of a connection, in octets, and the largest
    /// window that it offers; default 256 KiB. The text of the paper was not available; published
    /// "64 KiB", which is as much as a window without scaling tells.
    #[serde(with = "Octets::<65_536, GIB>")]
    pub buffer: usize,
    /// Which end may open a connection that is split; default "either". In the paper it is
    /// "mobile-host", as CICADA's paper reports. Other connections pass untouched.
    pub opened_by: OpenedBy,
    /// Whether both legs use selective acknowledgments (RFC 2018); default false, as CICADA's paper
    /// describes I-TCP.
    pub sack: bool,
    /// TCP of both legs as senders; default "cubic"; published "4.3bsd".
    pub congestion: LegCongestion,
    /// When both legs acknowledge what they receive; default "linux"; published "delayed". The
    /// simulations of AS-TCP's paper probably have "every-segment", the default of ns-2.
    pub acks: LegAcks,
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

/// The TCP of a leg as a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LegCongestion {
    /// Reno as in Linux.
    Reno,
    /// CUBIC as in Linux.
    Cubic,
    /// Reno as in 4.3BSD: an initial window of one segment, windows of at most 64 KiB, a
    /// retransmission time-out of at least 1 s. With `sack`, losses are recovered by selective
    /// acknowledgments.
    #[serde(rename = "4.3bsd")]
    Bsd,
}

/// When a leg acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LegAcks {
    /// As Linux: each of the first segments, then every second one, or after 40 to 200 ms.
    Linux,
    /// Each segment.
    EverySegment,
    /// Every second segment, or after 200 ms, as in 4.3BSD.
    Delayed,
}

impl LegAcks {
    const fn policy(self) -> AckPolicy {
        match self {
            Self::Linux => AckPolicy::Linux,
            Self::EverySegment => AckPolicy::EverySegment,
            Self::Delayed => AckPolicy::Delayed(legs::BSD_ACK_DELAY),
        }
    }
}

impl Settings {
    /// The endpoint of either leg: an ordinary one.
    pub(super) fn leg(&self) -> Config {
        let buffer = self.buffer as u32;
        let of_linux = |congestion: Congestion| Config {
            congestion,
            slow_start: congestion.slow_start_in_linux(),
            // Linux sets none. Without SACK an ACK after a time-out covers much that had arrived before: by all
            // of that, the window would fit what is sent again needlessly, and then a burst for which the queue
            // has no room.
            slow_start_limit: None,
            sack: self.sack,
            dsack: self.sack,
            ..legs::core(buffer)
        };
        let sender = match self.congestion {
            LegCongestion::Reno => of_linux(Congestion::Reno.as_in_linux()),
            LegCongestion::Cubic => of_linux(Congestion::Cubic.as_in_linux()),
            LegCongestion::Bsd => legs::bsd(buffer, self.sack),
        };
        Config { ack_policy: self.acks.policy(), time_wait: self.time_wait, ..sender }
    }

    /// The settings of the pairs that follow from these.
    pub(super) fn splits(&self) -> SplitSettings {
        SplitSettings {
            legs: (self.leg(), self.leg()),
            targets: Targets::default(),
            bound: self.buffer,
            idle_timeout: self.idle_timeout,
            grace: self.eviction_grace,
            routes_duplicates: false,
        }
    }
}

impl Presets for Settings {
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            buffer: 64 << 10,
            opened_by: OpenedBy::MobileHost,
            congestion: LegCongestion::Bsd,
            acks: LegAcks::Delayed,
            ..Self::default()
        }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            preset: Preset::Today,
            buffer: 256 << 10,
            opened_by: OpenedBy::Either,
            sack: false,
            congestion: LegCongestion::Cubic,
            acks: LegAcks::Linux,
            time_wait: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(124 * 60),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
