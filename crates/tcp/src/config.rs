//! The configuration of an endpoint.

use std::time::Duration;

use crate::congestion::{Congestion, SlowStart};
use crate::recovery::{RackConfig, Recovery};
use crate::rtt::{RtoConfig, RtoRule};

/// Settings of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Largest payload of a segment, in octets, before options are subtracted; 1 to 65,495.
    pub mss: u32,
    /// Receive buffer, and so the largest window advertised, in octets; 1 to 2^30. Above 65,535 the
    /// window scale option (RFC 7323) is used.
    pub window: u32,
    /// The largest size of the receive buffer, in octets, at most 2^30: the buffer begins with `window`
    /// and grows with the data of a round trip, as in Linux 6.18 (`tcp_rcvbuf_grow`). None: the buffer
    /// has a fixed size.
    pub window_max: Option<u32>,
    /// The largest number of outstanding octets, as with a send buffer of this size; at least 1.
    /// None: as many as the windows allow.
    pub send_window: Option<u32>,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer selective acknowledgments (RFC 2018): the receiver reports blocks, and `recovery` decides
    /// whether the sender uses them. [`Recovery::Sack`] needs it at both ends.
    pub sack: bool,
    /// Report duplicates in the first SACK block (D-SACK, RFC 2883); needs `sack`.
    pub dsack: bool,
    /// Offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// How cwnd grows and shrinks.
    pub congestion: Congestion,
    /// How the first slow start ends.
    pub slow_start: SlowStart,
    /// Segments by which one ACK may open the window in slow start (L of RFC 3465), if the congestion
    /// control counts octets: [`Congestion::RenoAbc`] (default 2, and 1 after a time-out) and
    /// [`Congestion::Cubic`] (default 1); in [`Congestion::CubicLinux`] only after a time-out
    /// (default 1).
    pub slow_start_limit: Option<u32>,
    /// When the segments that the window allows are sent.
    pub pacing: PacingRule,
    /// Segments are sent in super-packets, as with segmentation offload in Linux (`tcp_tso_autosize`,
    /// `tcp_tso_should_defer`): as many at once as the rate sends in a millisecond, at least two;
    /// fewer may wait for the next ACK. For [`Recovery::Rack`], and senders that are not paced.
    pub segmentation_offload: bool,
    /// An unused window does not grow, and shrinks while nothing is sent, as in Linux
    /// (`tcp_is_cwnd_limited`, `tcp_cwnd_restart`).
    pub window_validation: bool,
    /// The loss recovery.
    pub recovery: Recovery,
    /// Send a new segment with each of the first two duplicate ACKs (limited transmit, RFC 3042). With
    /// SACK, RACK does so in any case, because it counts the octets that have left the network. With
    /// [`Congestion::External`] it has no effect: the owner of the window decides.
    pub limited_transmit: bool,
    /// Initial cwnd in segments: 1 in 4.3BSD Reno, up to 10 today (RFC 6928).
    pub initial_window: u32,
    /// Initial ssthresh in octets: 65,535 in 4.3BSD; "arbitrarily high" in RFC 5681.
    pub initial_ssthresh: u32,
    /// When the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// After three reports of a gap, replace up to 44 ACKs by one, for 1 ms or a twentieth of a round
    /// trip, whichever is less, as in Linux 6.18 (`tcp_comp_sack_nr`); needs `sack`.
    pub ack_compression: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Consecutive time-outs, or unanswered window probes, after which the connection is aborted.
    pub max_timeouts: u32,
    /// Whether the number or the duration of these time-outs counts.
    pub give_up: GiveUp,
    /// From the third consecutive time-out on, send smaller segments until a larger one arrives: a router
    /// may drop large segments, and its message may get lost (RFC 4821; in Linux `tcp_mtu_probing` = 1).
    pub mtu_probing: bool,
    /// The duration of TIME-WAIT (RFC 9293: twice the maximum segment lifetime).
    pub time_wait: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            window: 65_535,
            window_max: None,
            send_window: None,
            timestamps: false,
            sack: false,
            dsack: false,
            ecn: false,
            congestion: Congestion::Reno,
            slow_start: SlowStart::Standard,
            slow_start_limit: None,
            pacing: PacingRule::Control,
            segmentation_offload: false,
            window_validation: false,
            recovery: Recovery::Reno,
            limited_transmit: false,
            initial_window: 1,
            initial_ssthresh: 65_535,
            ack_policy: AckPolicy::EverySegment,
            ack_compression: false,
            rto: RtoConfig::default(),
            max_timeouts: 15,
            give_up: GiveUp::Count,
            mtu_probing: false,
            time_wait: Duration::from_secs(60),
        }
    }
}

/// The largest receive window in Linux by default: five eighths of the 6 MiB in `tcp_rmem`; the rest
/// is not payload.
pub const LINUX_WINDOW_MAX: u32 = 3840 << 10;

