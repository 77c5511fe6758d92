//! The data filter: data that the sender repeats although it received the acknowledgment.

use lasthop_hop::plain_ack::PlainAck;
use lasthop_packet::{Ecn, Packet, Seq, Tcp, TcpFlags};

use super::flow::Flow;
use super::settings::Settings;

/// An ACK is generated at every second repetition of a segment (paper, section 4): one may be in
/// flight already.
const REPETITIONS_PER_ACK: u32 = 2;

/// Repetitions of a segment after which the sender is trusted rather than the mobile host's apparent
/// ACK: a forged ACK must not stop a connection.
const MAX_REPETITIONS: u32 = 8;

/// The action on data from the fixed host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DataFate {
    /// It passes.
    Passes,
    /// It passes, and the flow's state is wrong: the sender would have stopped otherwise.
    Persists,
    /// It is dropped, and answered with this ACK, if any.
    Repeated(Option<PlainAck>),
}

impl Flow {
    /// Processes data from the fixed host.
    pub(super) fn filter_data(&mut self, packet: &Packet, settings: &Settings) -> DataFate {
        let Some(tcp) = packet.tcp() else { return DataFate::Passes };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let last_ack = self.last_ack.filter(|last_ack| !end.after(last_ack.ack));
        let Some(last_ack) = last_ack.filter(|last_ack| self.is_needless(packet, tcp, last_ack.ack)) else {
            return self.pass_data(packet);
        };
        let times = self.repetitions.count(seq);
        if times > MAX_REPETITIONS {
            return DataFate::Persists;
        }
        let answer = if settings.duplicate_reports && self.seen.sack {
            // What the receiver itself would report: the sender does not count it as a duplicate
            // ACK, and learns that its retransmission was needless (RFC 2883, section 4).
            Some(last_ack.reporting(std::iter::once((seq, end))))
        } else {
            times.is_multiple_of(REPETITIONS_PER_ACK).then_some(last_ack)
        };
        DataFate::Repeated(answer)
    }

    /// Records the ACK and window in data that passes.
    pub(super) fn pass_data(&mut self, packet: &Packet) -> DataFate {
        self.advertised = packet.tcp().map_or(self.advertised, |tcp| self.advertised_with(tcp));
        DataFate::Passes
    }

    /// Whether a segment of acknowledged data carries no news for the mobile host: no news of the
    /// other direction, no flag, no option. An octet just below the expected number probes whether
    /// the host is alive (RFC 9293, section 3.8.4).
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
            && !self.advertised.is_none_or(is_news)
    }

    /// The last ACK and window sent to the mobile host, including this segment's.
    pub(super) fn advertised_with(&self, tcp: &Tcp) -> Option<(Seq, u16)> {
        if !tcp.flags.has(TcpFlags::ACK) || self.advertised.is_some_and(|(ack, _)| tcp.ack.before(ack)) {
            return self.advertised;
        }
        Some((tcp.ack, tcp.window))
    }
}
