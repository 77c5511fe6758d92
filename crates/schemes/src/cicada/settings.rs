//! What can be set.

use std::time::Duration;

use lasthop_tcp::LINUX_WINDOW_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quality::Quality;
use crate::last_hop::Aims;
use crate::settings::{Count, GIB, HOUR, MINUTE, MS, Octets, SECOND, Time, WEEK};
use crate::split::legs;
use crate::split::settings::SplitSettings;

/// The scheme's name, also of states that move.
pub(super) const NAME: &str = "cicada";

/// The settings of [`Cicada`](super::Cicada).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Octets of one direction of a connection that a `VCache` has room for: the most that may be at
    /// risk in it, and the largest window that is offered; default 3840 KiB, the largest window of a
    /// Linux host. In a gateway `octets-per-flow` bounds it, too. The paper leaves it open.
    #[serde(with = "Octets::<65_536, GIB>")]
    pub vcache: usize,
    /// The least time-out over the hop, above its round-trip time; default 20 ms.
    #[serde(with = "Time::<MS, HOUR>")]
    pub minimum_timeout: Duration,
    /// How long packets are to wait in the queue behind the access point, or a quarter of the hop's
    /// round trip if that is longer; default 3 ms.
    #[serde(with = "Time::<0, MINUTE>")]
    pub local_delay: Duration,
    /// The least window over the hop in segments, 2 or more; default 10, an initial window (RFC
    /// 6928).
    #[serde(with = "Count::<2, 1_000_000>")]
    pub least_window: u32,
    /// Whether a mobile host that sends is told which of its losses were the hop's, so that it takes
    /// a reduction of its window back, as the scheme `eln` does; default true. Ours.
    pub notification: bool,
    /// How often a call's streams are held against the quality that follows, `T_RTP` in the paper,
    /// which leaves it open; default 200 ms. No stream is silenced for longer.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub sampling_interval: Duration,
    /// How long a call's packets may take from end to end; default 150 ms (ITU-T G.114: most users
    /// do not notice). A packet that exceeds this and `call-variation` is dropped.
    #[serde(with = "Time::<0, MINUTE>")]
    pub call_delay: Duration,
    /// How much later than the stream's quickest packets a packet may be; a playout buffer makes
    /// less than this good. Default 60 ms.
    #[serde(with = "Time::<0, MINUTE>")]
    pub call_variation: Duration,
    /// Whether TCP connections leave room for calls, as long as there are any: all mobile hosts share
    /// one window over the hop, which aims at a queue of four segments, of at least `local-delay` and
    /// at most a quarter of `call-variation`; senders towards them are offered as much as the hop can take, and mobile hosts that
    /// send a window of the same size, four segments at least; default true.
    pub calls_first: bool,
    /// A connection without packets for this long, of which nothing is owed, passes untouched from
    /// then on, to the second; default 1 h.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection that was used within this time does not make room for a new one, to the second;
    /// default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// Share of a call's packets that may be missing before a sample counts as one that does not keep
/// the quality: half of what a codec that conceals losses bears well (ITU-T G.113, appendix I: at 2%
/// G.729 has lost 10 to 15 points of its rating).
const LOSS: f64 = 0.01;

impl Settings {
    /// What calls are to have.
    pub(super) const fn quality(&self) -> Quality {
        Quality { delay: self.call_delay, variation: self.call_variation, loss: LOSS }
    }

    /// What connections aim at while there are calls: a queue of at most a quarter of what a playout
    /// buffer makes good, because it is at times several times as long as
    /// aimed at.
    pub(super) fn aims_beside_calls(&self) -> Aims {
        Aims { longest_delay: self.call_variation / 4, least_window: 2, ..self.aims() }
    }

    fn aims(&self) -> Aims {
        Aims { local_delay: self.local_delay, least_window: self.least_window, ..Aims::default() }
    }

    /// What follows for the pairs.
    pub(super) fn splits(&self) -> SplitSettings {
        let buffer = self.vcache as u32;
        SplitSettings {
            legs: (legs::core(buffer), legs::radio(buffer, self.minimum_timeout)),
            aims: self.aims(),
            bound: self.vcache,
            idle_timeout: self.idle_timeout,
            grace: self.eviction_grace,
            notifies: self.notification,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let aims = Aims::default();
        Self {
            vcache: LINUX_WINDOW_MAX as usize,
            minimum_timeout: Duration::from_millis(20),
            local_delay: aims.local_delay,
            least_window: aims.least_window,
            notification: true,
            sampling_interval: Duration::from_millis(200),
            call_delay: Duration::from_millis(150),
            call_variation: Duration::from_millis(60),
            calls_first: true,
            idle_timeout: Duration::from_secs(3600),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
