//! A connection: the state machine of RFC 9293, section 3.3.2, with its input, output and timers.

mod acknowledgment;
mod adopt;
mod ecn;
mod expiry;
mod glance;
mod handshake;
mod input;
mod marks;
mod modelling;
mod offload;
mod open;
mod output;
mod pacer;
mod pacing;
mod path_mtu;
mod receive;
mod recovering;
mod resend;
mod segment;
mod silence;
mod smaller_segments;
mod snapshot;
mod state;
mod stats;
mod super_packet;
mod timers;
mod timestamp_clock;
mod urgent;
mod validation;
mod window_scale;
mod window_use;

use std::net::IpAddr;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq};
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::congestion::{Congestion, CongestionControl};
use crate::extension::{ReceiverExtension, SenderExtension};
use crate::flight::Flight;
use crate::recovery::LossRecovery;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::send_buffer::SendBuffer;

pub use adopt::{Handshake, NotAHandshake};
use ecn::Ecn;
use pacer::Pacer;
use path_mtu::PathMtu;
pub(crate) use receive::ReceiveSide;
use silence::Silence;
pub use snapshot::{Snapshot, Unusable};
pub use state::State;
pub use stats::Stats;
use super_packet::SuperPacket;
pub(crate) use timers::Timers;
use timestamp_clock::TimestampClock;
use window_use::Validation;

/// An address and a port.
pub type Endpoint = (IpAddr, u16);

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
    timestamp_clock: TimestampClock,

    flight: Flight,
    buffer: SendBuffer,
    /// The application has closed: FIN follows the last octet of data.
    close_requested: bool,
    /// More will be written soon.
    expects_more: bool,
    /// The latest data in order carried PSH, or that is not known.
    peer_has_pushed: bool,
    /// Our FIN is acknowledged.
    is_fin_acknowledged: bool,
    /// Initial send sequence number.
    iss: Seq,
    duplicate_acks: u32,
    /// SND.WL1: the number of the segment that told the peer's window last.
    window_told_at: Seq,
    /// MAX.SND.WND: the largest window that the peer has offered (RFC 5961, section 5.2).
    largest_peer_window: u32,
    silence: Silence,
    path_mtu: PathMtu,
    congestion: Box<dyn CongestionControl>,
    recovery: Box<dyn LossRecovery>,
    /// What recovery said last of whether it goes on: asked for with every packet, changed by few.
    is_recovering: bool,
    /// Kept if recovery or congestion control goes by single segments.
    queue: RetransmissionQueue,
    goes_by_segments: bool,
    /// Congestion control goes by a model of the path.
    goes_by_model: bool,
    pacer: Option<Pacer>,
    /// Where segments leave in super-packets.
    super_packet: Option<SuperPacket>,
    /// Segments that may leave as one packet.
    most_segments: u32,
    validation: Option<Validation>,
    /// Where the peers agreed on ECN.
    ecn: Option<Ecn>,
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
    /// When a segment that may be forged was answered last.
    challenged_at: Option<Instant>,
    was_reset: bool,
    /// Behind the urgent data that is to be sent, or was sent and is not acknowledged.
    urgent: Vec<Seq>,
    /// Differentiated services code point of what is sent (RFC 2474).
    dscp: u8,
    /// Hop limit of what is sent, if it stands for what another host sends.
    hop_limit: Option<u8>,
    /// A reset that has to go out.
    reset: Option<Reset>,
    /// A window probe that has to go out.
    probe_window: bool,
    identification: u16,
    stats: Stats,
}

/// What both sides agreed on in their SYNs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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

impl Negotiated {
    /// The shift of the windows that we send, if windows are scaled.
    fn shift(self) -> Option<u8> {
        self.scaling.then_some(self.our_shift)
    }
}

/// A reset for a segment that belongs to no connection, or the end of this one.
#[derive(Clone, Copy, Debug)]
struct Reset {
    to: Endpoint,
    seq: Seq,
    ack: Option<Seq>,
}

impl Connection {
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

