//! The table of a session, as serde reads it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::video::BitRate;
use super::voice::{CodecName, SpurtsTable};
use crate::file::named::NameOrTable;
use crate::file::quantity::{Octets, Rate, Text};

/// What two hosts say to each other; one session each where an end is a group of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SessionTable {
    /// What they do.
    pub(super) kind: Kind,
    /// With "voice": the two parties.
    pub(super) between: Option<[String; 2]>,
    /// With any other kind: the host that asks.
    pub(super) client: Option<String>,
    /// With any other kind: the host that answers.
    pub(super) server: Option<String>,
    /// When it starts; default "0 s".
    pub(super) start: Option<Text<Duration>>,
    /// When it stops: nothing new is begun from then on, and a call is over; default never.
    pub(super) stop: Option<Text<Duration>>,
    /// With "voice": how speech is coded; default "g711".
    pub(super) codec: Option<CodecName>,
    /// With "voice": how much speech a packet has, "10 ms" to "100 ms" in whole milliseconds, with
    /// "g729" in steps of 10 ms; default "20 ms".
    pub(super) packet_time: Option<Text<Duration>>,
    /// With "voice": packets only while a party speaks: "p59" for talkspurts and pauses as ITU-T
    /// P.59 has them, or a table with their means. Default: always.
    pub(super) talk_spurts: Option<NameOrTable<SpurtsTable>>,
    /// With "voice" and "g711": whether who hears conceals lost packets (G.711, appendix I); default
    /// true. "g729" does so always.
    pub(super) concealment: Option<bool>,
    /// With "voice": how long the fastest packet waits before it is played; what comes later than
    /// it would have to is late. "0 s" to "2 s"; default "60 ms".
    pub(super) playout_buffer: Option<Text<Duration>>,
    /// With "video": whether its rate varies; default "variable".
    pub(super) bit_rate: Option<BitRate>,
    /// With "video": the mean rate of the payload. With "variable" the sizes of packets, 40 to 250 octets in
    /// the source's 64 kbit/s, are larger or smaller in proportion; default as they are there.
    pub(super) rate: Option<Text<Rate>>,
    /// With "video" at a constant rate: the payload of a packet, "1 B" to "1460 B"; default "1200 B".
    pub(super) packet: Option<Text<Octets>>,
    /// With "video" at a variable rate: from one frame to the next, "1 ms" to "10 s"; default "100
    /// ms".
    pub(super) frame_interval: Option<Text<Duration>>,
    /// With "video" at a variable rate: packets of a frame, 1 to 1000; default 8.
    pub(super) packets_per_frame: Option<u32>,
}

/// What two hosts do in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum Kind {
    /// A call: RTP both ways, with reports (RTCP).
    Voice,
    /// A video from the server to the client: RTP one way, with reports both ways.
    Video,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Video => "video",
        }
    }
}

/// Keys that mean something to some kinds only.
pub(super) const KEYS: &[(&str, &[Kind])] = &[
    ("codec", &[Kind::Voice]),
    ("packet-time", &[Kind::Voice]),
    ("talk-spurts", &[Kind::Voice]),
    ("concealment", &[Kind::Voice]),
    ("playout-buffer", &[Kind::Voice]),
    ("bit-rate", &[Kind::Video]),
    ("rate", &[Kind::Video]),
    ("packet", &[Kind::Video]),
    ("frame-interval", &[Kind::Video]),
    ("packets-per-frame", &[Kind::Video]),
];
