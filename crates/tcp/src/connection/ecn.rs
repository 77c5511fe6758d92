//! Explicit congestion notification at the endpoints (RFC 3168, section 6.1).
//!
//! Chosen where the RFC leaves it open: the sender reacts once for all marks on what was sent before
//! its reduction, and a loss in the same window counts as that reaction. A SYN that was lost goes
//! again without ECN (section 6.1.1.1).

use lasthop_packet::{Ecn as Codepoint, Packet, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

use crate::flight::Flight;

/// The flags of a SYN that offers ECN. One that accepts it has ECE alone.
pub(super) const OFFER: TcpFlags = TcpFlags::ECE.with(TcpFlags::CWR);

/// What an end remembers of marks, where the peers agreed on ECN.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ecn {
    /// A mark came in: every ACK echoes it until the peer says that its window is reduced.
    is_echoing: bool,
    /// Our window was reduced: the next new segment says so.
    owes_notice: bool,
    /// What was sent before this was sent before the last reduction.
    reduced_at: Option<Seq>,
    /// The latest ACK that counts echoes a mark.
    is_echoed: bool,
}

impl Ecn {
    /// If we offer ECN, and the peer's SYN offers or accepts it.
    //= RFC 3168, section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
    pub(super) fn negotiated(we_offer: bool, syn: &Tcp) -> Option<Self> {
        let (ece, cwr) = (syn.flags.has(TcpFlags::ECE), syn.flags.has(TcpFlags::CWR));
        (we_offer && ece && cwr != syn.flags.has(TcpFlags::ACK)).then(Self::default)
    }

    /// Reads the marks of a segment that is acceptable, ahead of everything else. Returns whether the window
    /// is to be reduced.
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
        // It is forgotten when it is acknowledged: later, sequence numbers wrap.
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

    /// Whether the latest ACK that counts echoes a mark.
    pub(super) const fn is_echoed(&self) -> bool {
        self.is_echoed
    }

    /// What a segment that is about to leave says of marks, and whether routers may mark it: new
    /// data alone (RFC 3168, sections 6.1.4 and 6.1.5).
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
