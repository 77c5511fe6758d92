//! Pure ACKs. An agent may withhold them from a sender and send them later itself.

use lasthop_agent::ImportError;
use lasthop_packet::{
    FlowKey, Ip, Packet, PacketRecord, Payload, SackBlocks, Seq, Tcp, TcpFlags, Timestamps,
};

/// An ACK of the mobile host, to be sent later or again. It carries nothing that the mobile host
/// has not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainAck {
    /// The mobile host's next sequence number.
    pub seq: Seq,
    /// The acknowledgment number.
    pub ack: Seq,
    /// The window, unscaled.
    pub window: u16,
    timestamps: Option<Timestamps>,
    /// The DSCP, without the ECN field, which belongs to the packet: an ACK without data has none
    /// (RFC 3168, section 6.1.4).
    dscp: u8,
    /// The mobile host's hop limit: the sender may refuse an ACK with a smaller one (RFC 5082).
    hop_limit: u8,
    /// The SACK blocks.
    sack: SackBlocks,
}

impl PlainAck {
    /// The ACK in a packet, without its SACK blocks.
    pub fn from_packet(packet: &Packet, tcp: &Tcp) -> Self {
        Self {
            seq: tcp.seq + packet.segment_len(),
            ack: tcp.ack,
            window: tcp.window,
            timestamps: tcp.options.timestamps,
            dscp: packet.ip().dscp(),
            hop_limit: packet.ip().hop_limit,
            sack: SackBlocks::NONE,
        }
    }

    /// The same with these SACK blocks.
    #[must_use]
    pub fn reporting(self, blocks: impl Iterator<Item = (Seq, Seq)>) -> Self {
        let mut sack = SackBlocks::NONE;
        for (left, right) in blocks {
            sack.push(left, right);
        }
        Self { sack, ..self }
    }

    /// The ACK to send after an earlier one with this acknowledgment number or a lower one.
    /// Sequence numbers and timestamps never decrease, or the sender would refuse the ACK (RFC
    /// 9293, section 3.10.7.4; RFC 7323, section 5). If the numbers are equal and this ACK was sent
    /// first and arrived late, the earlier window also stays (the same sections: SND.WL1). With a
    /// higher acknowledgment number the window is the one that came with it, even in a
    /// retransmission, whose sequence number is lower.
    #[must_use]
    pub fn after(self, before: Self) -> Self {
        let is_older = |(now, then): (Timestamps, Timestamps)| Seq(now.value).before(Seq(then.value));
        let is_late = self.timestamps.zip(before.timestamps).is_some_and(is_older);
        let timestamps = if is_late { before.timestamps } else { self.timestamps };
        let is_old = self.ack == before.ack && (is_late || self.seq.before(before.seq));
        let window = if is_old { before.window } else { self.window };
        Self { seq: self.seq.later(before.seq), window, timestamps, ..self }
    }

    /// The ACK as a packet. `connection` is the direction towards the mobile host.
    pub fn packet(&self, connection: FlowKey) -> Packet {
        let mut ip = Ip::new(connection.destination.0, connection.source.0);
        (ip.traffic_class, ip.hop_limit) = (self.dscp << 2, self.hop_limit);
        let mut tcp = Tcp {
            source_port: connection.destination.1,
            destination_port: connection.source.1,
            seq: self.seq,
            ack: self.ack,
            flags: TcpFlags::ACK,
            window: self.window,
            ..Tcp::default()
        };
        tcp.options.timestamps = self.timestamps;
        tcp.options.sack = self.sack;
        Packet::tcp_segment(ip, tcp, Payload::EMPTY)
    }

    /// The ACK as a value; see [`Self::import`].
    pub fn export(&self, connection: FlowKey) -> PacketRecord {
        PacketRecord::from(&self.packet(connection))
    }

    /// Reads an exported ACK of the mobile host.
    pub fn import(record: PacketRecord, connection: FlowKey) -> Result<Self, ImportError> {
        let packet = Packet::try_from(record).map_err(|_| ImportError::Malformed("an ACK does not parse"))?;
        match packet.tcp() {
            Some(tcp)
                if packet.flow_key() == Some(connection.reversed())
                    && tcp.flags == TcpFlags::ACK
                    && packet.payload().is_empty() =>
            {
                Ok(Self::from_packet(&packet, tcp))
            }
            _ => Err(ImportError::Malformed("an ACK does not belong to the connection")),
        }
    }
}

/// Whether a segment is a pure ACK: no data, no other flag, no unknown option.
pub fn is_plain(packet: &Packet, tcp: &Tcp) -> bool {
    packet.payload().is_empty()
        && tcp.flags == TcpFlags::ACK
        && packet.tcp_reserved_bits() == 0
        && tcp.options.unknown.is_none()
}

#[cfg(test)]
mod tests {
    use lasthop_packet::Ecn;

    use super::*;

    fn ack(seq: u32, ack: u32, window: u16) -> PlainAck {
        let sack = SackBlocks::NONE;
        PlainAck { seq: Seq(seq), ack: Seq(ack), window, timestamps: None, dscp: 0, hop_limit: 64, sack }
    }

    #[test]
    fn the_window_of_a_late_ack_does_not_count() {
        let next = ack(10, 1, 500).after(ack(20, 1, 900));
        assert_eq!((next.seq, next.window), (Seq(20), 900));
    }

    #[test]
    fn a_higher_ack_keeps_its_window_even_in_a_retransmission() {
        let next = ack(10, 2, 500).after(ack(20, 1, 900));
        assert_eq!((next.seq, next.ack, next.window), (Seq(20), Seq(2), 500));
    }

    #[test]
    fn an_ack_made_from_data_keeps_dscp_and_hop_limit_but_not_the_ecn_field() {
        let key = FlowKey::tcp(([192, 0, 2, 1].into(), 80), ([10, 0, 0, 1].into(), 5000));
        let mut ip = Ip::new(key.destination.0, key.source.0);
        (ip.traffic_class, ip.hop_limit) = (46 << 2 | Ecn::Ect0 as u8, 255);
        let tcp = Tcp { flags: TcpFlags::ACK, ..Tcp::default() };
        let data = Packet::tcp_segment(ip, tcp.clone(), Payload::Stream { stream: 0, offset: 0, len: 100 });
        let made = PlainAck::from_packet(&data, &tcp).packet(key);
        assert_eq!((made.ip().ecn(), made.ip().dscp(), made.ip().hop_limit), (Ecn::NotEct, 46, 255));
    }
}
