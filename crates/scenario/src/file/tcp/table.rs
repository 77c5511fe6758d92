//! The table of TCP settings, as serde reads it.

use std::time::Duration;

use lasthop_tcp::{Congestion, PacingRule, RackConfig, Recovery, RtoRule, SlowStart};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::quantity::{Octets, ReceiveWindow, Text, Whole, Window};

/// TCP settings, for both ends of a flow.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct TcpTable {
    /// Where settings that are not given take their values from; without it, from 4.3BSD Reno.
    pub(super) preset: Option<PresetName>,
    /// Largest payload of a segment, "1 B" to "65495 B"; default "1460 B".
    pub(super) segment: Option<Text<Octets>>,
    /// The receiver's buffer, and so the largest advertised window, "1 B" to "1 GiB"; default
    /// "65535 B". Above that the window scale option is used. "auto": it starts at 65,535 octets
    /// and grows with the data that arrives per round trip, up to `window-max`, as in Linux 6.18.
    pub(super) window: Option<Text<ReceiveWindow>>,
    /// With `window = "auto"`: the largest window, "65535 B" to "1 GiB". Default "3840 KiB": five
    /// eighths of the 6 MiB in the kernel's `tcp_rmem`, because the rest is not payload.
    pub(super) window_max: Option<Text<Window>>,
    /// The most data that a sender has outstanding, as with a send buffer of this size, "1 B" to
    /// "1 GiB". Default "unlimited": as much as congestion control and the receiver's window allow.
    pub(super) send_window: Option<Text<Window>>,
    /// Initial congestion window in segments, 1 to 1,000; default 1.
    pub(super) initial_window: Option<Whole<1, 1_000>>,
    /// Initial slow start threshold; default "65535 B".
    pub(super) initial_ssthresh: Option<Text<Window>>,
    /// When the receiver acknowledges data that arrives in order; default "every-segment".
    pub(super) acks: Option<Acks>,
    /// With delayed ACKs: the longest delay, at most "10 s"; default "200 ms", and "100 ms" with
    /// "dyndelack".
    pub(super) ack_delay: Option<Text<Duration>>,
    /// Whether ACKs after a gap that has been reported to the sender three times are merged into
    /// one for up to 1 ms, as in Linux 6.18; needs `sack`; default false.
    pub(super) ack_compression: Option<bool>,
    /// Whether to offer timestamps; default false.
    pub(super) timestamps: Option<bool>,
    /// Whether to offer selective acknowledgments; default false, and true with
    /// `recovery = "sack"`, `recovery = "rack"` and `preset = "linux"`.
    pub(super) sack: Option<bool>,
    /// Whether to report duplicates (D-SACK, RFC 2883); needs `sack`; default false.
    pub(super) dsack: Option<bool>,
    /// Whether to offer explicit congestion notification (RFC 3168), so that queues with active
    /// management mark data instead of dropping it; default false.
    pub(super) ecn: Option<bool>,
    /// Lower bound of the retransmission time-out, "1 ms" to "1 h"; default "1 s".
    pub(super) rto_min: Option<Text<Duration>>,
    /// Retransmission time-out before the first measurement, from `rto-min` to `rto-max`. Default
    /// "1 s", or the nearer of `rto-min` and `rto-max` if "1 s" is not between them.
    pub(super) rto_initial: Option<Text<Duration>>,
    /// Upper bound of the retransmission time-out, from `rto-min` to "1 h"; default "64 s", or
    /// `rto-min` if that is longer.
    pub(super) rto_max: Option<Text<Duration>>,
    /// Granularity of TCP's clock, at most "10 s"; default "1 ms"; "500 ms" in 4.3BSD.
    pub(super) clock_granularity: Option<Text<Duration>>,
    /// Number of consecutive time-outs after which the connection is given up, 1 to 1,000; default
    /// 15. With `preset = "linux"` it is `tcp_retries2`, which stands for a time: 924.6 s for 15.
    pub(super) max_timeouts: Option<Whole<1, 1_000>>,
    /// Congestion control: how the congestion window grows and shrinks; default "reno". With
    /// `preset = "linux"` the default is "cubic-linux", "cubic" also means that, and "reno" means
    /// "reno-abc".
    pub(super) congestion: Option<CongestionName>,
    /// How the first slow start ends if no loss ends it; default "standard".
    pub(super) slow_start: Option<SlowStartName>,
    /// By how much one ACK may open the window in slow start, "2 segments" or "unlimited" (L of RFC
    /// 3465). Only with "reno-abc" and "cubic". Default with "reno-abc": 2, and 1 after a time-out;
    /// with `preset = "linux"` "unlimited". Default with "cubic": 1; not available with
    /// `preset = "linux"`.
    pub(super) slow_start_limit: Option<Text<Window>>,
    /// When the sender sends the segments that the window allows; default "control".
    pub(super) pacing: Option<PacingName>,
    /// Whether segments are sent in super-packets, as with segmentation offload in Linux. A
    /// super-packet has as many segments as the rate sends in a millisecond, at least two. A
    /// smaller amount may wait for the next ACK. Needs `recovery = "rack"`; for senders that are
    /// not paced. Default false.
    pub(super) segmentation_offload: Option<bool>,
    /// Whether a window that is not in use does not grow, and shrinks while nothing is sent, as in
    /// Linux; default false.
    pub(super) window_validation: Option<bool>,
    /// Loss recovery: which segments count as lost, and which are retransmitted; default "reno".
    pub(super) recovery: Option<RecoveryName>,
    /// With "rack": whether to send a tail loss probe if no ACK arrives (RFC 8985, section 7);
    /// default true.
    pub(super) tail_loss_probe: Option<bool>,
    /// With "rack": whether the window shrinks over a round trip (RFC 9937) instead of at once;
    /// default true.
    pub(super) proportional_reduction: Option<bool>,
    /// With "rack": whether to detect spurious time-outs (RFC 5682); default true.
    pub(super) f_rto: Option<bool>,
    /// With "rack": whether to undo a window reduction for a loss that did not occur (RFC 3522,
    /// 3708); default true.
    pub(super) undo: Option<bool>,
    /// How the retransmission time-out is computed from round-trip times; default "standard".
    pub(super) rto_rule: Option<RtoRuleName>,
    /// Whether to send a new segment on each of the first two duplicate ACKs (RFC 3042); default
    /// false.
    pub(super) limited_transmit: Option<bool>,
}

