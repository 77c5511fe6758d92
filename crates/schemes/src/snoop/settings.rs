//! The settings.

use std::time::Duration;

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{Count, GIB, HOUR, MINUTE, MS, Octets, SECOND, Time, WEEK};
use lasthop_hop::last_hop::Targets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The scheme's name, also of states that move.
pub(super) const NAME: &str = "snoop";

/// The settings of [`Snoop`](super::Snoop). The defaults are for current TCP.
/// `preset = "published"` takes the defaults of the paper and of the authors' ns-2 code instead.
/// Keys that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" is the
    /// behavior of the authors' ns-2 code. Each setting with another default there states it.
    pub preset: Preset,
    /// Cached packets of one connection, 0 or more. Default 4096, more than the octets allow;
    /// published 100 (snoop.h, `SNOOP_MAXWIND`). A super-packet counts as one. At the bound packets
    /// pass uncached.
    #[serde(with = "Count::<0, 1_000_000>")]
    pub cached_packets: usize,
    /// Cached octets of one connection, headers included. Default 4 MiB, 30 times what a path of 20
    /// Mbit/s and 54 ms holds; published 1 MiB. At this bound, and at the bound on the memory of
    /// all agents, packets pass uncached. Added by lasthop.
    #[serde(with = "Octets::<0, GIB>")]
    pub cached_octets: usize,
    /// How a loss is detected; default "sack"; published "duplicate-acks".
    pub loss_detection: LossDetection,
    /// With "sack": a segment counts as lost once more than this many later segments were delivered
    /// before it, 0 to 64. Default 1, for link layers that swap adjacent packets. A segment that
    /// fewer segments have overtaken is repaired a little later. Added by lasthop; `DupThresh` is 3
    /// (RFC 6675).
    #[serde(with = "Count::<0, 64>")]
    pub reordering: u32,
    /// How the local timer runs; default "hop"; published "published".
    pub timer: Timer,
    /// Lower bound of the local time-out; default 20 ms; published 100 ms (snoop.h,
    /// `SNOOP_MIN_TIMO`; ns-default.tcl, `snoopTick_`).
    #[serde(with = "Time::<MS, HOUR>")]
    pub minimum_timeout: Duration,
    /// With timer = "hop": how much longer the timer runs while a single segment is outstanding,
    /// whose ACK the receiver may delay. Default 40 ms (Linux, `TCP_DELACK_MIN`; the worst case
    /// that RFC 9293, section 3.8.6.3, allows is 500 ms).
    #[serde(with = "Time::<0, MINUTE>")]
    pub delayed_ack: Duration,
    /// Maximum number of local retransmissions of one packet, 0 or more; default 10 (snoop.h,
    /// `SNOOP_MAX_RXMIT`).
    #[serde(with = "Count::<0, 1_000>")]
    pub local_retransmissions: u32,
    /// With "duplicate-acks": the number of duplicate ACKs that pass before one triggers a local
    /// retransmission, 0 or more. Default 1 (snoop.cc, `RTX_THRESH`). The paper has 0: the first
    /// one triggers it.
    #[serde(with = "Count::<0, 1_000>")]
    pub duplicates_passed: u32,
    /// Whether signs of losses that are being repaired are withheld from the sender; default true.
    /// With "duplicate-acks" these are the expected duplicate ACKs. With "sack" they are duplicate
    /// ACKs, and SACK blocks above the first hole that the agent repairs.
    pub withholding: bool,
    /// With "sack": the longest time for which a loss is withheld from the sender, plus two
    /// round-trip times of the hop. Default 100 ms, half of the minimum RTO of Linux
    /// (`TCP_RTO_MIN`), so that the sender learns of losses that the agent cannot repair before its
    /// timer expires. Added by lasthop.
    #[serde(with = "Time::<0, HOUR>")]
    pub longest_withholding: Duration,
    /// Whether copies carry the highest TSval that went to the receiver; otherwise PAWS may reject
    /// them (RFC 7323, section 5.3). Default true. Added by lasthop.
    pub monotone_timestamps: bool,
    /// Whether packets wait in the agent instead of in the queue behind it. That queue is kept
    /// short, so that a repair takes about one short round trip over the hop. Default true;
    /// published false. Added by lasthop.
    pub local_window: bool,
    /// With a local window: the target queueing delay behind the agent; default 3 ms. The target is
    /// a quarter of the hop's round-trip time, or two standard deviations of it (at most the
    /// round-trip time itself), if either of these is longer. A higher value raises the latency of
    /// all other traffic. A lower value leaves a hop idle whose ACKs arrive in bunches.
    #[serde(with = "Time::<0, MINUTE>")]
    pub local_delay: Duration,
    /// With a local window: its smallest size in segments, 2 or more; default 10, an initial window
    /// (RFC 6928).
    #[serde(with = "Count::<2, 1_000_000>")]
    pub least_window: u32,
    /// With a local window: when packets of a connection have waited in the agent this long, or one
    /// round trip over the hop if that is longer, the agent drops one packet to slow the sender
    /// down. It drops no other until the sender has reacted. Default 80 ms. A packet that would
    /// wait more than four times as long is dropped. Does not apply to a new hop before a queue has
    /// been seen. Added by lasthop.
    #[serde(with = "Time::<0, HOUR>")]
    pub held_delay: Duration,
    /// With a local window: the most octets of a connection that wait in the agent, headers
    /// included; default 4 MiB. Added by lasthop.
    #[serde(with = "Octets::<0, GIB>")]
    pub held_octets: usize,
    /// Whether the agent does not accelerate a connection if its sender repairs losses nearly as
    /// soon as the agent could (the path beyond is no longer than the hop), and if even after a loss
    /// the sender's window stays at least twice as large as the connection needs. Default true;
    /// published false. Needs timestamps. Added by lasthop.
    pub steps_aside: bool,
    /// What the agent does for data from the mobile host; default "none".
    pub uplink: UplinkHalf,
    /// Round-trip time over the wireless hop before the first measurement; default 50 ms; published
    /// 100 ms (ns-default.tcl, `srtt_`).
    #[serde(with = "Time::<0, HOUR>")]
    pub initial_srtt: Duration,
    /// Deviation of the hop's round-trip time before the first measurement; default 25 ms;
    /// published 250 ms (ns-default.tcl, `rttvar_`).
    #[serde(with = "Time::<0, HOUR>")]
    pub initial_rttvar: Duration,
    /// A connection without packets for this long is forgotten and its cache is freed; resolution
    /// 1 s, default 5 min. Added by lasthop.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; resolution
    /// 1 s, default 10 s. Added by lasthop.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// How a loss on the hop is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By duplicate ACKs, counted in packets: one hole at a time.
    DuplicateAcks,
    /// By comparing what the receiver's ACKs and SACK blocks report as delivered with the order of
    /// sending. This finds every hole, and lost copies too. For a receiver without SACK, by
    /// duplicate ACKs.
    Sack,
}

