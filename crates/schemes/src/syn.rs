//! What a SYN says of the connection that it opens.

use lasthop_packet::{Packet, Seq, TcpFlags};

/// The initial sequence number in a segment that opens a connection: a SYN without ACK. A copy of it
/// has the same, and that of another connection on the same ports does not.
pub(crate) fn opening(packet: &Packet) -> Option<Seq> {
    let opens = |flags: TcpFlags| flags.has(TcpFlags::SYN) && !flags.has(TcpFlags::ACK);
    packet.tcp().filter(|tcp| opens(tcp.flags)).map(|tcp| tcp.seq)
}

/// Whether a SYN permits SACK blocks (RFC 2018, section 2).
pub(crate) fn permits_sack(syn: &Packet) -> bool {
    syn.tcp().is_some_and(|tcp| tcp.options.sack_permitted)
}
