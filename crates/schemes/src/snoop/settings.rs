//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::last_hop::Aims;
use crate::settings::{Count, GIB, HOUR, MINUTE, MS, Octets, Preset, Presets, SECOND, Time, WEEK};

/// The settings of [`Snoop`](super::Snoop). The defaults are those for the TCP of today; `preset =
/// "published"` has those of the paper and of the authors' ns-2 code instead, and every key that is
/// given beside it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings have their defaults from; default "today". "published" is the
    /// behaviour of the authors' ns-2 code; each setting with another default there names it.
    pub preset: Preset,
    /// Cached packets of one connection, 0 or more; default 4096, more than the octets allow;
    /// published 100 (snoop.h, `SNOOP_MAXWIND`). A super-packet counts as one. At the bound packets
    /// pass uncached.
    #[serde(with = "Count::<0, 1_000_000>")]
    pub cached_packets: usize,
    /// Cached octets of one connection, headers included; default 4 MiB, 30 times what a path of 20
    /// Mbit/s and 54 ms holds; published 1 MiB. At the bound packets pass uncached, and so they do
    /// at the bound on the memory of all agents. Ours.
    #[serde(with = "Octets::<0, GIB>")]
    pub cached_octets: usize,
    /// How a loss shows; default "sack"; published "duplicate-acks".
    pub loss_detection: LossDetection,
    /// With "sack": a segment is lost once more than this many later segments were delivered before
    /// it, 0 to 64; default 1, for link layers that swap neighbours. A segment that fewer have
    /// overtaken is repaired a little later. Ours; `DupThresh` is 3 (RFC 6675).
    #[serde(with = "Count::<0, 64>")]
    pub reordering: u32,
    /// How the local timer runs; default "hop"; published "published".
    pub timer: Timer,
    /// The least local time-out; default 20 ms; published 100 ms (snoop.h, `SNOOP_MIN_TIMO`;
    /// ns-default.tcl, `snoopTick_`).
    #[serde(with = "Time::<MS, HOUR>")]
    pub minimum_timeout: Duration,
    /// With timer = "hop": how much longer it waits where a single segment is outstanding, whose
    /// ACK the receiver may delay; default 40 ms (Linux, `TCP_DELACK_MIN`; the worst case that RFC
    /// 9293, section 3.8.6.3, allows is 500 ms).
    #[serde(with = "Time::<0, MINUTE>")]
    pub delayed_ack: Duration,
    /// Local retransmissions of one packet, 0 or more; default 10 (snoop.h, `SNOOP_MAX_RXMIT`).
    #[serde(with = "Count::<0, 1_000>")]
    pub local_retransmissions: u32,
    /// With "duplicate-acks": duplicate ACKs that pass before one triggers a local retransmission,
    /// 0 or more; default 1 (snoop.cc, `RTX_THRESH`). The paper has 0: the first one triggers it.
    #[serde(with = "Count::<0, 1_000>")]
    pub duplicates_passed: u32,
    /// Whether the sender is kept from hearing of losses that are repaired; default true. With
    /// "duplicate-acks": the duplicate ACKs that are expected. With "sack": duplicate ACKs, and
    /// SACK blocks above the first hole that we repair.
    pub withholding: bool,
    /// With "sack": how long a loss is kept from the sender at most, plus two round-trip times of
    /// the hop; default 100 ms, half of the least RTO of Linux (`TCP_RTO_MIN`), so that the sender
    /// hears of what we cannot repair before its timer expires. Ours.
    #[serde(with = "Time::<0, HOUR>")]
    pub longest_withholding: Duration,
    /// Whether copies carry the highest TSval that went to the receiver, or PAWS may refuse them
    /// (RFC 7323, section 5.3); default true. Ours.
    pub monotone_timestamps: bool,
    /// Whether packets wait here and not in the queue behind: it is kept short, so that a repair
    /// takes about one short round trip over the hop; default true; published false. Ours.
    pub local_window: bool,
    /// With a local window: the queueing delay aimed at behind the agent, or a quarter of the hop's
    /// round trip, or two standard deviations of it (at most the round trip itself), whichever is
    /// longest; default 3 ms. More raises the latency of all other traffic; less idles a hop whose
    /// ACKs come in bunches.
    #[serde(with = "Time::<0, MINUTE>")]
    pub local_delay: Duration,
    /// With a local window: its least size in segments, 2 or more; default 10, an initial window
    /// (RFC 6928).
    #[serde(with = "Count::<2, 1_000_000>")]
    pub least_window: u32,
    /// With a local window: of a connection whose packets wait this long here, or a round trip over
    /// the hop if longer, one packet is dropped to slow the sender down, and no other until the
    /// sender has reacted; default 80 ms. What would wait more than four times as long is dropped.
    /// Not on a new hop, before a queue has shown. Ours.
    #[serde(with = "Time::<0, HOUR>")]
    pub held_delay: Duration,
    /// With a local window: octets of a connection that wait here at most, headers included;
    /// default 4 MiB. Ours.
    #[serde(with = "Octets::<0, GIB>")]
    pub held_octets: usize,
    /// Whether a connection is left to its sender if that repairs losses nearly as soon as we could (the
    /// path beyond is no longer than the hop), and they leave it twice the window that it uses;
    /// default true; published false. Not without timestamps. Ours.
    pub steps_aside: bool,
    /// What is done for data from the mobile host; default "none".
    pub uplink: UplinkHalf,
    /// The round-trip time over the wireless hop before the first measurement; default 50 ms;
    /// published 100 ms (ns-default.tcl, `srtt_`).
    #[serde(with = "Time::<0, HOUR>")]
    pub initial_srtt: Duration,
    /// Its deviation before the first measurement; default 25 ms; published 250 ms (ns-default.tcl,
    /// `rttvar_`).
    #[serde(with = "Time::<0, HOUR>")]
    pub initial_rttvar: Duration,
    /// A connection without packets for this long is forgotten and its cache freed, to the second;
    /// default 5 min. Ours.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection that was used within this time does not make room for a new one, to the second;
    /// default 10 s. Ours.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// How a loss on the hop shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// By duplicate ACKs, counted in packets: one hole at a time.
    DuplicateAcks,
    /// By what the receiver's ACKs and SACK blocks say was delivered, against the order of sending:
    /// every hole, and lost copies too. Of a receiver without SACK, by duplicate ACKs.
    Sack,
}

/// What is done for data from the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UplinkHalf {
    /// Nothing: it passes untouched.
    None,
    /// Negative acknowledgments tell the mobile host at once what did not come off the hop; its TCP
    /// needs Snoop's part.
    Nack,
}

/// How the local timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// As in snoop.cc: without back-off, with its weights.
    Published,
    /// As in RFC 6298, with back-off, and longer where the receiver may delay its ACK. With "sack"
    /// it sends the last segment beside the first, as a tail loss probe does (RFC 8985, section 7).
    Hop,
}

impl Presets for Settings {
    /// The behaviour of the authors' ns-2 code.
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
    /// What the local window aims at.
    pub fn aims(&self) -> Aims {
        Aims {
            local_delay: self.local_delay,
            least_window: self.least_window,
            held_delay: self.held_delay,
            held_octets: self.held_octets,
            ..Aims::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let aims = Aims::default();
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
            local_delay: aims.local_delay,
            least_window: aims.least_window,
            held_delay: aims.held_delay,
            held_octets: aims.held_octets,
            steps_aside: true,
            uplink: UplinkHalf::None,
            initial_srtt: Duration::from_millis(50),
            initial_rttvar: Duration::from_millis(25),
            idle_timeout: Duration::from_secs(300),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
