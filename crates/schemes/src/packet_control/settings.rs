//! The settings.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use lasthop_config::preset::{Preset, Presets};
use lasthop_config::quantity::{Count, MINUTE, MS, Time};

/// The settings of [`PacketControl`](super::PacketControl). The defaults are for current TCP.
/// `preset = "published"` takes the paper's defaults instead. Keys that are given with it override
/// these defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where the other settings take their defaults from; default "today". Each setting with
    /// another default in "published" states it.
    pub preset: Preset,
    /// Whether ACKs from the mobile host are filtered; default true.
    pub ack_filter: bool,
    /// Which duplicate ACK of the mobile host reaches the sender as its third, 3 to 1000. Default
    /// 24, because the time is also bounded; published 9, as in scenario II. With 3 no duplicate is
    /// withheld.
    #[serde(with = "Count::<3, 1_000>")]
    pub threshold: u32,
    /// How duplicates, and reports of data above a hole, are withheld; default "learned"; published
    /// "counted".
    pub withholding: Withholding,
    /// With "learned": the longest time for which duplicates and reports are withheld, "1 ms" to "1
    /// min"; default 400 ms. Added by lasthop.
    #[serde(with = "Time::<MS, MINUTE>")]
    pub longest_withholding: Duration,
    /// With "learned": whether all ACKs pass on connections whose sender can detect an unnecessary
    /// retransmission by itself and undo the reduction of its window; default true. It detects one
    /// by timestamps (RFC 3522) or by reports of duplicates (RFC 3708). Withholding would only keep
    /// such a sender from learning how late segments are. Added by lasthop.
    pub steps_aside: bool,
    /// Whether data that was acknowledged to the sender is kept off the hop; default true.
    pub data_filter: bool,
    /// Whether each segment that the data filter drops is reported as a duplicate to a sender with
    /// SACK (RFC 2883), as the receiver would have done; default true; published false. Added by
    /// lasthop.
    pub duplicate_reports: bool,
}

/// How signs of a missing segment are withheld from the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Withholding {
    /// As in the paper: duplicates are thinned out by their count, before the threshold and beyond
    /// it. What is withheld is dropped for good. ACKs with SACK blocks pass.
    Counted,
    /// For as long as overtaken segments have recently been late, and not at all if none is
    /// overtaken. Then the sender receives all that was withheld, and everything after it until the
    /// outstanding data is acknowledged. SACK blocks are withheld until they report as many
    /// segments as the threshold.
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
