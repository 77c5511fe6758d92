//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{Count, GIB, HOUR, MS, Octets, Preset, Presets, SECOND, Time, WEEK};

/// The settings of [`Lle`](super::Lle). The defaults are those for the TCP of today; `preset =
/// "published"` has those of the paper instead, and every key that is given beside it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings have their defaults from; default "today". "published":
    /// keep-until-proven = false, evidence-segments = 0, piggybacked-acks = "clear", queue = "75
    /// kB".
    pub preset: Preset,
    /// Whether a segment that was acknowledged on the receiver's behalf is kept until the receiver
    /// itself has acknowledged it, and is sent again here if it does not; default true; published
    /// false: what the receiver's TCP did not take is lost, and the stream stalls.
    pub keep_until_proven: bool,
    /// Octets of one connection that are kept, headers included; default 1 MiB. Beyond, the
    /// receiver acknowledges by itself.
    #[serde(with = "Octets::<0, GIB>")]
    pub kept_octets: usize,
    /// The receiver's own ACK passes once it acknowledges so many segments more than the one that
    /// passed before; default 32. A quarter of the receiver's window, if that is less. 0 for never,
    /// and never at intervals either: published.
    #[serde(with = "Count::<0, 1_000_000>")]
    pub evidence_segments: u32,
    /// An ACK that was kept back passes after this time at the latest; default 100 ms.
    #[serde(with = "Time::<MS, HOUR>")]
    pub evidence_interval: Duration,
    /// How long the agent that acknowledged waits for the receiver's own word before it sends the
    /// first such segment again; default 400 ms, and twice as long each time; more than
    /// `evidence-interval` and a crossing of the hop.
    #[serde(with = "Time::<MS, HOUR>")]
    pub evidence_timeout: Duration,
    /// How often it does that before it gives the data up, reports it and acknowledges no more;
    /// default 10.
    #[serde(with = "Count::<0, 1_000>")]
    pub repairs: u32,
    /// Whether the sender of a segment that the link layer gave up is asked for it by three duplicate
    /// ACKs (section 3.2.3), or the agent sends it once more where no other follows; default true. If
    /// not, the sender's retransmission timer acts.
    pub loss_questions: bool,
    /// Whether the sender is told at once, in SACK blocks, what the link layer has delivered beyond a
    /// hole, where both ends permit them; default false: the receiver's own ACKs tell.
    pub selective_acks: bool,
    /// An ACK in data that says no more than was acknowledged already; default "raise", published
    /// "clear".
    pub piggybacked_acks: PiggybackedAcks,
    /// Octets of the queue behind the base station's agent: its ACKs tell no larger a window than
    /// is free there. "0 B", the default, leaves the receiver's window as it is; published 75 kB
    /// (50 packets of 1500 octets, the usual limit in ns-2; the paper has no number).
    #[serde(with = "Octets::<0, GIB>")]
    pub queue: usize,
    /// LLE-TCP_CC, for a mobile host whose data goes further than its wireless hop: octets of a
    /// connection, headers included, that the hop has taken over and the agent keeps until the
    /// receiver acknowledges them. "0 B", the default: without it; the paper calls it optional.
    #[serde(with = "Octets::<0, GIB>")]
    pub sender_buffer: usize,
    /// Whether a connection whose handshake went another way is taken up with its windows taken for
    /// unscaled, for networks in which the last hop changes; default false: such connections pass
    /// untouched. Wrong where any TCP scales its windows.
    pub join_unscaled: bool,
    /// How long a host remembers that there was an agent at the other end of its hop, to announce
    /// itself with the next connection's first segment; default 10 min.
    #[serde(with = "Time::<0, WEEK>")]
    pub registration: Duration,
    /// A connection without packets for this long is forgotten, to the second; default 5 min.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection that was used within this time does not make room for a new one, to the second;
    /// default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// What becomes of an ACK in data that says no more than was acknowledged already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PiggybackedAcks {
    /// The ACK bit is cleared. A conforming TCP drops such a segment with its data (RFC 9293,
    /// section 3.10.7.4).
    Clear,
    /// It is raised to what was acknowledged.
    Raise,
}

impl Presets for Settings {
    /// The behaviour of the paper.
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            keep_until_proven: false,
            evidence_segments: 0,
            piggybacked_acks: PiggybackedAcks::Clear,
            queue: 75_000,
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
            keep_until_proven: true,
            kept_octets: 1 << 20,
            evidence_segments: 32,
            evidence_interval: Duration::from_millis(100),
            evidence_timeout: Duration::from_millis(400),
            repairs: 10,
            loss_questions: true,
            selective_acks: false,
            piggybacked_acks: PiggybackedAcks::Raise,
            queue: 0,
            sender_buffer: 0,
            join_unscaled: false,
            registration: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
