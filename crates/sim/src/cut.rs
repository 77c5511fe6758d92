//! Which TCP connections a link resets or refuses; a connection as a link sees it: what is needed to reset it
//! at both ends.

use std::time::Duration;

use lasthop_packet::{FlowKey, Instant, Packet, Seq, Tcp, TcpFlags};

use crate::id::NodeId;
use crate::resets;

/// The TCP connections that a link cuts. A connection is reset at both ends; one that opens is refused, as
/// by a closed port. Segments in fragments, behind IP options or behind IPv6 extension headers pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// None.
    #[default]
    None,
    /// Those that stand at this moment. The previous setting stays in force.
    Standing,
    /// Those that open while this holds; those that stand pass.
    Opening,
    /// Each, this long after its first segment has been sent into the link.
    AfterTime(Duration),
    /// Each, once one of its ends has received this many octets of payload in order. The segment that
    /// completes them arrives.
    AfterOctets(u64),
}

/// A connection whose segments pass a link. Its end 0 is the source of its key.
#[derive(Debug)]
pub(crate) struct Passing {
    /// When its first segment was sent into the link.
    since: Instant,
    /// The end of the link, 0 or 1, by which the segments of its end 0 come in.
    side: usize,
    ends: [End; 2],
    /// The link has reset it.
    is_cut: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// The number of its SYN.
    iss: Option<Seq>,
    /// The sequence number after the last octet that it has sent.
    sent: Option<Seq>,
    /// The sequence number that it expects next: the one that it has acknowledged, or that follows what the link
    /// has delivered in order since.
    expects: Option<Seq>,
    /// The other end's FIN has come to it.
    has_got_all: bool,
    /// Octets that it has received in order since the link first saw the connection.
    got: u64,
    /// Where packets to it go, once the other end has sent some.
    node: Option<NodeId>,
}

/// The key of the connection that a packet is of, the same for both directions, with the end that sends
/// the packet and its TCP header.
pub(crate) fn connection_of(packet: &Packet) -> Option<(FlowKey, usize, &Tcp)> {
    let tcp = packet.tcp()?;
    let key =
        FlowKey::tcp((packet.ip().source, tcp.source_port), (packet.ip().destination, tcp.destination_port));
    let is_reversed = key.source > key.destination;
    Some((if is_reversed { key.reversed() } else { key }, usize::from(is_reversed), tcp))
}

/// Whether a segment is the first of a connection.
pub(crate) const fn opens(tcp: &Tcp) -> bool {
    tcp.flags.has(TcpFlags::SYN) && !tcp.flags.has(TcpFlags::ACK) && !tcp.flags.has(TcpFlags::RST)
}

impl Passing {
    /// One whose first segment is sent into the link at its end `at`, by the end `from`.
    pub(crate) fn new(now: Instant, at: usize, from: usize, tcp: &Tcp) -> Self {
        let mut ends = [End::default(); 2];
        if !tcp.flags.has(TcpFlags::SYN) {
            // It has stood for a time: the other end has most likely got what came before.
            ends[1 - from].expects = Some(tcp.seq);
        }
        Self { since: now, side: at ^ from, ends, is_cut: false }
    }

    /// When its first segment was sent into the link.
    pub(crate) const fn since(&self) -> Instant {
        self.since
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether a first segment, which the end `from` sends, is that of another connection between the same
    /// ports, and not this one's again.
    pub(crate) fn is_followed_by(&self, from: usize, syn: &Tcp) -> bool {
        let End { iss, sent, .. } = self.ends[from];
        sent.is_some() && iss != Some(syn.seq)
    }

    /// Where packets to an end go, if that is known.
    pub(crate) fn node(&self, end: usize) -> Option<NodeId> {
        self.ends[end].node
    }

    /// The end `from` sends a segment into the link, which goes to `destination`.
    pub(crate) fn record_sent(&mut self, from: usize, packet: &Packet, tcp: &Tcp, destination: NodeId) {
        let end = tcp.seq + packet.segment_len();
        self.ends[1 - from].node = Some(destination);
        let of_other = self.ends[1 - from].sent;
        let of = &mut self.ends[from];
        if tcp.flags.has(TcpFlags::SYN) {
            of.iss = Some(tcp.seq);
        }
        // A reset may have any number.
        if !tcp.flags.has(TcpFlags::RST) {
            of.sent = Some(of.sent.map_or(end, |sent| sent.later(end)));
        }
        // Nor is an acknowledgment of what was never sent believed.
        if tcp.flags.has(TcpFlags::ACK) && of_other.is_none_or(|sent| !tcp.ack.after(sent)) {
            of.advance(tcp.ack, 0);
        }
    }

    /// The link delivers a segment to the end `to`. Returns whether it ends the connection.
    pub(crate) fn record_delivered(&mut self, to: usize, packet: &Packet, tcp: &Tcp) -> bool {
        let of = &mut self.ends[to];
        if tcp.flags.has(TcpFlags::RST) {
            // RFC 5961, section 3.2: no other number resets an end.
            return of.expects.is_none_or(|expects| expects == tcp.seq);
        }
        let (end, has_fin) = (tcp.seq + packet.segment_len(), tcp.flags.has(TcpFlags::FIN));
        if of.expects.is_none_or(|expects| !tcp.seq.after(expects)) {
            of.advance(end, u32::from(has_fin));
            of.has_got_all |= has_fin;
        }
        self.ends.iter().all(|end| end.has_got_all)
    }

    /// Octets of payload that an end has received in order; the larger number of the two ends.
    pub(crate) fn got(&self) -> u64 {
        self.ends.iter().map(|end| end.got).max().unwrap_or(0)
    }

    /// Resets it. Returns the resets for its ends, each with the end of the link, 0 or 1, at which it is to
    /// come out, and the node that it goes to, if that is known. An end that has neither sent nor got anything
    /// knows nothing of the connection.
    pub(crate) fn cut(&mut self, key: FlowKey) -> [Option<(usize, Option<NodeId>, Packet)>; 2] {
        self.is_cut = true;
        [(0, key.destination, key.source), (1, key.source, key.destination)].map(|(to, from, end)| {
            // RFC 5961, section 3.2: only what the end expects next resets it at once. If it has got more
            // meanwhile, its acknowledgment of that is answered. Before it has heard of the other end, the
            // acknowledgment of its SYN decides (RFC 9293, section 3.10.7.3).
            let (seq, ack) = match self.ends[to] {
                End { expects: Some(expects), .. } => (expects, None),
                End { expects: None, sent: Some(sent), .. } => (Seq(0), Some(sent)),
                End { expects: None, sent: None, .. } => return None,
            };
            Some((self.side ^ to, self.ends[to].node, resets::between(from, end, seq, ack)))
        })
    }
}

impl End {
    /// The end has everything before `next`, of which the last `beside` numbers stand for no octets.
    fn advance(&mut self, next: Seq, beside: u32) {
        match self.expects {
            Some(expects) if !next.after(expects) => return,
            Some(expects) => self.got += u64::from((next - expects).saturating_sub(beside)),
            None => {}
        }
        self.expects = Some(next);
    }
}
