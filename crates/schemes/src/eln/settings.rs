//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{MINUTE, Preset, Presets, Time};

/// The settings of ELN. The defaults are for senders as they are; `preset = "published"` is for
/// those with ELN's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings have their defaults from; default "today".
    pub preset: Preset,
    /// Whether duplicate ACKs for what is missing off the hop carry the ELN bit, for senders with
    /// ELN's part; default false; published true.
    pub mark: bool,
    /// How a sender without ELN's part learns afterwards that a recovery repaired nothing but
    /// losses of the hop, so that it takes its reduction back; default "timestamp";
    /// published "none". Ours.
    pub undo: Undo,
    /// Queueing on the hop that is never taken for congestion. Above it, losses beside packets that
    /// waited nearly as long as any in the last 5 to 10 s are, if they are more than three times as
    /// frequent as other losses. Nearly as long is 90% of the most where that is 50 ms or more, half
    /// of it where it is 10 ms or less. Default 2 ms. Ours.
    #[serde(with = "Time::<0, MINUTE>")]
    pub congestion_floor: Duration,
}

/// What tells a sender that its reduction was needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// Nothing.
    None,
    /// The ACK that ends the recovery echoes a timestamp from before the first retransmission
    /// (Eifel, RFC 3522, RFC 4015).
    Timestamp,
    /// ACKs report what was sent again as received twice (RFC 2883, RFC 3708).
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
