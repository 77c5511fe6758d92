//! The settings.

use std::time::Duration;

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{GIB, HOUR, MS, Octets, SECOND, Time, WEEK};
use lasthop_hop::last_hop::Targets;
use lasthop_hop::split::SplitSettings;
use lasthop_hop::split::legs;
use lasthop_tcp::LINUX_WINDOW_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lle;

/// The scheme's name, also of states that move.
pub(super) const NAME: &str = "as-tcp";

/// The settings of AS-TCP. `preset = "published"` takes defaults from the paper where it states a
/// value. Keys that are given with it override these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". "published" sets
    /// refuse-above = "50 kB", loss-questions = false, selective-acks = false, evidence = false.
    pub preset: Preset,
    /// Where connections are split; default "access-point". With "router" they are split at the
    /// router before the access point, and the mobile host's agent retransmits what is lost between
    /// the two.
    pub split_at: SplitAt,
    /// Buffer of the split for one direction of a connection. It bounds the octets at risk there
    /// and the advertised window. Default 3840 KiB, the largest window of a Linux host.
    #[serde(with = "Octets::<65_536, GIB>")]
    pub buffer: usize,
    /// The access point acknowledges no frame while more octets than this have arrived from the hop
    /// and wait to be sent on. Default "0 B": never, because windows alone hold senders back.
    /// Published "50 kB": the paper states no number, and this is 50 packets of its size. Any value
    /// other than "0 B" needs a simulated 802.11 cell.
    #[serde(with = "Octets::<0, GIB>")]
    pub refuse_above: usize,
    /// Whether the split's own ACKs cross the air and are dropped at the mobile host, for access
    /// points that cannot be changed; default false.
    pub acks_on_air: bool,
    /// Whether three duplicate ACKs ask the sender for a segment that the MAC gave up; default
    /// true. With false, which is the published value, the sender's retransmission timer repairs
    /// the loss.
    pub loss_questions: bool,
    /// Whether SACK blocks tell the split at once which data its MAC has delivered beyond a hole;
    /// default true. With false, which is the published value, the split learns this from the
    /// mobile host's own ACKs.
    pub selective_acks: bool,
    /// Whether one half of the split keeps data that it acknowledged because of a MAC ACK until the
    /// other half's TCP has acknowledged it, for which a real ACK crosses the hop now and then, and after
    /// each hole; default true. With false, which is the published value, no ACK of data crosses the
    /// hop, duplicates included; only those cross that tell an exhausted window, or one that was halved or
    /// doubled. Data that the MAC delivered and the other half's TCP did not accept is then lost.
    pub evidence: bool,
    /// How long data that was acknowledged because of a MAC ACK waits for the split's own ACK
    /// before it is sent again. Default 2 s, longer than a few beacon intervals of a dozing
    /// station.
    #[serde(with = "Time::<MS, HOUR>")]
    pub evidence_timeout: Duration,
    /// A connection that has had no packets for this long, and to which the agent owes nothing,
    /// passes untouched from then on; whole seconds, default 1 h.
    #[serde(with = "Time::<SECOND, WEEK>")]
    pub idle_timeout: Duration,
    /// A connection used within this time is not removed to make room for a new one; whole seconds,
    /// default 10 s.
    #[serde(with = "Time::<0, WEEK>")]
    pub eviction_grace: Duration,
}

/// Where connections are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplitAt {
    /// At the access point.
    AccessPoint,
    /// At the nearest router, which has the role `router` in the scenario. The access point is
    /// unchanged and refuses no frames.
    Router,
}

impl Settings {
    /// The settings of the split that follow from these.
    pub(super) fn splits(&self) -> SplitSettings {
        let buffer = self.buffer as u32;
        SplitSettings {
            legs: (legs::core(buffer), legs::radio(buffer, MIN_TIMEOUT)),
            targets: Targets::default(),
            bound: self.buffer,
            idle_timeout: self.idle_timeout,
            grace: self.eviction_grace,
            routes_duplicates: false,
        }
    }

    /// The settings for ACKs at the split's end of the hop.
    pub(super) fn at_split(&self) -> lle::Settings {
        // Every ACK that says something new is a word of the split's own.
        let at_host = self.at_host();
        let evidence_segments = if self.acks_on_air { 1 } else { at_host.evidence_segments };
        lle::Settings { evidence_segments, selective_acks: self.selective_acks, ..at_host }
    }

    /// The settings for ACKs at the mobile host.
    pub(super) fn at_host(&self) -> lle::Settings {
        let today = lle::Settings::default();
        lle::Settings {
            loss_questions: self.loss_questions,
            keep_until_proven: self.evidence,
            evidence_segments: if self.evidence { today.evidence_segments } else { 0 },
            hole_acks: self.evidence,
            evidence_timeout: self.evidence_timeout,
            idle_timeout: self.idle_timeout,
            eviction_grace: self.eviction_grace,
            ..today
        }
    }
}

/// Lower bound of the time-out of the leg over the hop, above its round-trip time: as in CICADA.
const MIN_TIMEOUT: Duration = Duration::from_millis(20);

impl Presets for Settings {
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            refuse_above: 50_000,
            loss_questions: false,
            selective_acks: false,
            evidence: false,
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
            split_at: SplitAt::AccessPoint,
            buffer: LINUX_WINDOW_MAX as usize,
            refuse_above: 0,
            acks_on_air: false,
            loss_questions: true,
            selective_acks: true,
            evidence: true,
            evidence_timeout: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(3600),
            eviction_grace: Duration::from_secs(10),
        }
    }
}
