//! A connection: the state machine of RFC 9293, section 3.3.2, with its input, output and timers.

mod acknowledgment;
mod handshake;
mod input;
mod output;
mod receive;
mod resend;
mod timers;

use std::net::IpAddr;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Packet};
use lasthop_packet::{Ip, Payload, Seq, Tcp, TcpFlags};

use crate::config::Config;
use crate::congestion::CongestionControl;
use crate::extension::{ReceiverExtension, SenderExtension};
use crate::flight::Flight;
use crate::recovery::LossRecovery;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

pub(crate) use receive::ReceiveSide;
pub(crate) use timers::Timers;

/// An address and a port.
pub type Endpoint = (IpAddr, u16);

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the RFC's, and so is what they mean")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// What a connection has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, pure ACKs included.
    pub segments_sent: u64,
    /// Segments with data, SYN or FIN that were sent a second time or more often; window probes are
    /// none.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Those of them that a scheme spared the window.
    pub timeouts_spared: u64,
    /// Losses inferred without a time-out, by TCP, or on the third duplicate ACK by a scheme in its
    /// place.
    pub fast_retransmits: u64,
    /// Retransmissions that a scheme asked for on a control message.
    pub scheme_retransmits: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// ICMP messages that fitted the connection.
    pub icmp_accepted: u64,
    /// Octets acknowledged by the peer.
    pub octets_acknowledged: u64,
    /// Octets received in order.
    pub octets_received: u64,
}

/// A TCP connection.
///
/// Feed it packets ([`Self::on_segment`], [`Self::on_icmp`]) and the time ([`Self::on_deadline`]);
/// after each call take out what it sends ([`Self::poll_transmit`] until `None`), what arrived
/// ([`Self::read`]) and the next [`Self::deadline`].
pub struct Connection {
    config: Config,
    state: State,
    local: Endpoint,
    remote: Endpoint,
    negotiated: Negotiated,

    flight: Flight,
    buffer: SendBuffer,
    /// The application has closed: FIN follows the last octet of data.
    close_requested: bool,
    /// Initial send sequence number.
    iss: Seq,
    duplicate_acks: u32,
    /// SND.WL1: the number of the segment that told the peer's window last.
    window_told_at: Seq,
    /// Time-outs and window probes since the peer was heard from last.
    unanswered: u32,
    congestion: Box<dyn CongestionControl>,
    recovery: Box<dyn LossRecovery>,
    /// What recovery said last of whether it goes on: asked for with every packet, changed by few.
    is_recovering: bool,
    sender_extension: Option<Box<dyn SenderExtension>>,
    /// Segments to send again ahead of everything else.
    retransmit: Vec<Seq>,
    /// Recovery has just begun: new data waits for the next input.
    retransmission_goes_alone: bool,
    /// ACKs of new data for which congestion control is asked whether it suspects another loss.
    suspicious_acks: u32,

    receive: ReceiveSide,
    receiver_extension: Option<Box<dyn ReceiverExtension>>,
    rtt: RttEstimator,
    timers: Timers,
    /// A reset that has to go out.
    reset: Option<Reset>,
    /// A window probe that has to go out.
    probe_window: bool,
    identification: u16,
    stats: Stats,
}

/// What both sides agreed on in their SYNs.
#[derive(Clone, Copy, Debug, Default)]
struct Negotiated {
    /// Shift of the windows that we receive.
    peer_shift: u8,
    /// Shift of the windows that we send.
    our_shift: u8,
    /// Both SYNs had the window scale option.
    scaling: bool,
    timestamps: bool,
    sack: bool,
}

/// A reset for a segment that belongs to no connection, or the end of this one.
#[derive(Clone, Copy, Debug)]
struct Reset {
    to: Endpoint,
    seq: Seq,
    ack: Option<Seq>,
}

/// What is decided about a segment before it is written.
struct Segment {
    seq: Seq,
    flags: TcpFlags,
    payload: Payload,
    /// The reserved bits of its header.
    reserved_bits: u8,
}

