//! Opening: what segments do before the connection is established (RFC 9293, sections 3.10.7.1 to
//! 3.10.7.3).

use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};

use super::ecn::Ecn;
use super::{Connection, Negotiated, Reset, State};

/// A peer that asks for less gets this much: otherwise it could have its data, and what is known of each
/// segment, multiplied (Linux `tcp_min_snd_mss`).
const SMALLEST_MSS: u32 = 48;

impl Connection {
    /// Answers a segment that belongs to no connection with a reset (RFC 9293, section 3.10.7.1).
    #[cold]
    pub(super) fn refuse(&mut self, packet: &Packet, tcp: &Tcp) {
        if tcp.flags.has(TcpFlags::RST) {
            return;
        }
        let to = (packet.ip().source, tcp.source_port);
        self.reset = Some(if tcp.flags.has(TcpFlags::ACK) {
            Reset { to, seq: tcp.ack, ack: None }
        } else {
            Reset { to, seq: Seq(0), ack: Some(tcp.seq + packet.segment_len()) }
        });
    }

    pub(super) fn on_segment_in_listen(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::ACK) {
            self.refuse(packet, tcp);
            return;
        }
        if !tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            return;
        }
        self.remote = (packet.ip().source, tcp.source_port);
        self.state = State::SynReceived;
        self.negotiate(tcp, Some(self.shift()), now);
    }

    pub(super) fn on_segment_in_syn_sent(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        let has_ack = tcp.flags.has(TcpFlags::ACK);
        let acknowledges = has_ack && self.is_syn_acknowledged_by(tcp.ack);
        if acknowledges && tcp.flags.has(TcpFlags::RST) {
            self.end_by_reset();
        } else if has_ack && !acknowledges {
            self.refuse(packet, tcp);
        }
        if has_ack != acknowledges || !tcp.flags.has(TcpFlags::SYN) || tcp.flags.has(TcpFlags::RST) {
            return;
        }
        if acknowledges {
            self.negotiate(tcp, self.offered_shift(), now);
            self.establish(tcp, now);
            self.receive.ack_now = true;
        } else {
            self.open_simultaneously(tcp, now);
        }
    }

    /// Both ends open (RFC 9293, section 3.5, figure 7): the peer's SYN crossed ours, which is
    /// answered by sending ours again with an acknowledgment.
    #[cold]
    fn open_simultaneously(&mut self, tcp: &Tcp, now: Instant) {
        self.negotiate(tcp, self.offered_shift(), now);
        self.state = State::SynReceived;
        self.flight.nxt = self.flight.una;
    }

    /// A SYN behind the one that was answered. In a simultaneous open the peer's second one
    /// acknowledges ours; otherwise our answer was lost.
    #[cold]
    pub(super) fn on_another_syn(&mut self, tcp: &Tcp, now: Instant) {
        if tcp.flags.has(TcpFlags::ACK)
            && tcp.seq + 1 == self.receive.next()
            && self.is_syn_acknowledged_by(tcp.ack)
        {
            self.establish(tcp, now);
            self.take_window(u32::from(tcp.window), tcp.seq);
            self.receive.ack_now = true;
        } else {
            self.flight.nxt = self.flight.una;
        }
    }

    /// Takes the options of the peer's SYN. `offered` is the shift of our windows that our SYN has,
    /// if it has one.
    pub(super) fn negotiate(&mut self, tcp: &Tcp, offered: Option<u8>, now: Instant) {
        let window = u32::from(self.receive.window_in_syn());
        self.receive.synchronize(tcp.seq, window);
        let options = &tcp.options;
        // Both must offer scaling for either to use it (RFC 7323, section 2.2), and whoever answers
        // an offer does, if only with a shift of 0. A shift above 14 counts as 14.
        let shifts = options.window_scale.map(|shift| shift.min(14)).zip(offered);
        if shifts.is_none() {
            self.receive.forgo_scaling();
        }
        let (peer_shift, our_shift) = shifts.unwrap_or_default();
        self.negotiated = Negotiated {
            peer_shift,
            our_shift,
            scaling: shifts.is_some(),
            timestamps: self.config.timestamps && options.timestamps.is_some(),
            sack: self.config.sack && options.sack_permitted,
        };
        self.ecn = self.agrees_on_ecn(tcp).then(Ecn::default);
        if let Some(timestamps) = options.timestamps {
            self.receive.note_timestamp(timestamps.value, tcp.seq, now);
        }
        //= RFC 9293, section 3.7.1: "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
        //= default send MSS of 536".
        let peer_mss = options.maximum_segment_size.map_or(536, u32::from).max(SMALLEST_MSS);
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        self.take_window(u32::from(tcp.window), tcp.seq);
        self.begin_transfer(self.config.mss.min(peer_mss));
    }

    /// Whether this number acknowledges our SYN, and that has left.
    pub(super) fn is_syn_acknowledged_by(&self, ack: Seq) -> bool {
        ack == self.iss + 1 && ack == self.flight.max
    }

    /// Our SYN is acknowledged.
    pub(super) fn establish(&mut self, tcp: &Tcp, now: Instant) {
        self.flight.una = tcp.ack;
        self.flight.nxt = self.flight.nxt.later(tcp.ack);
        self.timers.retransmit = None;
        self.rtt.on_ack(tcp.ack, now, &self.flight);
        self.state = State::Established;
        //= RFC 5681, section 3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly
        //= transmitted SYN MUST be one segment".
        if std::mem::take(&mut self.silence).expiries() > 0 {
            self.flight.cwnd = self.flight.mss;
        }
        self.begin_model();
    }
}
