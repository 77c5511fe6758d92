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
use crate::file::quantity::{Octets, Text, Whole};
use crate::file::tcp::TcpTable;

/// A session between two hosts. If an end is a group of nodes, each member has a session.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::file) struct SessionTable {
    /// The kind of session.
    pub(super) kind: Kind,
    /// With "voice": the two parties.
    #[serde(default, deserialize_with = "pair::optional")]
    pub(super) between: Option<[String; 2]>,
    /// With any other kind: the host that requests.
    pub(super) client: Option<String>,
    /// With any other kind: the host that responds.
    pub(super) server: Option<String>,
    /// When the session starts, before the run ends; default "0 s".
    pub(super) start: Option<Text<Duration>>,
    /// When the session stops: nothing new is started from then on, and a call ends; default never.
    pub(super) stop: Option<Text<Duration>>,
    /// With "web", "mail" and "ftp": the client's think time before the next page, message or file.
    /// It is exponentially distributed with this mean, "1 ms" to "24 h". Default "30 s" with "web",
    /// "60 s" with "mail", "180 s" with "ftp".
    pub(super) think_time: Option<Text<Duration>>,
    /// With "web", "mail" and "ftp", instead of `think-time`: the mean rate at which both hosts
    /// together write, without packet headers. The times between are then exponentially
    /// distributed, and proportional to the amount of data written.
    pub(super) load: Option<Text<Bitrate>>,
    /// With "web", "mail" and "ftp": TCP settings that differ from those for all.
    pub(super) tcp: Option<TcpTable>,
    /// With "web": the size of a request, "1 B" to "1 MB"; default "350 B".
    pub(super) request: Option<Text<Octets>>,
    /// With "web": the size of the main object of a page; default lognormal, mu 8.37 and sigma
    /// 1.37, "100 B" to "2 MB" (3GPP2 C.R1002).
    pub(super) main_object: Option<NameOrTable<SizeTable>>,
    /// With "web": the number of objects embedded in a page, 0 to 1000, or a table of a Pareto
    /// distribution. Default: the defaults of that table (3GPP2 C.R1002), with a mean of 5.6.
    pub(super) objects: Option<ObjectsEntry>,
    /// With "web": the size of an embedded object; default lognormal, mu 6.17 and sigma 2.36,
    /// "50 B" to "2 MB" (3GPP2 C.R1002).
    pub(super) object: Option<NameOrTable<SizeTable>>,
    /// With "web": how long the client parses a main object before it requests the embedded
    /// objects, exponentially distributed with this mean, "0 s" to "1 min"; default "130 ms".
    pub(super) parse_time: Option<Text<Duration>>,
    /// With "web": the number of simultaneous connections, 1 to 16; default 6.
    pub(super) connections: Option<Whole<1, 16>>,
    /// With "mail": the size of a message. Default: as measured on a mail server in 2002, half are
    /// below 4 KiB and a tenth above 64 KiB.
    pub(super) message: Option<NameOrTable<SizeTable>>,
    /// With "mail": the share of messages that the client sends. It fetches the others. Default
    /// "0%".
    pub(super) sent: Option<Text<Probability>>,
    /// With "ftp": the size of a file; default lognormal, mu 14.45 and sigma 0.35, at most "5 MB"
    /// (3GPP2 C.R1002).
    pub(super) file: Option<NameOrTable<SizeTable>>,
    /// With "ftp": the share of files that the client stores. It retrieves the others. Default
    /// "0%".
    pub(super) stored: Option<Text<Probability>>,
    /// With "voice": the speech codec; default "g711".
    pub(super) codec: Option<CodecName>,
    /// With "voice": duration of the speech in a packet, "10 ms" to "100 ms" in whole milliseconds,
    /// with "g729" in steps of 10 ms; default "20 ms".
    pub(super) packet_time: Option<Text<Duration>>,
    /// With "voice": send packets only while a party speaks. "p59" uses the talk spurts and pauses
    /// of ITU-T P.59; a table sets their means. Default: always send.
    pub(super) talk_spurts: Option<NameOrTable<SpurtsTable>>,
    /// With "voice" and "g711": whether the listener conceals lost packets (G.711, appendix I);
    /// default true. "g729" always conceals them.
    pub(super) concealment: Option<bool>,
    /// With "voice": how long the fastest packet waits before it is played. A packet that arrives
    /// after its playout time is late. "0 s" to "2 s"; default "60 ms".
    pub(super) playout_buffer: Option<Text<Duration>>,
    /// With "video": whether the rate varies; default "variable".
    pub(super) bit_rate: Option<BitRate>,
    /// With "video": the mean rate of the payload. With "variable", the packet sizes, 40 to
    /// 250 octets at the source's 64 kbit/s, are scaled in proportion. Default: the sizes of the
    /// source.
    pub(super) rate: Option<Text<Bitrate>>,
    /// With "video" at a constant rate: the payload of a packet, "1 B" to "1460 B"; default
    /// "1200 B".
    pub(super) packet: Option<Text<Octets>>,
    /// With "video" at a variable rate: time from one frame to the next, "1 ms" to "10 s"; default
    /// "100 ms".
    pub(super) frame_interval: Option<Text<Duration>>,
    /// With "video" at a variable rate: number of packets per frame, 1 to 1000; default 8.
    pub(super) packets_per_frame: Option<Whole<1, 1_000>>,
}

/// The kind of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::file) enum Kind {
    /// A call: RTP both ways, with reports (RTCP).
    Voice,
    /// Pages over several connections (HTTP/1.1, persistent, without pipelining).
    Web,
    /// Messages that the client fetches (POP3) or sends (SMTP), each over its own connection.
    Mail,
    /// Files over separate data connections, in addition to a control connection.
    Ftp,
    /// A video from the server to the client: RTP in one direction, with reports in both.
    Video,
}

/// Whether the rate of a video varies.
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

/// Every key, and the kinds to which it applies.
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

/// The kinds with a client and a server.
const WITH_A_SERVER: &[Kind] = &[Kind::Web, Kind::Mail, Kind::Ftp, Kind::Video];

/// The kinds that use TCP.
const OVER_TCP: &[Kind] = &[Kind::Web, Kind::Mail, Kind::Ftp];

impl SessionTable {
    /// The same session, with these TCP settings over its own; `None` if it does not use TCP.
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
