//! Sessions in figures: their pages, messages and files, and the streams of calls and videos. The same
//! wherever a session ran, in a simulation or between real hosts.

use lasthop_sim::{DialogueOutcome, Durations, StreamOutcome, UdpOutcome};
use serde::{Deserialize, Serialize};

/// Pages, messages or files: of one session, or of all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transactions {
    /// Pages, messages or files that are complete.
    pub completed: u64,
    /// Pages, messages or files whose connections failed.
    pub failed: u64,
    /// Pages, messages or files in progress at the end of the run.
    pub under_way: u64,
    /// Mean time from the first SYN or request to the last octet, in seconds; null if none is
    /// complete, like the next two.
    pub time_mean_s: Option<f64>,
    /// Median of these times, in seconds, accurate to 0.4%.
    pub time_median_s: Option<f64>,
    /// 95th percentile of these times, in seconds, accurate to 0.4%.
    pub time_p95_s: Option<f64>,
    /// Octets that both applications wrote.
    pub offered_bytes: u64,
    /// Connections opened.
    pub connections: u64,
    /// Segments that the two hosts retransmitted.
    pub retransmits: u64,
}

/// One direction of a call or a video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamFigures {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The fate of its packets.
    #[serde(flatten)]
    pub packets: Packets,
    /// Mouth-to-ear delay in seconds; null for a video, and if nothing arrived.
    pub mouth_to_ear_s: Option<f64>,
    /// Rating R of the E-model (ITU-T G.107), 0 to 93.2; null for a video, and if no packet arrived
    /// or was lost.
    pub rating: Option<f64>,
    /// Mean opinion score, 1 to 4.5; null like `rating`.
    pub mos: Option<f64>,
}

/// What became of packets of streams: of one, or of all of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Packets {
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived, each counted once.
    pub received: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// Packets that arrived too late for playout.
    pub late: u64,
    /// Lost packets in percent of all packets that arrived or were lost; null if there are none.
    pub lost_percent: Option<f64>,
    /// Late packets in percent of the same packets; null likewise.
    pub late_percent: Option<f64>,
    /// Mean one-way delay in the network, in seconds; null if nothing arrived, like the next three.
    pub delay_mean_s: Option<f64>,
    /// Variance of the one-way delay, in seconds squared (1 s² is 10^6 ms²).
    pub delay_variance_s2: Option<f64>,
    /// 95th percentile of the one-way delay, in seconds.
    pub delay_p95_s: Option<f64>,
    /// Interarrival jitter at the end of the run, in seconds (RFC 3550, section 6.4.1); for several
    /// streams, the mean.
    pub jitter_s: Option<f64>,
}

impl Transactions {
    /// Those of one dialogue or several, as if they were one's.
    pub fn from_dialogues<'a>(dialogues: impl IntoIterator<Item = &'a DialogueOutcome>) -> Self {
        let mut times = Durations::default();
        let mut all = Self::default();
        for dialogue in dialogues {
            times.merge(&dialogue.times);
            all.failed += dialogue.failed;
            all.under_way += dialogue.under_way;
            all.offered_bytes += dialogue.offered;
            all.connections += dialogue.connections;
            all.retransmits += dialogue.retransmits;
        }
        Self {
            completed: times.count(),
            time_mean_s: times.mean_s(),
            time_median_s: times.quantile_s(0.5),
            time_p95_s: times.quantile_s(0.95),
            ..all
        }
    }
}

impl StreamFigures {
    /// Those of a stream between these nodes.
    pub fn new(from: &str, to: &str, stream: &StreamOutcome) -> Self {
        let quality = stream.quality;
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            packets: Packets::from_streams([stream]),
            mouth_to_ear_s: quality.and_then(|quality| quality.mouth_to_ear_s),
            rating: quality.map(|quality| quality.rating),
            mos: quality.map(|quality| quality.mos),
        }
    }
}

impl Packets {
    /// Those of one stream or several, as if they were one's.
    pub fn from_streams<'a>(streams: impl IntoIterator<Item = &'a StreamOutcome>) -> Self {
        let mut delays = Durations::default();
        let mut all = Self::default();
        let (mut jitter, mut heard) = (0.0, 0.0);
        for stream in streams {
            let UdpOutcome { sent, received, lost, delay, .. } = stream.packets;
            delays.merge(&stream.delays);
            all.sent += sent;
            all.received += received;
            all.lost += lost;
            all.late += stream.late;
            if let Some(delay) = delay {
                (jitter, heard) = (jitter + delay.jitter_s, heard + 1.0);
            }
        }
        let decided = all.received + all.lost;
        let percent = |part: u64| (decided > 0).then(|| part as f64 / decided as f64 * 100.0);
        Self {
            lost_percent: percent(all.lost),
            late_percent: percent(all.late),
            delay_mean_s: delays.mean_s(),
            delay_variance_s2: delays.variance_s2(),
            delay_p95_s: delays.quantile_s(0.95),
            jitter_s: (heard > 0.0).then(|| jitter / heard),
            ..all
        }
    }
}
