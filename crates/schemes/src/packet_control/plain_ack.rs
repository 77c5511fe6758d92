//! An ACK without data, as few octets.

use lasthop_packet::{FlowKey, Ip, Packet, Payload, SackBlocks, Seq, Tcp, TcpFlags, Timestamps};

/// What the mobile host has said in an ACK, to say it later, or again. It says nothing that the
/// mobile host has not said itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainAck {
    /// The number of what the mobile host sends next.
    pub(super) seq: Seq,
    /// The acknowledgment number.
    pub(super) ack: Seq,
    /// The window, unscaled.
    pub(super) window: u16,
    timestamps: Option<Timestamps>,
    traffic_class: u8,
    /// What it reports in SACK blocks.
    sack: SackBlocks,
}

impl PlainAck {
    /// What a packet says as an ACK, without its SACK blocks.
    pub(super) fn of(packet: &Packet, tcp: &Tcp) -> Self {
        Self {
            seq: tcp.seq + packet.segment_len(),
            ack: tcp.ack,
            window: tcp.window,
            timestamps: tcp.options.timestamps,
            traffic_class: packet.ip().traffic_class,
            sack: SackBlocks::NONE,
        }
    }

    /// The same with these SACK blocks.
    pub(super) fn reporting(self, blocks: impl Iterator<Item = (Seq, Seq)>) -> Self {
        let mut sack = SackBlocks::NONE;
        for (left, right) in blocks {
            sack.push(left, right);
        }
        Self { sack, ..self }
    }

    /// The same after another: numbers and timestamps never go back, or the sender would not accept it
    /// (RFC 9293, section 3.10.7.4; RFC 7323, section 5).
    pub(super) fn after(self, before: Self) -> Self {
        let is_older = |(now, then): (Timestamps, Timestamps)| Seq(now.value).before(Seq(then.value));
        let timestamps = match self.timestamps.zip(before.timestamps) {
            Some(both) if is_older(both) => before.timestamps,
            _ => self.timestamps,
        };
        Self { seq: self.seq.later(before.seq), timestamps, ..self }
    }

    /// As a packet. `connection` is the direction towards the mobile host.
    pub(super) fn packet(&self, connection: FlowKey) -> Packet {
        let mut ip = Ip::new(connection.destination.0, connection.source.0);
        ip.traffic_class = self.traffic_class;
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
}
