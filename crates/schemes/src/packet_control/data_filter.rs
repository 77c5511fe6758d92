//! The data filter: what the sender repeats although it has been told that it arrived.

use lasthop_hop::plain_ack::PlainAck;
use lasthop_packet::{Ecn, Packet, Seq, Tcp, TcpFlags};

use super::flow::Flow;
use super::settings::Settings;

/// An ACK is made at every second repetition of a segment (paper, section 4): one may be on its way
/// already.
const REPETITIONS_PER_ACK: u32 = 2;

/// Repetitions of a segment after which the sender is believed rather than what the mobile host seems
/// to have said: a forged ACK must not stop a connection.
const MOST_REPETITIONS: u32 = 8;

/// What becomes of data from the fixed host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DataFate {
    /// It goes on.
    Passes,
    /// It goes on, and what is known of the connection is wrong: the sender would have listened.
    Insists,
    /// It is dropped, and this ACK, if any, answers it.
    Repeated(Option<PlainAck>),
}

impl Flow {
    /// Decides on data from the fixed host.
    pub(super) fn filter_data(&mut self, packet: &Packet, settings: &Settings) -> DataFate {
        let Some(tcp) = packet.tcp() else { return DataFate::Passes };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let said = self.said.filter(|said| !end.after(said.ack));
        let Some(said) = said.filter(|said| self.is_needless(packet, tcp, said.ack)) else {
            return self.pass_data(packet);
        };
        let times = self.repetitions.count(seq);
        if times > MOST_REPETITIONS {
            return DataFate::Insists;
        }
        let answer = if settings.duplicate_reports && self.seen.sack {
            // What the receiver itself would say: the sender takes it for no duplicate ACK, and
            // learns that its retransmission was needless (RFC 2883, section 4).
            Some(said.reporting(std::iter::once((seq, end))))
        } else {
            times.is_multiple_of(REPETITIONS_PER_ACK).then_some(said)
        };
        DataFate::Repeated(answer)
    }

    /// Takes note of what data that goes on says of the other direction.
    pub(super) fn pass_data(&mut self, packet: &Packet) -> DataFate {
        self.told = packet.tcp().map_or(self.told, |tcp| self.told_by(tcp));
        DataFate::Passes
    }

    /// Whether the mobile host needs nothing of a segment whose data it has: no news of the other
    /// direction, no flag, no option. An octet just below the number that is expected asks whether
    /// the host is there (RFC 9293, section 3.8.4).
    fn is_needless(&self, packet: &Packet, tcp: &Tcp, acknowledged: Seq) -> bool {
        let is_probe = packet.payload().len() <= 1 && tcp.seq + 1 == acknowledged;
        let is_news = |(ack, window): (Seq, u16)| tcp.ack.after(ack) || tcp.window != window;
        !is_probe
            && !self.seen.marks
            && packet.ip().ecn() != Ecn::Ce
            && packet.tcp_reserved_bits() == 0
            && tcp.flags.0 & !TcpFlags::PSH.0 == TcpFlags::ACK.0
            && tcp.options.unknown.is_none()
            && tcp.options.sack.is_empty()
            && !self.told.is_none_or(is_news)
    }

    /// What the mobile host has been told of the other direction, once this segment is there.
    pub(super) fn told_by(&self, tcp: &Tcp) -> Option<(Seq, u16)> {
        if !tcp.flags.has(TcpFlags::ACK) || self.told.is_some_and(|(ack, _)| tcp.ack.before(ack)) {
            return self.told;
        }
        Some((tcp.ack, tcp.window))
    }
}
