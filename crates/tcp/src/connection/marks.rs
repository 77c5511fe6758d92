//! Explicit congestion notification at the endpoints (RFC 3168, section 6.1).
//!
//! Chosen where the RFC leaves it open: the sender reacts once for all marks on what was sent before
//! its reduction, and a loss in the same window counts as that reaction. A SYN that was lost goes
//! again without ECN (section 6.1.1.1).

use lasthop_packet::{Ecn as Codepoint, Instant, Packet, Tcp, TcpFlags};

use super::{Connection, State};

impl Connection {
    /// The flags of a SYN with which ECN is offered, or of one that accepts it.
    pub(super) const fn ecn_of_syn(&self) -> TcpFlags {
        match self.state {
            State::SynReceived if self.ecn.is_some() => TcpFlags::ECE,
            //= RFC 3168, section 6.1.1.1: a SYN that was not answered goes again without ECN.
            State::SynSent if self.config.ecn && self.silence.expiries() == 0 => {
                TcpFlags::ECE.with(TcpFlags::CWR)
            }
            _ => TcpFlags(0),
        }
    }

    /// Whether the peer's SYN offers ECN, or accepts it.
    //= RFC 3168, section 6.1.1: an ECN-setup SYN has ECE and CWR, an ECN-setup SYN-ACK ECE alone.
    pub(super) const fn agrees_on_ecn(&self, tcp: &Tcp) -> bool {
        let (ece, cwr) = (tcp.flags.has(TcpFlags::ECE), tcp.flags.has(TcpFlags::CWR));
        self.config.ecn && ece && cwr != tcp.flags.has(TcpFlags::ACK)
    }

    /// Reads the marks of a segment that is acceptable, ahead of everything else.
    #[inline(never)]
    pub(super) fn read_marks(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let Some(ecn) = &mut self.ecn else { return };
        if !packet.payload().is_empty() {
            //= RFC 3168, section 6.1.3: ECE is set in all ACKs until a segment with CWR comes; a mark on that very segment starts it again.
            if tcp.flags.has(TcpFlags::CWR) {
                ecn.is_echoing = false;
            }
            if packet.ip().ecn() == Codepoint::Ce {
                ecn.is_echoing = true;
            }
        }
        ecn.is_echoed = tcp.flags.has(TcpFlags::ECE);
        // It is forgotten when it is acknowledged: later, sequence numbers wrap.
        ecn.reduced_at = ecn.reduced_at.filter(|reduced| !tcp.ack.after(*reduced));
        let is_news = ecn.reduced_at.is_none() && !tcp.ack.before(self.flight.una);
        //= RFC 3168, section 6.1.2: not more than once for each window of data.
        if ecn.is_echoed && is_news && self.flight.max != self.flight.una {
            ecn.reduced_at = Some(self.flight.max);
            ecn.owes_notice = true;
            self.stats.congestion_echoes += 1;
            self.ask_recovery(now, |recovery, sender| recovery.on_congestion_mark(sender));
        }
    }

    /// What a segment that is about to leave says of marks, and whether routers may mark it: new
    /// data alone (RFC 3168, sections 6.1.4 and 6.1.5).
    pub(super) fn write_marks(&mut self, mut flags: TcpFlags, is_new_data: bool) -> (Codepoint, TcpFlags) {
        let Some(ecn) = self.ecn.as_mut().filter(|_| !flags.has(TcpFlags::SYN)) else {
            return (Codepoint::NotEct, flags);
        };
        if ecn.is_echoing {
            flags = flags.with(TcpFlags::ECE);
        }
        if !is_new_data {
            return (Codepoint::NotEct, flags);
        }
        if std::mem::take(&mut ecn.owes_notice) {
            flags = flags.with(TcpFlags::CWR);
        }
        (Codepoint::Ect0, flags)
    }
}