impl TcpTable {
    /// These settings, with those of `below` for keys that these do not set.
    pub(in crate::file) fn over(&self, below: &Self) -> Self {
        Self {
            preset: self.preset.or(below.preset),
            segment: self.segment.or(below.segment),
            window: self.window.or(below.window),
            window_max: self.window_max_over(below),
            send_window: self.send_window.or(below.send_window),
            initial_window: self.initial_window.or(below.initial_window),
            initial_ssthresh: self.initial_ssthresh.or(below.initial_ssthresh),
            acks: self.acks.or(below.acks),
            ack_delay: self.ack_delay.or(below.ack_delay),
            ack_compression: self.ack_compression.or(below.ack_compression),
            timestamps: self.timestamps.or(below.timestamps),
            sack: self.sack.or(below.sack),
            dsack: self.dsack.or(below.dsack),
            ecn: self.ecn.or(below.ecn),
            rto_min: self.rto_min.or(below.rto_min),
            rto_initial: self.rto_initial.or(below.rto_initial),
            rto_max: self.rto_max.or(below.rto_max),
            clock_granularity: self.clock_granularity.or(below.clock_granularity),
            max_timeouts: self.max_timeouts.or(below.max_timeouts),
            congestion: self.congestion.or(below.congestion),
            slow_start: self.slow_start.or(below.slow_start),
            slow_start_limit: self.slow_start_limit.or(below.slow_start_limit),
            pacing: self.pacing.or(below.pacing),
            segmentation_offload: self.segmentation_offload.or(below.segmentation_offload),
            window_validation: self.window_validation.or(below.window_validation),
            recovery: self.recovery.or(below.recovery),
            tail_loss_probe: self.tail_loss_probe.or(below.tail_loss_probe),
            proportional_reduction: self.proportional_reduction.or(below.proportional_reduction),
            f_rto: self.f_rto.or(below.f_rto),
            undo: self.undo.or(below.undo),
            rto_rule: self.rto_rule.or(below.rto_rule),
            limited_transmit: self.limited_transmit.or(below.limited_transmit),
        }
    }

    /// `window-max`. The value of `below` does not apply if these settings replace its window.
    pub(super) fn window_max_over(&self, below: &Self) -> Option<Text<Window>> {
        let is_fixed = matches!(self.window, Some(Text(ReceiveWindow::Fixed(_))));
        self.window_max.or(below.window_max.filter(|_| !is_fixed))
    }

    /// The name of these settings: that of the congestion control, or else that of the recovery.
    pub(in crate::file) fn flavour(&self) -> Option<&'static str> {
        let congestion = self.congestion.map(CongestionName::as_written);
        let preset = self.preset.map(|PresetName::Linux| "linux");
        congestion.or(self.recovery.map(RecoveryName::as_written)).or(preset)
    }
}

/// Where TCP settings that are not given take their values from.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PresetName {
    /// A host that runs Linux 6.18 with default settings.
    Linux,
}

/// How the retransmission time-out is computed from round-trip times.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RtoRuleName {
    /// RFC 6298: `rto-min` is the lower bound of the time-out.
    Standard,
    /// Linux: `rto-min` is the lower bound of the time-out minus the smoothed round-trip time.
    Linux,
}

impl RtoRuleName {
    pub(super) const fn rule(self) -> RtoRule {
        match self {
            Self::Standard => RtoRule::Standard,
            Self::Linux => RtoRule::Linux,
        }
    }
}

