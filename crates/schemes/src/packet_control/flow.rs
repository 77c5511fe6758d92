//! The state of one connection, of constant size.

use lasthop_agent::Limits;
use lasthop_hop::plain_ack::PlainAck;
use lasthop_packet::{Instant, Packet, Seq, TcpFlags};
use serde::{Deserialize, Serialize};

use super::duplicates::Duplicates;
use super::lateness::Lateness;
use super::repetitions::Repetitions;
use super::reports::Reports;

/// A connection whose data goes to a mobile host.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The end of all data that passed.
    pub(super) highest: Seq,
    /// Octets of the longest segment that passed; at least 1.
    pub(super) segment: u32,
    /// The sequence number after the sender's FIN.
    pub(super) fin: Option<Seq>,
    /// The mobile host's last ACK with the highest number that the sender has received, without
    /// blocks.
    pub(super) last_ack: Option<PlainAck>,
    /// Features seen in ACKs of the mobile host.
    pub(super) seen: Seen,
    /// The duplicates of `last_ack`.
    pub(super) duplicates: Duplicates,
    /// Whether duplicates or reports are withheld.
    pub(super) withholds: bool,
    /// The withheld reports of data above a hole.
    pub(super) reports: Reports,
    /// The acknowledgment number and window in the last data to the mobile host.
    pub(super) advertised: Option<(Seq, u16)>,
    pub(super) repetitions: Repetitions,
    pub(super) lateness: Lateness,
    /// The last reported bypass limits.
    pub(super) limits: Option<Limits>,
}

/// Features seen in ACKs of a mobile host, which show the capabilities of its TCP and of the
/// sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// A SACK block.
    pub(super) sack: bool,
    /// A timestamp, or a report of duplicate data, by which the sender detects a needless
    /// retransmission.
    pub(super) undo: bool,
    /// An echo or a count of congestion marks (ECN).
    pub(super) marks: bool,
}

impl Flow {
    /// A flow whose first seen packet starts at `seq`.
    pub(super) fn new(seq: Seq) -> Self {
        Self {
            highest: seq,
            segment: 1,
            fin: None,
            last_ack: None,
            seen: Seen::default(),
            duplicates: Duplicates::default(),
            withholds: false,
            reports: Reports::default(),
            advertised: None,
            repetitions: Repetitions::default(),
            lateness: Lateness::default(),
            limits: None,
        }
    }

    /// The highest acknowledgment number that the sender has received.
    pub(super) fn acknowledged(&self) -> Option<Seq> {
        self.last_ack.map(|last_ack| last_ack.ack)
    }

    /// Records data that passes to the mobile host.
    pub(super) fn record_data(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        let end = tcp.seq + packet.segment_len();
        self.lateness.on_data((tcp.seq, end), end.after(self.highest), now);
        self.highest = self.highest.later(end);
        self.segment = self.segment.max(packet.segment_payload());
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
    }

    /// Whether the sender's FIN is acknowledged: it sends no more data.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.zip(self.acknowledged()).is_some_and(|(fin, ack)| !fin.after(ack))
    }

    /// Whether a segment belongs to another connection on the same ports, whose SYN took another
    /// path.
    pub(super) fn is_another(&self, seq: Seq, end: Seq) -> bool {
        seq.is_out_of_reach(self.highest) || end.is_out_of_reach(self.highest)
    }

    /// The bypass limits: new data and new ACKs pass.
    pub(super) fn permitted(&self) -> Option<Limits> {
        let acknowledged = self.acknowledged()?;
        Some(Limits::unlimited(acknowledged, self.highest, self.limits))
    }
}