impl Config {
    /// The defaults of Linux 6.18, as far as they are modeled.
    pub fn linux() -> Self {
        Self {
            window: 65_535,
            window_max: Some(LINUX_WINDOW_MAX),
            timestamps: true,
            sack: true,
            dsack: true,
            congestion: Congestion::CubicLinux,
            slow_start: SlowStart::Hystart,
            slow_start_limit: Some(u32::MAX),
            segmentation_offload: true,
            window_validation: true,
            recovery: Recovery::Rack(RackConfig::ALL),
            limited_transmit: true,
            initial_window: 10,
            initial_ssthresh: 1 << 30,
            ack_policy: AckPolicy::Linux,
            ack_compression: true,
            give_up: GiveUp::Time,
            rto: RtoConfig {
                rule: RtoRule::Linux,
                minimum: Duration::from_millis(200),
                maximum: Duration::from_secs(120),
                granularity: Duration::ZERO,
                ..RtoConfig::default()
            },
            ..Self::default()
        }
    }

    /// The largest window that this endpoint may ever advertise, in octets.
    pub fn largest_window(&self) -> u32 {
        self.window.max(self.window_max.unwrap_or(0))
    }
}

/// When a connection whose peer is silent is aborted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GiveUp {
    /// At the time-out after [`Config::max_timeouts`] consecutive ones.
    #[default]
    Count,
    /// As in Linux 6.18: at a time-out after the duration of this many time-outs that begin with 200 ms
    /// and double up to 120 s, counted from the first: 924.6 s for 15 (`tcp_retries2`,
    /// `retransmits_timed_out`). A SYN is retransmitted 10 times, the first four a second apart
    /// (`tcp_syn_retries`, `tcp_syn_linear_timeouts`); a SYN-ACK five times (`tcp_synack_retries`).
    Time,
}

/// When the receiver acknowledges data that arrives in order. Data out of order is acknowledged at
/// once (RFC 5681, section 4.2), or with [`Config::ack_compression`] almost at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// One ACK a segment.
    EverySegment,
    /// One ACK for every second segment, or after this time (RFC 5681, section 4.2: at most 500
    /// ms).
    Delayed(Duration),
    /// One ACK a segment for the first 16 segments, and for as many after each sign of a loss: data
    /// out of order, duplicate data, and data that fills a gap. Otherwise one for every second
    /// segment, or after this time. So a sender learns of a loss soon although ACKs get lost, and
    /// without losses only half as many ACKs use the medium.
    EverySegmentAfterLoss(Duration),
    /// One ACK for up to four segments, the more the longer the transfer has lasted
    /// ([`DELAY_COEFFICIENT_STEPS`]), or after this time: `DynDelAck` (Altman and Jimenez, "Novel
    /// delayed ACK techniques for improving TCP performance in multihop wireless networks", PWC
    /// 2003).
    DynDelAck(Duration),
    /// As in Linux 6.18: one ACK for each of the first segments; then one for more than a full
    /// segment, or after 40 to 200 ms; one for the end of a message when it is read. Window updates
    /// are those of Linux, too: when the window is twice the one that the peer knows.
    Linux,
}

/// [`AckPolicy::EverySegmentAfterLoss`]: segments that are acknowledged one by one, about the flight of
/// a sender that loses one in a hundred. With a larger flight every second ACK is enough.
const PROMPT_AFTER_LOSS: u32 = 16;

/// `DynDelAck`: the numbers of the segments, counted from 1, at which the delay coefficient (the number
/// of segments an ACK is for) becomes 2, 3 and 4: the paper's l1, l2 and l3.
///
/// The paper's abstract says that the coefficient depends on the sequence number, and Kliazovich's
/// dissertation (section 3.5.4) that it is at most four; the thresholds and the timer of 100 ms were
/// given to us, and we have not seen the paper's text. We chose to number segments from 1 (the
/// paper's simulator numbers packets, not octets) in the order of their delivery, and to acknowledge
/// data out of order, and data that fills a gap, at once, as with every other policy.
pub const DELAY_COEFFICIENT_STEPS: [u32; 3] = [2, 5, 9];

impl AckPolicy {
    /// The number of segments an ACK is for, at segment number `segment` of the stream, counted from 1,
    /// or from the last sign of a loss if the policy depends on that.
    #[inline]
    pub fn segments_an_ack(self, segment: u32) -> u32 {
        match self {
            Self::EverySegment => 1,
            Self::EverySegmentAfterLoss(_) if segment <= PROMPT_AFTER_LOSS => 1,
            Self::Delayed(_) | Self::Linux | Self::EverySegmentAfterLoss(_) => 2,
            Self::DynDelAck(_) => {
                1 + DELAY_COEFFICIENT_STEPS.iter().filter(|step| segment >= **step).count() as u32
            }
        }
    }

    /// How long an ACK may wait.
    #[inline]
    pub const fn longest_delay(self) -> Option<Duration> {
        match self {
            Self::EverySegment => None,
            Self::Delayed(delay) | Self::DynDelAck(delay) | Self::EverySegmentAfterLoss(delay) => Some(delay),
            Self::Linux => Some(Duration::from_millis(200)),
        }
    }
}

/// When the segments that the window allows are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingRule {
    /// At once, or at the rate of the congestion control if it has one ([`Congestion::Bbr`],
    /// [`Congestion::Bbr3`]).
    #[default]
    Control,
    /// Spread over the round trip, as on a Linux host whose interface has the queueing discipline
    /// `fq`: at twice the rate of cwnd per round trip in the first half of slow start, otherwise at
    /// 1.2 times that rate (`tcp_update_pacing_rate`, Linux 6.18). The rate of a congestion control
    /// that has one takes precedence.
    Fq,
}
