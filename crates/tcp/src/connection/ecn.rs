//! Explicit congestion notification at the endpoints (RFC 3168, section 6.1).
//!
//! Where the RFC leaves it open, we chose: the sender reacts once to all marks on data sent before its
//! reduction, and a loss in the same window counts as that reaction. A lost SYN is retransmitted without
//! ECN (section 6.1.1.1).

use lasthop_packet::{Ecn as Codepoint, Packet, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

use crate::flight::Flight;

/// The flags of a SYN that offers ECN; a SYN-ACK that accepts it has only ECE.
pub(super) const OFFER: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// The state of ECN, if it was negotiated.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ecn {
    /// A mark was received: every ACK echoes it until the peer reports that it has reduced its window.
    is_echoing: bool,
    /// Our window was reduced: the next new segment reports it.
    owes_notice: bool,
    /// SND.MAX at the last reduction.
    reduced_at: Option<Seq>,
    /// The latest valid ACK echoes a mark.
    is_echoed: bool,
}

impl Ecn {
    /// The initial state, if we offer ECN and the peer's SYN offers or accepts it.
    //= RFC 3168, section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
    pub(super) fn negotiated(we_offer: bool, syn: &Tcp) -> Option<Self> {
        let (ece, cwr) = (syn.flags.has(TcpFlags::ECE), syn.flags.has(TcpFlags::CWR));
        (we_offer && ece && cwr != syn.flags.has(TcpFlags::ACK)).then(Self::default)
    }

    /// Processes the marks of an acceptable segment, before everything else. Returns whether the window must
    /// be reduced.
    #[inline(never)]
    pub(super) fn read(&mut self, packet: &Packet, tcp: &Tcp, flight: &Flight) -> bool {
        if !packet.payload().is_empty() {
            //= RFC 3168, section 6.1.3: ECE is set in all ACKs until a segment with CWR comes; a mark on that very segment starts it again.
            if tcp.flags.has(TcpFlags::CWR) {
                self.is_echoing = false;
            }
            if packet.ip().ecn() == Codepoint::Ce {
                self.is_echoing = true;
            }
        }
        self.is_echoed = tcp.flags.has(TcpFlags::ECE);
        // Kept only until it is acknowledged, because sequence numbers wrap.
        self.reduced_at = self.reduced_at.filter(|reduced| !tcp.ack.after(*reduced));
        let is_news = self.reduced_at.is_none() && !tcp.ack.before(flight.una);
        //= RFC 3168, section 6.1.2: not more than once for each window of data.
        let reduces = self.is_echoed && is_news && flight.max != flight.una;
        if reduces {
            self.reduced_at = Some(flight.max);
            self.owes_notice = true;
        }
        reduces
    }

    /// Whether the latest valid ACK echoes a mark.
    pub(super) const fn is_echoed(&self) -> bool {
        self.is_echoed
    }

    /// The codepoint and the flags of a segment that is about to be sent. Routers may mark only new data
    /// (RFC 3168, sections 6.1.4 and 6.1.5).
    pub(super) fn write(&mut self, mut flags: TcpFlags, is_new_data: bool) -> (Codepoint, TcpFlags) {
        if flags.has(TcpFlags::SYN) {
            return (Codepoint::NotEct, flags);
        }
        if self.is_echoing {
            flags = flags.with(TcpFlags::ECE);
        }
        if !is_new_data {
            return (Codepoint::NotEct, flags);
        }
        if std::mem::take(&mut self.owes_notice) {
            flags = flags.with(TcpFlags::CWR);
        }
        (Codepoint::Ect0, flags)
    }
}
