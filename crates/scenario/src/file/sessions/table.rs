//! The table of a session, as serde reads it.

use std::time::Duration;

use lasthop_packet::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::Deserialize;

use super::objects::ObjectsEntry;
use super::size::SizeTable;
use super::speech::{CodecName, SpurtsTable};
use crate::file::named::NameOrTable;
use crate::file::pair;
use crate::file::quantity::{Octets, Text};
use crate::file::tcp::TcpTable;

/// What two hosts say to each other; one session each where an end is a group of nodes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SessionTable {
    /// What they do.
    pub(super) kind: Kind,
    /// With "voice": the two parties.
    #[serde(default, deserialize_with = "pair::optional")]
    pub(super) between: Option<[String; 2]>,
    /// With any other kind: the host that asks.
    pub(super) client: Option<String>,
    /// With any other kind: the host that answers.
    pub(super) server: Option<String>,
    /// When it starts, before the run ends; default "0 s".
    pub(super) start: Option<Text<Duration>>,
    /// When it stops: nothing new is begun from then on, and a call is over; default never.
    pub(super) stop: Option<Text<Duration>>,
    /// With "web", "mail" and "ftp": how long the client thinks before the next page, message or file,
    /// exponentially distributed with this mean, "1 ms" to "24 h". Default "30 s" with "web", "60 s"
    /// with "mail", "180 s" with "ftp".
    pub(super) think_time: Option<Text<Duration>>,
    /// With "web", "mail" and "ftp", instead of `think-time`: how much both write in the mean, headers
    /// of packets not counted. Times between are then exponentially distributed and in proportion to
    /// what is written.
    pub(super) load: Option<Text<Bitrate>>,
    /// With "web", "mail" and "ftp": settings of TCP that differ from those for all.
    pub(super) tcp: Option<TcpTable>,
    /// With "web": a request, "1 B" to "1 MB"; default "350 B".
    pub(super) request: Option<Text<Octets>>,
    /// With "web": the main object of a page; default lognormal, mu 8.37 and sigma 1.37, "100 B" to "2 MB"
    /// (3GPP2 C.R1002).
    pub(super) main_object: Option<NameOrTable<SizeTable>>,
    /// With "web": how many objects are embedded in a page, 0 to 1000, or a table of a Pareto
    /// distribution; default the table's (3GPP2 C.R1002): 5.6 in the mean.
    pub(super) objects: Option<ObjectsEntry>,
    /// With "web": an embedded object; default lognormal, mu 6.17 and sigma 2.36, "50 B" to "2 MB" (3GPP2
    /// C.R1002).
    pub(super) object: Option<NameOrTable<SizeTable>>,
    /// With "web": how long the client reads a main object before it asks for those embedded in it,
    /// exponentially distributed with this mean, "0 s" to "1 min"; default "130 ms".
    pub(super) parse_time: Option<Text<Duration>>,
    /// With "web": connections at once, 1 to 16; default 6.
    pub(super) connections: Option<u32>,
    /// With "mail": a message; default as measured on a mail server in 2002: half are below 4 KiB, a
    /// tenth above 64 KiB.
    pub(super) message: Option<NameOrTable<SizeTable>>,
    /// With "mail": the part of messages that the client sends; it fetches the others; default "0%".
    pub(super) sent: Option<Text<Probability>>,
    /// With "ftp": a file; default lognormal, mu 14.45 and sigma 0.35, at most "5 MB" (3GPP2 C.R1002).
    pub(super) file: Option<NameOrTable<SizeTable>>,
    /// With "ftp": the part of files that the client stores; it retrieves the others; default "0%".
    pub(super) stored: Option<Text<Probability>>,
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
    pub(super) rate: Option<Text<Bitrate>>,
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
    /// Pages over several connections (HTTP/1.1, persistent, without pipelining).
    Web,
    /// Messages that the client fetches (POP3) or sends (SMTP), each over its connection.
    Mail,
    /// Files over data connections of their own, beside a control connection.
    Ftp,
    /// A video from the server to the client: RTP one way, with reports both ways.
    Video,
}

/// Whether a video's rate varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum BitRate {
    /// Packets of one size at regular intervals.
    Constant,
    /// Frames of several packets whose sizes and spacings vary: near-real-time video of 3GPP2
    /// (C.R1002) and IEEE 802.16m.
    Variable,
}

impl Kind {
    const ALL: &[Self] = &[Self::Voice, Self::Web, Self::Mail, Self::Ftp, Self::Video];

    /// The kind of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Voice => "voice",
            Self::Web => "web",
            Self::Mail => "mail",
            Self::Ftp => "ftp",
            Self::Video => "video",
        }
    }
}

/// Every key, and the kinds that it means something to.
pub(super) const KEYS: &[(&str, &[Kind])] = &[
    ("kind", Kind::ALL),
    ("between", &[Kind::Voice]),
    ("client", WITH_A_SERVER),
    ("server", WITH_A_SERVER),
    ("start", Kind::ALL),
    ("stop", Kind::ALL),
    ("think-time", OVER_TCP),
    ("load", OVER_TCP),
    ("tcp", OVER_TCP),
    ("request", &[Kind::Web]),
    ("main-object", &[Kind::Web]),
    ("objects", &[Kind::Web]),
    ("object", &[Kind::Web]),
    ("parse-time", &[Kind::Web]),
    ("connections", &[Kind::Web]),
    ("message", &[Kind::Mail]),
    ("sent", &[Kind::Mail]),
    ("file", &[Kind::Ftp]),
    ("stored", &[Kind::Ftp]),
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

/// Those in which one asks and the other answers.
const WITH_A_SERVER: &[Kind] = &[Kind::Web, Kind::Mail, Kind::Ftp, Kind::Video];

/// Those that talk over connections.
const OVER_TCP: &[Kind] = &[Kind::Web, Kind::Mail, Kind::Ftp];

impl SessionTable {
    /// The same session, with these settings of TCP over its own; `None` if it is not over TCP.
    pub(in crate::file) fn with_tcp(&self, tcp: &TcpTable) -> Option<Self> {
        let own = self.tcp.clone().unwrap_or_default();
        OVER_TCP.contains(&self.kind).then(|| Self { tcp: Some(tcp.over(&own)), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{KEYS, SessionTable};

    #[test]
    fn every_key_is_listed_with_its_kinds() {
        let schema = schemars::schema_for!(SessionTable);
        let read = schema.get("properties").and_then(|properties| properties.as_object());
        let read: BTreeSet<&str> = read.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        assert_eq!(KEYS.iter().map(|(key, _)| *key).collect::<BTreeSet<_>>(), read);
    }
}
