//! What a SYN says of the connection that it opens.

use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};

/// Whether a segment is a SYN, or the answer to one. What would end the connection as well is neither,
/// and no host opens one for it (RFC 9293, section 3.10.7).
pub(crate) const fn is_syn(tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::RST) && !tcp.flags.has(TcpFlags::FIN)
}

/// The initial sequence number in a segment that opens a connection: a SYN without ACK. A copy of it
/// has the same, and that of another connection on the same ports does not.
pub(crate) fn opening(packet: &Packet) -> Option<Seq> {
    packet.tcp().filter(|tcp| is_syn(tcp) && !tcp.flags.has(TcpFlags::ACK)).map(|tcp| tcp.seq)
}

/// Whether a segment is a SYN-ACK that answers the SYN with this initial sequence number. One that
/// acknowledges anything else is of no handshake that was seen (RFC 9293, section 3.10.7.3).
pub(crate) fn answers(packet: &Packet, opened_by: Option<Seq>) -> bool {
    is_syn_ack(packet) && packet.tcp().zip(opened_by).is_some_and(|(tcp, seq)| tcp.ack == seq + 1)
}

/// Whether a segment is a SYN-ACK.
pub(crate) fn is_syn_ack(packet: &Packet) -> bool {
    packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN) && tcp.flags.has(TcpFlags::ACK))
}

/// Whether a SYN permits SACK blocks (RFC 2018, section 2).
pub(crate) fn permits_sack(syn: &Packet) -> bool {
    syn.tcp().is_some_and(|tcp| tcp.options.sack_permitted)
}
