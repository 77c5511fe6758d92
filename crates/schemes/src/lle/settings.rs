//! The settings.

use std::time::Duration;

use lasthop_tcp::AckPolicy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{Count, GIB, HOUR, MS, Octets, SECOND, Time, WEEK};

/// The settings of [`Lle`](super::Lle). The defaults are for current TCP. `preset = "published"`
/// takes the paper's defaults instead. Keys that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" sets
    /// keep-until-proven = false, evidence-segments = 0, piggybacked-acks = "clear", queue =
    /// "75 kB".
    pub preset: Preset,
    /// Whether a segment that was acknowledged on the receiver's behalf is kept until the receiver
    /// itself has acknowledged it, and is sent again from here if it does not; default true. With
    /// false, which is the published value, data that the receiver's TCP did not accept is lost and
    /// the stream stalls.
    pub keep_until_proven: bool,
    /// Octets of one connection that are kept, headers included; default 1 MiB. Above this the
    /// receiver acknowledges by itself.
    #[serde(with = "Octets::<0, GIB>")]
    pub kept_octets: usize,
    /// The receiver's own ACK passes once it acknowledges this many segments more than the last ACK
    /// that passed, or a quarter of the receiver's window if that is less. Default 32. With 0,
    /// which is the published value, its ACKs never pass, not even at intervals.
    #[serde(with = "Count::<0, 1_000_000>")]
    pub evidence_segments: u32,
    /// The longest time for which an ACK is withheld before it passes; default 100 ms.
    #[serde(with = "Time::<MS, HOUR>")]
    pub evidence_interval: Duration,
    /// How long the agent waits for the receiver's own ACK of data that it has acknowledged, before
    /// it retransmits the first segment of this data. The time doubles with each attempt. It must
    /// be longer than `evidence-interval` plus one crossing of the hop. Default 400 ms.
    #[serde(with = "Time::<MS, HOUR>")]
    pub evidence_timeout: Duration,
    /// How often the agent retransmits a segment after `evidence-timeout` before it gives the data
    /// up, reports it and acknowledges no more; default 10.
    #[serde(with = "Count::<0, 1_000>")]
    pub repairs: u32,
    /// Which deliveries are acknowledged on the receiver's behalf; default "every-segment". The other
    /// values follow a receiver that acknowledges fewer segments. Does not apply to LLE-TCP_CC
    /// (`sender-buffer`).
    pub acks: DeliveryAcks,
    /// How long such an ACK may wait with acks = "delayed" or "dyndelack"; default 100 ms, as for the
    /// receivers of ns-2.
    #[serde(with = "Time::<MS, { 10 * SECOND }>")]
    pub ack_delay: Duration,
    /// Whether a segment that the link layer gave up is requested from its sender by three
    /// duplicate ACKs (section 3.2.3), or sent once more by the agent if no other segment follows;
    /// default true. With false the sender's retransmission timer repairs the loss.
    pub loss_questions: bool,
    /// Whether SACK blocks tell the sender at once which data the link layer has delivered beyond a
    /// hole, if both ends permit SACK. With false, the default, the sender learns this from the
    /// receiver's own ACKs.
    pub selective_acks: bool,
    /// Whether the ACKs that a hole in promised data causes cross the hop, as in section 3.2.4: those that
    /// repeat a number, and the one that ends them. Default true. With false the sender's
    /// retransmission timer repairs the loss; the receiver's ACKs cross once they have repeated a
    /// number for longer than `evidence-timeout`.
    pub hole_acks: bool,
    /// How to treat an ACK in a data segment that acknowledges no more than was acknowledged
    /// already; default "raise"; published "clear".
    pub piggybacked_acks: PiggybackedAcks,
    /// Size in octets of the queue behind the base station's agent. The agent's ACKs advertise no
    /// larger a window than is free there. "0 B", the default, keeps the receiver's window.
    /// Published 75 kB: 50 packets of 1500 octets, the usual limit in ns-2, because the paper
    /// states no number.
    #[serde(with = "Octets::<0, GIB>")]
    pub queue: usize,
    /// LLE-TCP_CC, for a mobile host whose data goes further than its wireless hop: the octets of a
    /// connection, headers included, that the hop has taken over and that the agent keeps until the
    /// receiver acknowledges them. "0 B", the default, turns it off. The paper calls it optional.
    #[serde(with = "Octets::<0, GIB>")]
    pub sender_buffer: usize,
    /// Whether to accept a connection whose handshake took another path, with the assumption that
    /// its windows are unscaled, for networks in which the last hop changes. With false, the
    /// default, such connections pass untouched. Wrong if any TCP scales its windows.
    pub join_unscaled: bool,
    /// How long a host remembers that there was an agent at the other end of its hop, so that it
    /// announces itself with the first segment of the next connection; default 10 min.
    #[serde(with = "Time::<0, WEEK>")]
    pub registration: Duration,
    /// A connection without packets for this long is forgotten; resolution 1 s, default 5 min.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; resolution
    /// 1 s, default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// Which deliveries are acknowledged on the receiver's behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryAcks {
    /// Each segment, at once.
    EverySegment,
    /// Every second segment, or after `ack-delay`.
    Delayed,
    /// Each segment at first, up to four segments from the ninth segment on, or after `ack-delay`
    /// (Altman and Jimenez 2003).
    #[serde(rename = "dyndelack")]
    DynDelAck,
}

impl Settings {
    /// When deliveries are acknowledged.
    pub(super) const fn ack_policy(&self) -> AckPolicy {
        match self.acks {
            DeliveryAcks::EverySegment => AckPolicy::EverySegment,
            DeliveryAcks::Delayed => AckPolicy::Delayed(self.ack_delay),
            DeliveryAcks::DynDelAck => AckPolicy::DynDelAck(self.ack_delay),
        }
    }
}

/// How to treat an ACK in a data segment that acknowledges no more than was acknowledged already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PiggybackedAcks {
    /// The ACK bit is cleared. A conforming TCP drops such a segment with its data (RFC 9293,
    /// section 3.10.7.4).
    Clear,
    /// The ACK number is raised to what was acknowledged.
    Raise,
}

impl Presets for Settings {
    /// The behavior of the paper.
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
            acks: DeliveryAcks::EverySegment,
            ack_delay: Duration::from_millis(100),
            loss_questions: true,
            selective_acks: false,
            hole_acks: true,
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