impl Connection {
    /// A connection that opens actively: its SYN is the first thing to transmit.
    pub fn connect(config: Config, local: Endpoint, remote: Endpoint, iss: Seq) -> Self {
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::SynSent;
        connection
    }

    /// A connection that waits for a SYN from anybody; `local` is where.
    pub fn listen(config: Config, local: Endpoint, iss: Seq) -> Self {
        let nobody = (if local.0.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }, 0);
        let mut connection = Self::new(config, local, nobody, iss);
        connection.state = State::Listen;
        connection
    }

    /// A connection that is established already, as the thesis starts it: no handshake, and both
    /// sides know each other's options and initial window. Windows above 65,535 octets are scaled
    /// in either direction.
    pub fn established(
        config: Config,
        peer: &Config,
        local: Endpoint,
        remote: Endpoint,
        iss: Seq,
        irs: Seq,
    ) -> Self {
        let peer_window = output::tellable(peer.window);
        let negotiated = Negotiated {
            peer_shift: output::window_shift(peer.window),
            our_shift: output::window_shift(config.window),
            scaling: true,
            timestamps: config.timestamps && peer.timestamps,
            sack: config.sack && peer.sack,
        };
        let mss = config.mss.min(peer.mss);
        let window = output::tellable(config.window);
        let mut connection = Self::new(config, local, remote, iss);
        connection.state = State::Established;
        connection.negotiated = negotiated;
        connection.receive.synchronize(irs, window);
        connection.window_told_at = irs + 1;
        connection.flight.una = iss + 1;
        connection.flight.nxt = iss + 1;
        connection.flight.max = iss + 1;
        connection.flight.peer_window = peer_window;
        connection.begin_transfer(mss);
        connection
    }

    fn new(mut config: Config, local: Endpoint, remote: Endpoint, iss: Seq) -> Self {
        config.mss = config.mss.clamp(1, 65_495);
        config.window = config.window.max(1);
        let flight = Flight {
            una: iss,
            nxt: iss,
            max: iss,
            peer_window: 0,
            mss: config.mss,
            cwnd: config.mss,
            ssthresh: config.initial_ssthresh,
        };
        Self {
            state: State::Closed,
            local,
            remote,
            negotiated: Negotiated::default(),
            flight,
            buffer: SendBuffer::default(),
            close_requested: false,
            iss,
            duplicate_acks: 0,
            window_told_at: Seq(0),
            unanswered: 0,
            congestion: config.congestion.begin(),
            recovery: config.recovery.begin(false),
            is_recovering: false,
            sender_extension: None,
            retransmit: Vec::new(),
            retransmission_goes_alone: false,
            suspicious_acks: 0,
            receive: ReceiveSide::new(output::tellable(config.window), config.ack_policy),
            receiver_extension: None,
            rtt: RttEstimator::new(config.rto),
            timers: Timers::default(),
            reset: None,
            probe_window: false,
            identification: 0,
            stats: Stats::default(),
            config,
        }
    }

    /// With a scheme's part of the sender.
    #[must_use]
    pub fn with_sender_extension(mut self, extension: Option<Box<dyn SenderExtension>>) -> Self {
        self.sender_extension = extension;
        self
    }

    /// With a scheme's part of the receiver.
    #[must_use]
    pub fn with_receiver_extension(mut self, extension: Option<Box<dyn ReceiverExtension>>) -> Self {
        self.receiver_extension = extension;
        self
    }

    /// Both sides know each other's maximum segment size: sets what depends on it.
    fn begin_transfer(&mut self, mss: u32) {
        // RFC 6691: options come out of the segment's payload.
        self.flight.mss = if self.negotiated.timestamps { mss.saturating_sub(12).max(1) } else { mss.max(1) };
        self.receive.set_mss(self.flight.mss);
        self.recovery = self.config.recovery.begin(self.negotiated.sack);
        self.flight.cwnd = self.flight.mss.saturating_mul(self.config.initial_window.max(1));
    }

    /// Appends data to what is to be sent. Ignored once [`Self::close`] was called.
    pub fn write(&mut self, payload: Payload) {
        if !self.close_requested {
            self.buffer.push(payload);
        }
    }

    /// Appends `len` octets of simulated stream `stream` from `offset` on, however many.
    pub fn write_stream(&mut self, stream: u32, offset: u64, len: u64) {
        if !self.close_requested {
            self.buffer.push_stream(stream, offset, len);
        }
    }

    /// Takes back what was written and never sent: the application stopped producing it.
    pub fn discard_unsent(&mut self) {
        self.buffer.truncate(u64::from(self.flight.max - self.flight.una));
    }

    /// No more data will be written: FIN follows the last octet.
    pub fn close(&mut self) {
        self.close_requested = true;
        if matches!(self.state, State::Listen) {
            self.state = State::Closed;
        }
    }

    /// Ends the connection at once with a reset.
    pub fn abort(&mut self) {
        // RFC 9293, section 3.10.5: whoever has not heard of this connection needs no reset. The
        // number is behind all that was sent, even while what was sent is being sent again.
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            self.reset =
                Some(Reset { to: self.remote, seq: self.flight.max, ack: Some(self.receive.next()) });
        }
        self.enter_closed();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.retransmit.clear();
        self.probe_window = false;
        self.receive.ack_now = false;
    }

    /// The next piece of data that arrived in order.
    #[inline]
    pub fn read(&mut self) -> Option<Payload> {
        self.receive.read()
    }

    /// When [`Self::on_deadline`] is next due, and why.
    #[inline]
    pub fn deadline(&self) -> Option<Deadline> {
        self.timers.next()
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether the peer has closed its direction and everything before its FIN was received.
    pub const fn peer_has_closed(&self) -> bool {
        self.receive.fin_received()
    }

    /// Octets written and not acknowledged yet.
    pub const fn unacknowledged(&self) -> u64 {
        self.buffer.len()
    }

    /// The send variables.
    pub const fn flight(&self) -> &Flight {
        &self.flight
    }

    /// The round-trip time estimate.
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// What was done so far.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Our address and port.
    pub const fn local(&self) -> Endpoint {
        self.local
    }

    /// The peer's address and port; unspecified while listening.
    pub const fn remote(&self) -> Endpoint {
        self.remote
    }

    /// The initial send sequence number: data begins one after it.
    pub const fn iss(&self) -> Seq {
        self.iss
    }

    /// A segment with our addresses, ports, acknowledgment and window.
    #[inline]
    fn segment(&mut self, segment: Segment, now: Instant) -> Packet {
        let Segment { seq, flags, payload, reserved_bits } = segment;
        let tcp = self.header(seq, flags, now);
        let mut packet = self.packet(self.remote, tcp, payload);
        if reserved_bits != 0 {
            packet.set_tcp_reserved_bits(reserved_bits);
        }
        packet
    }

    #[inline]
    fn header(&mut self, seq: Seq, flags: TcpFlags, now: Instant) -> Tcp {
        let syn = flags.has(TcpFlags::SYN);
        Tcp {
            source_port: self.local.1,
            destination_port: self.remote.1,
            seq,
            ack: if flags.has(TcpFlags::ACK) { self.receive.next() } else { Seq(0) },
            flags,
            window: if syn {
                self.receive.window_in_syn()
            } else {
                self.receive.advertise(self.negotiated.our_shift)
            },
            urgent_pointer: 0,
            options: self.options(syn, now),
        }
    }

    #[inline]
    fn packet(&mut self, to: Endpoint, tcp: Tcp, payload: Payload) -> Packet {
        let ip = self.ip(to);
        self.identification = self.identification.wrapping_add(1);
        self.stats.segments_sent += 1;
        Packet::tcp_segment(ip, tcp, payload)
    }

    #[inline]
    const fn ip(&self, to: Endpoint) -> Ip {
        let mut ip = Ip::new(self.local.0, to.0);
        ip.identification = self.identification;
        ip
    }
}
