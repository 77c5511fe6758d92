//! What can be set about a connection.

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
    /// The window begins with `window` and grows with what a round trip brings, up to so many
    /// octets, as in Linux 6.18 (`tcp_rcvbuf_grow`); at most 2^30. None: it stays as it is.
    pub window_max: Option<u32>,
    /// A sender has no more octets outstanding, as with a send buffer of this size; at least 1.
    /// None: as many as the windows allow.
    pub send_window: Option<u32>,
    /// Offer timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer selective acknowledgments (RFC 2018): the receiver reports blocks; whether the sender
    /// uses them is its recovery's business. [`Recovery::Sack`] needs it at both ends.
    pub sack: bool,
    /// Report duplicates in the first SACK block (D-SACK, RFC 2883); needs `sack`.
    pub dsack: bool,
    /// Offer explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// How cwnd grows and shrinks.
    pub congestion: Congestion,
    /// How the first slow start ends.
    pub slow_start: SlowStart,
    /// Segments by which one ACK may open the window in slow start (L of RFC 3465), where the
    /// congestion control counts octets: [`Congestion::RenoAbc`] (by itself 2, and 1 after a
    /// time-out) and [`Congestion::Cubic`] (1); in [`Congestion::CubicLinux`] after a time-out only
    /// (by itself 1).
    pub slow_start_limit: Option<u32>,
    /// Whether segments leave at once, as far as the window allows.
    pub pacing: PacingRule,
    /// Segments leave in super-packets, as with segmentation offload in Linux (`tcp_tso_autosize`,
    /// `tcp_tso_should_defer`): as many at once as the rate sends in a millisecond, two at least;
    /// what is less may wait for the next ACK. For [`Recovery::Rack`], and senders that are not
    /// paced.
    pub segmentation_offload: bool,
    /// A window that is not used does not grow, and shrinks while nothing is sent, as in Linux
    /// (`tcp_is_cwnd_limited`, `tcp_cwnd_restart`).
    pub window_validation: bool,
    /// What is lost, and what goes again.
    pub recovery: Recovery,
    /// Send a new segment with each of the first two duplicate ACKs (limited transmit, RFC 3042). With
    /// SACK, RACK does so in any case, because it counts what has left the network. With
    /// [`Congestion::Outside`] it has no effect: the owner of the window decides.
    pub limited_transmit: bool,
    /// Initial cwnd in segments: 1 in 4.3BSD Reno, up to 10 today (RFC 6928).
    pub initial_window: u32,
    /// Initial ssthresh in octets: 65,535 in 4.3BSD; "arbitrarily high" in RFC 5681.
    pub initial_ssthresh: u32,
    /// When the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Behind a gap that was reported to the sender three times, let up to 44 ACKs become one, for 1
    /// ms or a twentieth of a round trip, whichever is less, as in Linux 6.18
    /// (`tcp_comp_sack_nr`); needs `sack`.
    pub ack_compression: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Time-outs in a row after which the connection is given up, and window probes without an answer.
    pub max_timeouts: u32,
    /// What is counted of the time-outs.
    pub give_up: GiveUp,
    /// From the third time-out in a row on segments are smaller, until a larger one arrives: a router on
    /// the path may drop those, and its message may get lost (RFC 4821; in Linux `tcp_mtu_probing` = 1).
    pub mtu_probing: bool,
    /// Where an endpoint waits after it closed first (RFC 9293 asks for twice the maximum segment
    /// lifetime).
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

/// How far a receive window grows in Linux with nothing set: five eighths of the 6 MiB in `tcp_rmem`,
/// as the rest is not payload.
pub const LINUX_WINDOW_MAX: u32 = 3840 << 10;

impl Config {
    /// What a host has that runs Linux 6.18 with nothing set, as far as it is modelled.
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

/// When a connection is given up whose peer is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GiveUp {
    /// When the timer expires once more after [`Config::max_timeouts`] time-outs in a row.
    #[default]
    Count,
    /// As Linux 6.18: when the timer expires after the time that as many time-outs would take which begin
    /// with 200 ms and double up to 120 s, counted from the first: 924.6 s for 15 (`tcp_retries2`,
    /// `retransmits_timed_out`). A SYN goes again 10 times, the first four a second apart
    /// (`tcp_syn_retries`, `tcp_syn_linear_timeouts`); its answer five times (`tcp_synack_retries`).
    Time,
}

/// When the receiver acknowledges data that arrives in order. Out of order, it always does so at
/// once (RFC 5681, section 4.2), or with [`Config::ack_compression`] almost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// One ACK a segment.
    EverySegment,
    /// One ACK for every second segment, or after this time (RFC 5681, section 4.2: at most 500
    /// ms).
    Delayed(Duration),
    /// One ACK a segment for the first 16 segments, and for as many after each sign of a loss: data
    /// that arrives out of order or again, and what fills a gap. Else one for every second segment,
    /// or after this time. So a sender that has lost something learns of it soon, although ACKs get
    /// lost, and one that loses nothing shares its medium with half as many ACKs.
    EverySegmentAfterLoss(Duration),
    /// One ACK for up to four segments, the more the longer the transfer has lasted
    /// ([`DELAY_COEFFICIENT_STEPS`]), or after this time: `DynDelAck` (Altman and Jimenez, "Novel
    /// delayed ACK techniques for improving TCP performance in multihop wireless networks", PWC
    /// 2003).
    DynDelAck(Duration),
    /// As Linux 6.18: each of the first segments; then more than one full segment, or after 40 to
    /// 200 ms; what ends a message, when it is read. Window updates, too, are those of Linux: when
    /// the window is twice what the peer knows.
    Linux,
}

/// [`AckPolicy::EverySegmentAfterLoss`]: segments that are acknowledged one by one: about as many as a
/// sender has under way that loses one in a hundred. With more on the way every second ACK is enough.
const PROMPT_AFTER_LOSS: u32 = 16;

/// `DynDelAck`: the numbers of the segments, from 1 on, with which the delay coefficient, how many
/// segments an ACK is for, becomes 2, 3 and 4: the paper's l1, l2 and l3.
///
/// That the coefficient depends on the sequence number is in the paper's abstract, and that it goes
/// up to four in Kliazovich's dissertation (section 3.5.4); the thresholds and the timer of 100 ms
/// were given to us, and we have not seen the paper's text. Chosen: that segments are numbered from
/// 1 (the simulator of the paper has numbers of packets, not of octets), in the order in which they
/// are delivered; and that what arrives out of order, and what fills a gap, is acknowledged at
/// once, as with every other policy.
pub const DELAY_COEFFICIENT_STEPS: [u32; 3] = [2, 5, 9];

impl AckPolicy {
    /// After how many segments the one that is number `segment` of the stream, counted from 1, or
    /// from the last sign of a loss where that matters, is acknowledged at the latest.
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

/// When the segments that the window allows leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingRule {
    /// At once, but as the congestion control says where it has a rate ([`Congestion::Bbr`],
    /// [`Congestion::Bbr3`]).
    #[default]
    Control,
    /// Spread over the round trip, as on a Linux host whose interface has the queueing discipline
    /// `fq`: at twice the rate of cwnd a round trip in the first half of slow start, at 1.2 times
    /// that rate else (`tcp_update_pacing_rate`, Linux 6.18). A congestion control that has a rate
    /// keeps it.
    Fq,
}