/// What the agent does for data from the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkHalf {
    /// Nothing: the data passes untouched.
    None,
    /// Negative acknowledgments tell the mobile host at once which data did not arrive over the
    /// hop. The mobile host's TCP must implement Snoop's extension.
    Nack,
}

/// How the local timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// As in snoop.cc: without back-off, with its weights.
    Published,
    /// As in RFC 6298, with back-off, and longer if the receiver may delay its ACK. With "sack" it
    /// sends the last segment along with the first, as a tail loss probe does (RFC 8985, section
    /// 7).
    Hop,
}

impl Presets for Settings {
    /// The behavior of the authors' ns-2 code.
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            cached_packets: 100,
            cached_octets: 1 << 20,
            loss_detection: LossDetection::DuplicateAcks,
            timer: Timer::Published,
            minimum_timeout: Duration::from_millis(100),
            local_window: false,
            steps_aside: false,
            initial_srtt: Duration::from_millis(100),
            initial_rttvar: Duration::from_millis(250),
            ..Self::default()
        }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}

impl Settings {
    /// The targets of the local window.
    pub fn targets(&self) -> Targets {
        Targets {
            local_delay: self.local_delay,
            min_window: self.least_window,
            held_delay: self.held_delay,
            held_octets: self.held_octets,
            ..Targets::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let targets = Targets::default();
        Self {
            preset: Preset::Today,
            cached_packets: 4096,
            cached_octets: 4 << 20,
            loss_detection: LossDetection::Sack,
            reordering: 1,
            timer: Timer::Hop,
            minimum_timeout: Duration::from_millis(20),
            delayed_ack: Duration::from_millis(40),
            local_retransmissions: 10,
            duplicates_passed: 1,
            withholding: true,
            longest_withholding: Duration::from_millis(100),
            monotone_timestamps: true,
            local_window: true,
            local_delay: targets.local_delay,
            least_window: targets.min_window,
            held_delay: targets.held_delay,
            held_octets: targets.held_octets,
            steps_aside: true,
            uplink: UplinkHalf::None,
            initial_srtt: Duration::from_millis(50),
            initial_rttvar: Duration::from_millis(25),
            idle_timeout: Duration::from_secs(300),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
