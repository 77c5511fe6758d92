//! What can be set.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::settings::{Count, MINUTE, MS, Preset, Presets, Time};

/// The settings of [`PacketControl`](super::PacketControl). The defaults are those for the TCP of
/// today; `preset = "published"` has those of the paper instead, and every key that is given beside
/// it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings have their defaults from; default "today". Each setting with
    /// another default in "published" names it.
    pub preset: Preset,
    /// Whether ACKs from the mobile host are filtered; default true.
    pub ack_filter: bool,
    /// The duplicate ACK of the mobile host that is to be the sender's third, 3 to 1000; default 24,
    /// because the time is bounded, too; published 9, as in scenario II. With 3, no duplicate is
    /// withheld.
    #[serde(with = "Count::<3, 1_000>")]
    pub threshold: u32,
    /// How duplicates, and reports of data above a hole, are withheld; default "learned"; published
    /// "counted".
    pub withholding: Withholding,
    /// With "learned": how long they are withheld at most, "1 ms" to "1 min"; default 400 ms. Ours.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub longest_withholding: Duration,
    /// With "learned": whether all ACKs pass on connections whose sender can notice by itself that it
    /// has sent something again in vain, by timestamps (RFC 3522) or by reports of duplicates (RFC
    /// 3708), and take the reduction of its window back; default true. Such a sender would only be
    /// kept from learning how late segments are. Ours.
    pub steps_aside: bool,
    /// Whether data that the sender has been told is acknowledged is kept off the hop; default
    /// true.
    pub data_filter: bool,
    /// Whether each segment that the data filter drops is reported to a sender with SACK as a
    /// duplicate (RFC 2883), as the receiver would have; default true; published false. Ours.
    pub duplicate_reports: bool,
}

/// How what says that a segment is missing is withheld from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Withholding {
    /// As in the paper: duplicates are thinned by their count, before the threshold and beyond it,
    /// and what is withheld is dropped for good. ACKs with SACK blocks pass.
    Counted,
    /// For as long as overtaken segments have lately been late: not at all where none is overtaken.
    /// Then the sender hears of all that was withheld, and of everything until what was outstanding
    /// is acknowledged. SACK blocks are withheld until they report as many segments as the
    /// threshold.
    Learned,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            preset: Preset::Today,
            ack_filter: true,
            threshold: 24,
            withholding: Withholding::Learned,
            longest_withholding: Duration::from_millis(400),
            steps_aside: true,
            data_filter: true,
            duplicate_reports: true,
        }
    }
}

impl Presets for Settings {
    fn published() -> Self {
        Self {
            preset: Preset::Published,
            threshold: 9,
            withholding: Withholding::Counted,
            duplicate_reports: false,
            ..Self::default()
        }
    }

    fn preset(&self) -> Preset {
        self.preset
    }
}
