//! Processing of segments before the connection is established (RFC 9293, sections 3.10.7.1 to
//! 3.10.7.3).

use lasthop_packet::{Instant, Packet, Tcp, TcpFlags};

use super::{Connection, Ecn};
use crate::negotiation::{Negotiated, offered_shift, peer_mss, shift};
use crate::state::State;
use crate::stats::Refusal;

impl Connection {
    pub(super) fn on_segment_in_listen(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::RST) {
            self.refusals.count(Refusal::ResetOfNoSyn);
            return;
        }
        if tcp.flags.has(TcpFlags::ACK) {
            self.refuse_with_reset(Refusal::AckOfNoSyn, packet, tcp);
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) {
            self.refusals.count(Refusal::NoSyn);
            return;
        }
        self.ip.set_remote((packet.ip().source, tcp.source_port));
        self.state = State::SynReceived;
        self.negotiate(tcp, Some(shift(&self.config)), now);
    }

    pub(super) fn on_segment_in_syn_sent(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let has_ack = tcp.flags.has(TcpFlags::ACK);
        let acknowledges = has_ack && self.send.is_syn_acknowledged_by(tcp.ack);
        if tcp.flags.has(TcpFlags::RST) {
            if acknowledges {
                self.end_by_reset();
            } else {
                self.refusals.count(Refusal::ResetOfNoSyn);
            }
            return;
        }
        if has_ack && !acknowledges {
            self.refuse_with_reset(Refusal::AckOfNoSyn, packet, tcp);
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) {
            self.refusals.count(Refusal::NoSyn);
            return;
        }
        if acknowledges {
            self.negotiate(tcp, offered_shift(&self.config), now);
            self.establish(tcp, now);
            self.receive.owe_ack_now();
        } else {
            self.open_simultaneously(tcp, now);
        }
    }

    /// A simultaneous open (RFC 9293, section 3.5, figure 7): our SYN is sent again with an
    /// acknowledgment.
    #[cold]
    fn open_simultaneously(&mut self, tcp: &Tcp, now: Instant) {
        self.negotiate(tcp, offered_shift(&self.config), now);
        self.state = State::SynReceived;
        self.send.repeat_syn();
    }

    /// Another SYN after the one that was answered. In a simultaneous open, it acknowledges ours; otherwise
    /// our answer was lost.
    #[cold]
    pub(super) fn on_another_syn(&mut self, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::ACK)
            && tcp.seq + 1 == self.receive.next()
            && self.send.is_syn_acknowledged_by(tcp.ack)
        {
            self.establish(tcp, now);
            self.send.set_peer_window(u32::from(tcp.window), tcp.seq);
            self.receive.owe_ack_now();
        } else {
            self.send.repeat_syn();
        }
    }

    /// Negotiates the options of the peer's SYN. `offered` is the window shift in our SYN, if any.
    pub(super) fn negotiate(&mut self, tcp: &Tcp, offered: Option<u8>, now: Instant) {
        let window = u32::from(self.receive.window_in_syn());
        self.receive.synchronize(tcp.seq, window);
        let options = &tcp.options;
        self.negotiated = Negotiated::from_syn(&self.config, options, offered);
        if !self.negotiated.scaling {
            self.receive.forgo_scaling();
        }
        self.ecn = Ecn::negotiated(self.config.ecn, tcp);
        if let Some(timestamps) = options.timestamps {
            self.receive.record_timestamp(timestamps.value, tcp.seq, now);
        }
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        self.send.set_peer_window(u32::from(tcp.window), tcp.seq);
        self.begin_transfer(self.config.mss.min(peer_mss(options)));
    }

    /// Our SYN is acknowledged.
    pub(super) fn establish(&mut self, tcp: &Tcp, now: Instant) {
        self.send.establish(tcp.ack, now);
        self.state = State::Established;
    }
}
