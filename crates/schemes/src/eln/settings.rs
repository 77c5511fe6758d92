//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{MINUTE, Time};

/// The settings of ELN. The defaults are for unmodified senders. `preset = "published"` is for
/// senders that implement ELN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today".
    pub preset: Preset,
    /// Whether duplicate ACKs for data that was lost on the hop carry the ELN bit, for senders that
    /// implement ELN; default false; published true.
    pub mark: bool,
    /// How a sender that does not implement ELN learns, after a recovery, that the recovery
    /// repaired only losses on the hop, so that it undoes its reduction; default "timestamp";
    /// published "none". Added by lasthop.
    pub undo: Undo,
    /// Queueing delay on the hop up to which a loss is never taken for congestion; default 2 ms.
    /// Above it, a loss counts as congestion if it occurs next to packets that waited nearly as
    /// long as any packet in the last 5 to 10 s, and if such losses are more than three times as
    /// frequent as other losses. "Nearly as long" means 90% of the longest wait if that is 50 ms or
    /// more, and half of it if it is 10 ms or less. Added by lasthop.
    #[serde(with = "Time::<0, MINUTE>")]
    pub congestion_floor: Duration,
}

/// How a sender learns that its reduction was unnecessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// It does not learn this.
    None,
    /// The ACK that ends the recovery echoes a timestamp from before the first retransmission
    /// (Eifel, RFC 3522, RFC 4015).
    Timestamp,
    /// ACKs report retransmitted data as received twice (RFC 2883, RFC 3708).
    Dsack,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            preset: Preset::Today,
            mark: false,
            undo: Undo::Timestamp,
            congestion_floor: Duration::from_millis(2),
        }
    }
}

impl Presets for Settings {
    /// For senders with ELN's part.
    fn published() -> Self {
        Self { preset: Preset::Published, mark: true, undo: Undo::None, ..Self::default() }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}
