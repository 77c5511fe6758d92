//! What is known of one connection: a constant number of octets.

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
    /// The number behind all data that passed.
    pub(super) highest: Seq,
    /// Octets of the longest segment that passed; 1 or more.
    pub(super) segment: u32,
    /// The number behind the sender's FIN.
    pub(super) fin: Option<Seq>,
    /// The highest acknowledgment number, which the sender has been sent, and what else the mobile host
    /// has said with it last; no blocks.
    pub(super) said: Option<PlainAck>,
    /// What ACKs of the mobile host have had in them so far.
    pub(super) seen: Seen,
    /// The duplicates of `said`.
    pub(super) duplicates: Duplicates,
    /// Whether duplicates or reports are withheld.
    pub(super) withholds: bool,
    /// The reports of data above a hole that are withheld.
    pub(super) reports: Reports,
    /// What the data that went on last said of the other direction: its acknowledgment number and
    /// window.
    pub(super) told: Option<(Seq, u16)>,
    pub(super) repetitions: Repetitions,
    pub(super) lateness: Lateness,
    /// What may pass without asking, as last said.
    pub(super) limits: Option<Limits>,
}

/// What ACKs of a mobile host have had in them so far: of what TCP and its sender are capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// A SACK block.
    pub(super) sack: bool,
    /// A timestamp, or a report of duplicate data, by which the sender notices that it has sent
    /// something again in vain.
    pub(super) undo: bool,
    /// An echo of marks of congestion, or a count of them (ECN).
    pub(super) marks: bool,
}

impl Flow {
    /// A flow whose first packet seen starts at `seq`.
    pub(super) fn new(seq: Seq) -> Self {
        Self {
            highest: seq,
            segment: 1,
            fin: None,
            said: None,
            seen: Seen::default(),
            duplicates: Duplicates::default(),
            withholds: false,
            reports: Reports::default(),
            told: None,
            repetitions: Repetitions::default(),
            lateness: Lateness::default(),
            limits: None,
        }
    }

    /// The highest acknowledgment number that the sender has been sent.
    pub(super) fn acknowledged(&self) -> Option<Seq> {
        self.said.map(|said| said.ack)
    }

    /// Takes note of data that goes on to the mobile host.
    pub(super) fn note_data(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        let end = tcp.seq + packet.segment_len();
        self.lateness.on_data((tcp.seq, end), end.after(self.highest), now);
        self.highest = self.highest.later(end);
        self.segment = self.segment.max(packet.segment_payload());
        if tcp.flags.has(TcpFlags::FIN) {
            self.fin = Some(end);
        }
    }

    /// Whether the sender's FIN is acknowledged: it sends nothing more.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.zip(self.acknowledged()).is_some_and(|(fin, ack)| !fin.after(ack))
    }

    /// Whether a segment belongs to another connection on the same ports, whose SYN went another
    /// way.
    pub(super) fn is_another(&self, seq: Seq, end: Seq) -> bool {
        seq.is_out_of_reach(self.highest) || end.is_out_of_reach(self.highest)
    }

    /// What may pass without asking: new data and new ACKs.
    pub(super) fn permitted(&self) -> Option<Limits> {
        let acknowledged = self.acknowledged()?;
        Some(Limits::as_far_as_numbers_go(acknowledged, self.highest, self.limits))
    }
}
