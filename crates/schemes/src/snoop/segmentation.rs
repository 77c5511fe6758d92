//! Copies and parts of packets.

use lasthop_agent::counter::LOCAL_RETRANSMITS;
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side};
use lasthop_packet::{Packet, Seq, Tcp, TcpFlags};

/// Whether a copy of a segment may be sent, or the segment itself held and stamped. Not with urgent
/// data, whose pointer is relative to the segment, nor with unknown options: a signature or a
/// mapping in them would be wrong in a copy that is shorter or has another timestamp.
pub const fn is_repairable(tcp: &Tcp) -> bool {
    !tcp.flags.has(TcpFlags::URG) && tcp.options.unknown.is_none()
}

/// Cuts a segment that ends at `end` down to `[from, to)`. A result larger than a segment stays a
/// super-packet.
pub fn cut(packet: &mut Packet, from: Seq, to: Seq, end: Seq) {
    let Some(tcp) = packet.tcp_mut() else { return };
    let (front, back) = (from - tcp.seq, to - tcp.seq);
    if front > 0 {
        // CWR reports once that the sender has slowed down (RFC 3168, section 6.1.2); segmentation
        // sets it on the first segment.
        tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::CWR.0);
    }
    tcp.seq = from;
    if to != end {
        tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::FIN.0);
    }
    packet.set_payload(packet.payload().slice(front as usize, back as usize));
    let size = packet.segment_size();
    packet.set_segment_size(size.filter(|size| packet.payload().len() > usize::from(size.get())));
}

/// Splits the first `octets` off a super-packet, as a separate packet; `None` if they are not less
/// than the whole.
pub fn take_front(packet: &mut Packet, octets: u32) -> Option<Packet> {
    let seq = packet.tcp()?.seq;
    let end = seq + packet.segment_len();
    if octets == 0 || octets >= packet.payload().len() as u32 {
        return None;
    }
    let mut front = packet.clone();
    cut(&mut front, seq, seq + octets, end);
    cut(packet, seq + octets, end, end);
    Some(front)
}

/// Raises the TSval of a copy to the highest one sent to the receiver; otherwise it would fail PAWS
/// (RFC 7323, section 5.3).
pub fn stamp(packet: &mut Packet, highest: Seq) {
    let older = |tcp: &Tcp| tcp.options.timestamps.is_some_and(|own| Seq(own.value).before(highest));
    if packet.tcp().is_some_and(older)
        && let Some(tcp) = packet.tcp_mut()
        && let Some(timestamps) = &mut tcp.options.timestamps
    {
        timestamps.value = highest.0;
    }
}

/// Sends a copy to the receiver.
pub fn send_copy(copy: Packet, cause: Cause, cx: &mut Context<'_>) {
    if let Some(tcp) = copy.tcp() {
        cx.report(Report::new(&LOCAL_RETRANSMITS).at(tcp.seq).which(cause.name()));
    }
    cx.send(Side::Radio, copy);
}
