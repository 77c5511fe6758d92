//! The speech codec and the talk spurts of a call, as serde reads them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::file::named::Named;
use crate::file::quantity::Text;

/// The speech codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum CodecName {
    /// 64 kbit/s; RTP payload type 0. Rated by ITU-T G.113, Appendix I: `Ie` 0, `Bpl` 25.1 with
    /// `concealment` and 4.3 without.
    G711,
    /// 8 kbit/s, G.729A; RTP payload type 18. Rated as G.729A with voice activity detection (ITU-T
    /// G.113, Appendix I: `Ie` 11, `Bpl` 19), with `talk-spurts` or without. A look-ahead of 5 ms
    /// (ITU-T G.729) is included in the mouth-to-ear delay.
    G729,
}

/// Mean lengths of talk spurts and pauses, which are exponentially distributed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SpurtsTable {
    /// Mean length of a talk spurt, "10 ms" to "1 h"; default "1004 ms".
    pub(super) talk: Option<Text<Duration>>,
    /// Mean length of a pause, "10 ms" to "1 h"; default "1587 ms".
    pub(super) pause: Option<Text<Duration>>,
}

/// Named mean lengths.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum SpurtsName {
    /// The means of ITU-T P.59: 1.004 s and 1.587 s.
    P59,
}

impl Named for SpurtsTable {
    type Name = SpurtsName;
    const SCHEMA: &'static str = "TalkSpurts";
    const EXPECTED: &'static str = "\"p59\", or a table with \"talk\" and \"pause\"";

    fn named(SpurtsName::P59: SpurtsName) -> Self {
        Self::default()
    }
}
