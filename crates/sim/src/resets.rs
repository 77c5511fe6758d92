//! Resets that no endpoint of their connection has made.

use lasthop_packet::{Instant, Ip, Packet, Payload, Seq, Tcp, TcpFlags};
use lasthop_tcp::connection::Socket;
use lasthop_tcp::{Config, Connection};

/// A host's answer to a segment that is for none of its connections (RFC 9293, section 3.10.7.1):
/// nothing if it is a reset.
pub(crate) fn in_answer_to(packet: &Packet, now: Instant) -> Option<Packet> {
    let tcp = packet.tcp()?;
    let mut gone =
        Connection::listen(Config::default(), (packet.ip().destination, tcp.destination_port), Seq(0));
    gone.close();
    gone.on_segment(packet, now);
    gone.poll_transmit(now)
}

/// A reset with this sequence number and, for an end that has received nothing yet, with an
/// acknowledgment.
pub(crate) fn between(from: Socket, to: Socket, seq: Seq, ack: Option<Seq>) -> Packet {
    let flags = if ack.is_some() { TcpFlags::RST.with(TcpFlags::ACK) } else { TcpFlags::RST };
    let tcp = Tcp {
        source_port: from.1,
        destination_port: to.1,
        seq,
        ack: ack.unwrap_or_default(),
        flags,
        ..Tcp::default()
    };
    Packet::tcp_segment(Ip::new(from.0, to.0), tcp, Payload::EMPTY)
}
