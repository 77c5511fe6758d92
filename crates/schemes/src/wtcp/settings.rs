//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snoop;
use lasthop_config::quantity::{Count, GIB, HOUR, MINUTE, MS, Octets, SECOND, Time, WEEK};

/// The settings of [`Wtcp`](super::Wtcp). The settings of local recovery are
/// [Snoop](crate::snoop)'s and have its defaults, unless another default is stated here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Which part of the time that a segment spends at the base station is excluded from the
    /// sender's measurement; default "repairs". The paper has "residence".
    pub hidden_time: HiddenTime,
    /// Octets of one connection that are stored, headers included; as many again may wait. Default
    /// 4 MiB.
    #[serde(with = "Octets::<0, GIB>")]
    pub buffer: usize,
    /// Number of consecutive time-outs after which local recovery gives up, 0 or more. Default 64,
    /// about a minute of silence, because the timer backs off to one second. Added by lasthop.
    #[serde(with = "Count::<0, 1_000>")]
    pub local_retransmissions: u32,
    /// Lower bound of the local time-out; default 20 ms.
    #[serde(with = "Time::<MS, HOUR>")]
    pub minimum_timeout: Duration,
    /// Target queueing delay in the queue behind the agent, or a quarter of the hop's own
    /// round-trip time if that is longer; default 3 ms.
    #[serde(with = "Time::<0, MINUTE>")]
    pub local_delay: Duration,
    /// How long packets of a connection wait in the agent before the first is dropped to slow the
    /// sender down; default 80 ms.
    #[serde(with = "Time::<0, HOUR>")]
    pub held_delay: Duration,
    /// A connection without packets for this long is forgotten; resolution 1 s, default 5 min.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; resolution
    /// 1 s, default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// Which part of the time that a segment spends at the base station is hidden from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HiddenTime {
    /// None: timestamps are unchanged.
    Nothing,
    /// The time for repairs, and the time spent waiting for an outage to end.
    Repairs,
    /// All of it, including the wait for the local window.
    Residence,
}

impl Settings {
    /// The settings of local recovery.
    pub fn local(&self) -> snoop::Settings {
        snoop::Settings {
            cached_octets: self.buffer,
            held_octets: self.buffer,
            local_retransmissions: self.local_retransmissions,
            minimum_timeout: self.minimum_timeout,
            local_delay: self.local_delay,
            held_delay: self.held_delay,
            idle_timeout: self.idle_timeout,
            eviction_grace: self.eviction_grace,
            // It would leave the timestamps half edited.
            steps_aside: false,
            ..snoop::Settings::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let local = snoop::Settings::default();
        Self {
            hidden_time: HiddenTime::Repairs,
            buffer: local.cached_octets,
            local_retransmissions: 64,
            minimum_timeout: local.minimum_timeout,
            local_delay: local.local_delay,
            held_delay: local.held_delay,
            idle_timeout: local.idle_timeout,
            eviction_grace: local.eviction_grace,
        }
    }
}