/// When the receiver acknowledges data that arrives in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Acks {
    /// One ACK per segment.
    EverySegment,
    /// One ACK for every second segment, or after `ack-delay`.
    Delayed,
    /// One ACK per segment at first, one for up to four segments from the ninth segment on, or
    /// after `ack-delay` (Altman and Jimenez 2003).
    #[serde(rename = "dyndelack")]
    DynDelAck,
    /// As in Linux 6.18: each of the first segments, later after more than one full segment, or
    /// after 40 to 200 ms.
    Linux,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CongestionName {
    /// Slow start and congestion avoidance by the number of ACKs (RFC 2001).
    Reno,
    /// As "reno", but by the number of acknowledged octets, so that delayed ACKs do not slow it
    /// down (RFC 3465).
    RenoAbc,
    /// Keeps one to three segments in the queues of the path, by the round-trip time (Brakmo and
    /// Peterson 1995).
    Vegas,
    /// As "reno", but after a loss the window is set from the measured bandwidth (Mascolo et al.
    /// 2001).
    Westwood,
    /// A cubic function of the time since the last loss (RFC 9438). With `slow-start = "hystart++"`
    /// it is as the RFC recommends.
    Cubic,
    /// CUBIC as in Linux.
    CubicLinux,
    /// Uses the bandwidth of the path and its minimum round-trip time instead of losses (version 1,
    /// as in Linux); only with `recovery = "rack"`.
    Bbr,
    /// As "bbr", but also responds to losses (version 3, draft-ietf-ccwg-bbr); only with
    /// `recovery = "rack"`.
    Bbr3,
}

/// When the sender sends the segments that the window allows.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PacingName {
    /// At once; "bbr" and "bbr3" pace at their own rate.
    Control,
    /// Spread over the round trip, as on a Linux host whose interface has the queueing discipline
    /// `fq`: at 200% of one window per round trip in the first half of slow start, and at 120%
    /// otherwise. "bbr" and "bbr3" keep their own rate.
    Fq,
}

impl PacingName {
    pub(super) const fn rule(self) -> PacingRule {
        match self {
            Self::Control => PacingRule::Control,
            Self::Fq => PacingRule::Fq,
        }
    }
}

/// How the first slow start ends.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SlowStartName {
    /// At `initial-ssthresh`.
    Standard,
    /// When round-trip times grow, or when a round's ACKs have arrived for half of a round trip (Ha
    /// and Rhee 2011, as in Linux); at `initial-ssthresh` at the latest.
    Hystart,
    /// When round-trip times grow (RFC 9406); at `initial-ssthresh` at the latest.
    #[serde(rename = "hystart++")]
    HystartPlusPlus,
}

impl SlowStartName {
    pub(super) const fn slow_start(self) -> SlowStart {
        match self {
            Self::Standard => SlowStart::Standard,
            Self::Hystart => SlowStart::Hystart,
            Self::HystartPlusPlus => SlowStart::HystartPlusPlus,
        }
    }
}

impl CongestionName {
    pub(super) const fn congestion(self) -> Congestion {
        match self {
            Self::Reno => Congestion::Reno,
            Self::RenoAbc => Congestion::RenoAbc,
            Self::Vegas => Congestion::Vegas,
            Self::Westwood => Congestion::Westwood,
            Self::Cubic => Congestion::Cubic,
            Self::CubicLinux => Congestion::CubicLinux,
            Self::Bbr => Congestion::Bbr,
            Self::Bbr3 => Congestion::Bbr3,
        }
    }

    const fn as_written(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::RenoAbc => "reno-abc",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::Cubic => "cubic",
            Self::CubicLinux => "cubic-linux",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
        }
    }
}

/// Which segments count as lost, and which are retransmitted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecoveryName {
    /// Slow start from the lost segment on, at the third duplicate ACK.
    Tahoe,
    /// Fast recovery that ends with the first ACK of new data. A second loss in a window usually
    /// waits for a time-out (RFC 2001).
    Reno,
    /// Fast recovery from all losses in a window, one per round trip (RFC 6582).
    NewReno,
    /// Fast recovery from all losses that the receiver's reports show (RFC 6675); needs `sack`.
    Sack,
    /// Recovery by time: a segment that was overtaken by a later one counts as lost (RFC 8985);
    /// needs `sack`.
    Rack,
}

impl RecoveryName {
    pub(super) const fn recovery(self) -> Recovery {
        match self {
            Self::Tahoe => Recovery::Tahoe,
            Self::Reno => Recovery::Reno,
            Self::NewReno => Recovery::NewReno,
            Self::Sack => Recovery::Sack,
            Self::Rack => Recovery::Rack(RackConfig::ALL),
        }
    }

    const fn as_written(self) -> &'static str {
        match self {
            Self::Tahoe => "tahoe",
            Self::Reno => "reno",
            Self::NewReno => "newreno",
            Self::Sack => "sack",
            Self::Rack => "rack",
        }
    }
}
