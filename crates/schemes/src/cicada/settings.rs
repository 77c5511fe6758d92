//! The settings.

use std::time::Duration;

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{Count, GIB, HOUR, MINUTE, MS, Octets, SECOND, Time, WEEK};
use lasthop_hop::last_hop::Targets;
use lasthop_hop::split::SplitSettings;
use lasthop_hop::split::legs;
use lasthop_tcp::{Config, LINUX_WINDOW_MAX, RtoConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quality::Quality;

/// The scheme's name, also of states that move.
pub(super) const NAME: &str = "cicada";

/// The settings of [`Cicada`](super::Cicada). The defaults are for current TCP. `preset = "published"`
/// takes defaults from the paper. Keys that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" sets
    /// vcache = "64 KiB", windows = "4.3bsd", route-duplicates = true, minimum-timeout = "1 s",
    /// notification = false, calls-first = false, pause-senders = true.
    pub preset: Preset,
    /// Capacity of a `VCache` for one direction of a connection, in octets: the most octets that
    /// may be at risk in it, and the largest window that it offers. Default 3840 KiB, the largest
    /// window of a Linux host. In a gateway `octets-per-flow` is a further bound. The paper states
    /// no value; published "64 KiB", which is as much as a window without scaling tells.
    #[serde(with = "Octets::<65_536, GIB>")]
    pub vcache: usize,
    /// How much the legs send; default "hop"; published "4.3bsd".
    pub windows: LegWindows,
    /// Whether a duplicate ACK passes to the other end if nothing is left in the `VCache` for the end
    /// that sent it; default false; published true.
    pub route_duplicates: bool,
    /// Lower bound of the time-out over the hop; default 20 ms above the hop's round-trip time;
    /// published "1 s", the bound of RFC 6298, because the paper states no value.
    #[serde(with = "Time::<MS, HOUR>")]
    pub minimum_timeout: Duration,
    /// Target queueing delay in the queue behind the access point, or a quarter of the hop's
    /// round-trip time if that is longer; default 3 ms. For windows = "hop".
    #[serde(with = "Time::<0, MINUTE>")]
    pub local_delay: Duration,
    /// The smallest window over the hop in segments, 2 or more; default 10, an initial window (RFC
    /// 6928). For windows = "hop".
    #[serde(with = "Count::<2, 1_000_000>")]
    pub least_window: u32,
    /// Whether a sending mobile host learns which of its losses occurred on the hop, so that it
    /// undoes a reduction of its window, as with the scheme `eln`; default true; published false.
    /// Added by lasthop.
    pub notification: bool,
    /// How often the streams of a call are compared with the required quality (`call-delay`,
    /// `call-variation`). The paper calls it `T_RTP` and states no value. Default 200 ms. No stream
    /// is silenced for longer.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub sampling_interval: Duration,
    /// Longest end-to-end delay of a call's packets; default 150 ms (ITU-T G.114: most users do not
    /// notice it). A packet that exceeds both this and `call-variation` is dropped.
    #[serde(with = "Time::<0, MINUTE>")]
    pub call_delay: Duration,
    /// How much later than the stream's fastest packets a packet may arrive. A playout buffer
    /// compensates for less than this. Default 60 ms.
    #[serde(with = "Time::<0, MINUTE>")]
    pub call_variation: Duration,
    /// Whether TCP connections leave room for calls while there are any; default true;
    /// published false, because the paper describes nothing of the kind. Needs windows = "hop". All mobile
    /// hosts then share one window over the hop. Its target is a queue of four segments, of at
    /// least `local-delay` and at most a quarter of `call-variation`. Senders towards mobile hosts
    /// are offered as much as the hop can take. Mobile hosts that send are offered a window of the
    /// same size, at least four segments.
    pub calls_first: bool,
    /// Whether the agent advertises a window of zero to fixed hosts when a mobile host has gone to another access
    /// point, until that has the connection's state; default false, because data that arrives
    /// meanwhile waits there; published true.
    pub pause_senders: bool,
    /// A connection that has had no packets for this long, and to which the agent owes nothing,
    /// passes untouched from then on; resolution 1 s, default 1 h.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; resolution
    /// 1 s, default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// How much the legs of a connection send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LegWindows {
    /// Over the hop, what the window that all connections of a mobile host share has room for, which
    /// no loss reduces. Over the wire, as Linux.
    Hop,
    /// Each leg as Reno of 4.3BSD, with selective acknowledgments if both ends offer them: an initial
    /// window of one segment, windows of at most 64 KiB, losses reduce the window, an ACK for every
    /// second segment.
    #[serde(rename = "4.3bsd")]
    Bsd,
}

/// Share of a call's packets that may be missing before a sample counts as below the quality. It is
/// half of what a codec that conceals losses tolerates well (ITU-T G.113, appendix I: at 2% G.729
/// has lost 10 to 15 points of its rating).
const LOSS: f64 = 0.01;

impl Settings {
    /// The quality of calls.
    pub(super) const fn quality(&self) -> Quality {
        Quality { delay: self.call_delay, variation: self.call_variation, loss: LOSS }
    }

    /// The targets of connections while there are calls: a queue of at most a quarter of what a
    /// playout buffer compensates for, because the queue is at times several times as long as its
    /// target.
    pub(super) fn targets_beside_calls(&self) -> Targets {
        Targets { longest_delay: self.call_variation / 4, min_window: 2, ..self.targets() }
    }

    fn targets(&self) -> Targets {
        Targets { local_delay: self.local_delay, min_window: self.least_window, ..Targets::default() }
    }

    /// The settings of the pairs that follow from these.
    pub(super) fn splits(&self) -> SplitSettings {
        SplitSettings {
            legs: self.legs(),
            targets: self.targets(),
            bound: self.vcache,
            idle_timeout: self.idle_timeout,
            grace: self.eviction_grace,
            routes_duplicates: self.route_duplicates,
        }
    }

    /// The endpoints over the wire and over the hop.
    fn legs(&self) -> (Config, Config) {
        let buffer = self.vcache as u32;
        match self.windows {
            LegWindows::Hop => (legs::core(buffer), legs::radio(buffer, self.minimum_timeout)),
            LegWindows::Bsd => {
                // Each leg has what the ends have agreed on.
                let leg = legs::bsd(buffer, true);
                let rto = RtoConfig { minimum: self.minimum_timeout, ..leg.rto };
                (leg.clone(), Config { rto, ..leg })
            }
        }
    }
}

impl Presets for Settings {
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            vcache: 64 << 10,
            windows: LegWindows::Bsd,
            route_duplicates: true,
            minimum_timeout: Duration::from_secs(1),
            notification: false,
            calls_first: false,
            pause_senders: true,
            ..Self::default()
        }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}

impl Default for Settings {
    fn default() -> Self {
        let targets = Targets::default();
        Self {
            preset: Preset::Today,
            vcache: LINUX_WINDOW_MAX as usize,
            windows: LegWindows::Hop,
            route_duplicates: false,
            minimum_timeout: Duration::from_millis(20),
            local_delay: targets.local_delay,
            least_window: targets.min_window,
            notification: true,
            sampling_interval: Duration::from_millis(200),
            call_delay: Duration::from_millis(150),
            call_variation: Duration::from_millis(60),
            calls_first: true,
            pause_senders: false,
            idle_timeout: Duration::from_secs(3600),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