    /// Appends data to what is to be sent. Ignored once [`Self::close`] was called.
    pub fn write(&mut self, payload: Payload) {
        if !self.close_requested {
            self.note_application_limit();
            self.buffer.push(payload);
        }
    }

    /// Appends `len` octets of simulated stream `stream` from `offset` on, however many.
    pub fn write_stream(&mut self, stream: u32, offset: u64, len: u64) {
        if !self.close_requested {
            self.note_application_limit();
            self.buffer.push_stream(stream, offset, len);
        }
    }

    /// Says whether more will be written soon. If so, the last segment of what was written carries no PSH
    /// (RFC 9293, section 3.9.1.2): at a PSH a receiver such as Linux acknowledges at once.
    pub const fn expect_more(&mut self, more: bool) {
        self.expects_more = more;
    }

    /// Whether the latest data in order ended what its sender had to send: it carried PSH, or that is not
    /// known.
    pub const fn peer_has_pushed(&self) -> bool {
        self.peer_has_pushed
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
        // RFC 9293, section 3.10.5: whoever has not heard of this connection needs no reset.
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            let (seq, ack) = (self.bare_number(), Some(self.receive.next()));
            self.reset = Some(Reset { to: self.remote, seq, ack });
        }
        self.enter_closed();
    }

    fn end_by_reset(&mut self) {
        self.was_reset = true;
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

    /// Whether SYNs are still under way.
    const fn is_handshaking(&self) -> bool {
        matches!(self.state, State::SynSent | State::SynReceived)
    }

    /// Whether the peer has closed its direction and everything before its FIN was received.
    pub fn peer_has_closed(&self) -> bool {
        self.receive.has_fin()
    }

    /// Whether it ended before the peer had closed its direction: it gave up, or was reset.
    pub fn has_failed(&self) -> bool {
        self.state == State::Closed && !self.peer_has_closed()
    }

    /// Whether a reset of the peer ended it.
    pub const fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Whether our FIN was sent and acknowledged.
    pub const fn is_fin_acknowledged(&self) -> bool {
        self.is_fin_acknowledged
    }

    /// Octets that arrived in order and were not read yet.
    pub const fn unread(&self) -> u32 {
        self.receive.unread()
    }

    /// The number of the octet that is expected next from the peer.
    pub const fn next_expected(&self) -> Seq {
        self.receive.next()
    }

    /// TS.Recent: the latest timestamp of the peer, if it sends any (RFC 7323, section 4.3).
    pub const fn peer_timestamp(&self) -> Option<u32> {
        self.receive.peer_timestamp()
    }

    /// Gives up what has arrived behind a gap: it was reported, perhaps, but never acknowledged (RFC
    /// 2018, section 8).
    pub fn discard_behind_gap(&mut self) {
        self.receive.discard_behind_gap();
    }

    /// Another endpoint has gone on in this one's place and has acknowledged the peer's octets before
    /// `ack`. What is sent from here has to say so too: the peer discards a segment whose ACK is too
    /// old (RFC 5961, section 5.2).
    pub fn acknowledged_elsewhere(&mut self, ack: Seq) {
        self.receive.skip_to(ack);
    }

    /// Octets of memory that it has allocated for what it holds in either direction, at most: a payload
    /// may lie in a buffer half as large again.
    pub fn memory(&self) -> usize {
        self.buffer.memory() + self.receive.memory() + self.queue.memory()
    }

    /// Octets of memory that it takes beside that and itself: its congestion control, its loss recovery and
    /// what else it has allocated for its own state.
    pub fn overhead(&self) -> usize {
        let sender = self.sender_extension.as_deref().map_or(0, size_of_val);
        let receiver = self.receiver_extension.as_deref().map_or(0, size_of_val);
        let numbers = self.retransmit.capacity() + self.urgent.capacity();
        size_of_val(&*self.congestion)
            + self.congestion.memory()
            + size_of_val(&*self.recovery)
            + self.recovery.memory()
            + self.receive.overhead()
            + sender
            + receiver
            + numbers * size_of::<Seq>()
    }

    /// Octets of payload that are held, in either direction.
    pub fn held(&self) -> usize {
        self.buffer.len() as usize + self.receive.held()
    }

    /// Whether the peer has not been heard from since the retransmission timer expired.
    pub const fn is_unanswered(&self) -> bool {
        self.silence.expiries() > 0
    }

    /// Whether its congestion control is [`Congestion::Outside`].
    pub fn is_ruled_from_outside(&self) -> bool {
        self.config.congestion == Congestion::Outside
    }

    /// Lets `octets` octets into the network beyond what is there now: for
    /// [`Congestion::Outside`]. With nothing there, a segment may leave in any case.
    pub fn allow(&mut self, octets: u32) {
        // Out of recovery the window counts from SND.UNA on.
        let there = if self.is_recovering { self.queue.in_network() } else { self.flight.in_flight() };
        // Where no timer runs for what is outstanding, what goes again has to leave: it starts one.
        let is_untimed = self.flight.una != self.flight.max && self.timers.retransmit.is_none();
        let least = if is_untimed { self.flight.mss } else { 0 };
        self.set_cwnd(there.saturating_add(octets.max(least)));
    }

    /// Lets nothing into the network for which nothing is there already: for [`Congestion::Outside`].
    /// What is there goes again as it must.
    pub fn hold(&mut self) {
        self.allow(0);
        if self.flight.una == self.flight.max {
            self.flight.cwnd = 0;
        }
    }

    /// Sets the congestion window in octets, a segment at least: for
    /// [`Congestion::Outside`], where nothing else moves it.
    pub fn set_cwnd(&mut self, octets: u32) {
        self.flight.cwnd = octets.clamp(self.flight.mss, 1 << 30);
    }

    /// From now on the timestamps that are sent have this value: the latest of the end whose place
    /// is taken. So they never run ahead of that end's own clock, and once it speaks for itself again
    /// its timestamps are no older than what its peer has seen (PAWS; RFC 7323, section 5.3). What
    /// the peer echoes then times nothing.
    pub const fn tell_timestamp(&mut self, value: u32) {
        self.timestamp_clock = TimestampClock::Told(value);
    }

    /// Takes note of the timestamp of a packet that is not shown to [`Self::on_segment`], because
    /// another endpoint answers it.
    pub fn note_timestamp_of(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(timestamps) = tcp.options.timestamps.filter(|_| self.negotiated.timestamps) {
            self.receive.note_later_timestamp(timestamps.value, now);
        }
    }

    /// Whether nothing more is acknowledged from now on, and nothing answered: what is sent carries the last
    /// number that the peer was told, and no ACK goes by itself, unless it asks for a loss behind that
    /// number. The peer's own timers then run. Once this ends, what is owed is sent.
    pub fn withhold_acks(&mut self, withholds: bool) {
        self.receive.withhold_acks(withholds);
    }

    /// Whether an ACK would be sent now if it were not withheld.
    pub fn withholds_an_ack(&self) -> bool {
        self.receive.withholds_an_ack()
    }

    /// Bounds the windows that are offered from now on, in octets. What was offered stays so. A bound
    /// that was raised is told at once if it is worth it, as if data had been read.
    pub fn limit_window(&mut self, octets: u32) {
        self.receive.limit_window(octets);
        self.receive.tell_window();
    }

    /// What is sent from now on stands for what another host sends, of which this is a packet's header.
    /// It has that packet's differentiated services code point (RFC 2474), and the largest hop limit of
    /// all such packets: the peer may refuse what comes with a smaller one than that host's (RFC 5082),
    /// and one packet with a small one may be forged. Before the first such packet, they are 0 and 64.
    pub fn stand_for(&mut self, host: &Ip) {
        self.dscp = host.dscp();
        self.hop_limit = self.hop_limit.max(Some(host.hop_limit));
    }

    /// Octets that one in the window field of what is sent stands for (RFC 7323, section 2.3).
    pub const fn window_unit(&self) -> u32 {
        1 << self.negotiated.our_shift
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

    /// What is outstanding, segment by segment; empty if neither recovery nor congestion control
    /// goes by it.
    pub const fn queue(&self) -> &RetransmissionQueue {
        &self.queue
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
}
