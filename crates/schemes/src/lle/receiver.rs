//! The state of a receiver, to send ACKs in its name.

use lasthop_packet::{FlowKey, Ip, Packet, Payload, Seq, Tcp, TcpFlags, Timestamps};
use serde::{Deserialize, Serialize};

/// The host on the radio side, by its own packets.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Receiver {
    /// The sequence number that it sends next.
    pub(super) next: Seq,
    /// Its latest TSval. Never a generated one: a later one of its own would fail PAWS (RFC 7323,
    /// section 5).
    value: Option<u32>,
    /// Its last advertised window, in octets.
    pub(super) window: u32,
    /// The right edge of its windows: all that it has ever allowed.
    pub(super) edge: Option<Seq>,
    is_known: bool,
}

impl Receiver {
    /// Processes a packet from the host. `shift` scales its window (RFC 7323, section 2.3; a SYN's
    /// is never scaled). Returns whether its window has changed.
    pub(super) fn on_packet(&mut self, packet: &Packet, shift: u8) -> bool {
        let Some(tcp) = packet.tcp() else { return false };
        let end = tcp.seq + packet.segment_len();
        self.next = if self.is_known { self.next.later(end) } else { end };
        self.is_known = true;
        if let Some(Timestamps { value, .. }) = tcp.options.timestamps {
            let is_later = self.value.is_none_or(|known| !Seq(value).before(Seq(known)));
            self.value = if is_later { Some(value) } else { self.value };
        }
        let shift = if tcp.flags.has(TcpFlags::SYN) { 0 } else { shift };
        let window = u32::from(tcp.window) << shift;
        let is_news = window != self.window;
        self.window = window;
        if tcp.flags.has(TcpFlags::ACK) {
            self.allow(tcp.ack + window);
        }
        is_news
    }

    /// Records that it allows all data before `edge`. A window never shrinks from the right (RFC
    /// 9293, section 3.8.6).
    pub(super) fn allow(&mut self, edge: Seq) {
        self.edge = Some(self.edge.map_or(edge, |known| known.later(edge)));
    }

    /// The rest of its window above `ack`, in octets.
    pub(super) fn left_above(&self, ack: Seq) -> u32 {
        self.edge.filter(|edge| edge.after(ack)).map_or(0, |edge| edge - ack)
    }

    /// An ACK in its name. `connection` is the direction towards it, `echo` the TSval that it would
    /// echo, `window` the value of the field.
    pub(super) fn ack(&self, connection: FlowKey, ack: Seq, echo: Option<u32>, window: u16) -> Packet {
        let mut tcp = Tcp {
            source_port: connection.destination.1,
            destination_port: connection.source.1,
            seq: self.next,
            ack,
            flags: TcpFlags::ACK,
            window,
            ..Tcp::default()
        };
        tcp.options.timestamps =
            self.value.zip(echo).map(|(value, echo_reply)| Timestamps { value, echo_reply });
        Packet::tcp_segment(Ip::new(connection.destination.0, connection.source.0), tcp, Payload::EMPTY)
    }
}
