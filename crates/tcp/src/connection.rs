//! A connection: the state machine of RFC 9293, section 3.3.2, with its input, output and timers.

mod ecn;
mod handshake;
mod input;
mod ip_template;
mod open;
mod output;
mod refusals;
mod snapshot;

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Ip, Packet, Payload, Seq};

use crate::config::Config;
use crate::extension::{ReceiverExtension, SenderExtension};
use crate::flight::Flight;
use crate::negotiation::Negotiated;
use crate::receive::ReceiveSide;
use crate::retransmission_queue::RetransmissionQueue;
use crate::rtt::RttEstimator;
use crate::send::{End, SendSide};
use crate::state::State;
use crate::stats::Stats;

use ecn::Ecn;
use ip_template::IpTemplate;
pub use ip_template::Socket;
pub use open::{Handshake, NotAHandshake};
use refusals::{Refusals, Reset};
pub use snapshot::{Snapshot, Unusable};

/// A TCP connection.
///
/// Its input is packets ([`Self::on_segment`], [`Self::on_icmp`]) and the time ([`Self::on_deadline`]).
/// After each call, poll the packets to send ([`Self::poll_transmit`] until `None`), the data received
/// ([`Self::read`]) and the next [`Self::deadline`].
///
/// Each part owns its fields; the connection has the state, and passes each input to the parts in the order
/// of RFC 9293, section 3.10.
pub struct Connection {
    state: State,
    /// The peer reset the connection.
    was_reset: bool,
    /// When TIME-WAIT ends.
    time_wait: Option<Instant>,
    config: Config,
    negotiated: Negotiated,
    ip: IpTemplate,
    send: SendSide,
    receive: ReceiveSide,
    receiver_extension: Option<Box<dyn ReceiverExtension>>,
    /// If ECN was negotiated.
    ecn: Option<Ecn>,
    refusals: Refusals,
    /// The next packet to send.
    reset: Option<Reset>,
}

impl Connection {
    /// Adds a scheme's part of the sender.
    #[must_use]
    pub fn with_sender_extension(mut self, extension: Option<Box<dyn SenderExtension>>) -> Self {
        self.send.set_extension(extension);
        self
    }

    /// Adds a scheme's part of the receiver.
    #[must_use]
    pub fn with_receiver_extension(mut self, extension: Option<Box<dyn ReceiverExtension>>) -> Self {
        self.receiver_extension = extension;
        self
    }

    /// Appends data to the stream. Ignored after [`Self::close`].
    pub fn write(&mut self, payload: Payload) {
        self.send.write(payload);
    }

    /// The next data that the connection was restored without ([`Snapshot::take_outstanding`]). Returns what comes after it.
    pub fn supply(&mut self, payload: Payload) -> Payload {
        self.send.supply(payload)
    }

    /// Octets of such data that have not come, acknowledged or not.
    pub fn awaited(&self) -> u64 {
        self.send.stream().awaited()
    }

    /// Whether such data that is not acknowledged has not come.
    pub fn is_incomplete(&self) -> bool {
        self.send.stream().is_incomplete()
    }

    /// Appends `len` octets of the simulated stream `stream` from `offset` on.
    pub fn write_stream(&mut self, stream: u32, offset: u64, len: u64) {
        self.send.write_stream(stream, offset, len);
    }

    /// Sets whether more will be written soon. If so, the last segment carries no PSH (RFC 9293, section
    /// 3.9.1.2): receivers such as Linux acknowledge a PSH at once.
    pub const fn expect_more(&mut self, more: bool) {
        self.send.expect_more(more);
    }

    /// Whether the latest data in order carried PSH, or that is unknown.
    pub const fn peer_has_pushed(&self) -> bool {
        self.receive.has_push()
    }

    /// Discards unsent data: the application stopped producing it.
    pub fn discard_unsent(&mut self) {
        self.send.discard_unsent();
    }

    /// Closes the stream: FIN follows the last octet.
    pub fn close(&mut self) {
        self.send.close();
        if matches!(self.state, State::Listen) {
            self.state = State::Closed;
        }
    }

    /// Allows super-packets ([`Packet::segment_size`]) of up to `segments` segments, which the owner can
    /// forward.
    pub fn allow_super_packets(&mut self, segments: u32) {
        self.send.allow_super_packets(segments);
    }

    /// Marks the end of urgent data, this many octets after the data written so far.
    pub fn mark_urgent(&mut self, ahead: u32) {
        let una = self.send.flight().una;
        self.send.mark_urgent(if self.state.is_handshaking() { una + 1 } else { una }, ahead);
    }

    /// An ACK is sent now, although one with the same numbers was sent before: it may not have arrived.
    pub const fn acknowledge_again(&mut self) {
        self.receive.owe_ack_now();
    }

    /// Octets from the first unread one to the end of urgent data, which may not have arrived yet; `None`
    /// without unread urgent data.
    pub fn urgent_ahead(&mut self) -> Option<u32> {
        self.receive.urgent_ahead()
    }

    /// Whether there is data to send or to retransmit.
    pub fn has_more(&self) -> bool {
        match self.state {
            State::Closed => false,
            State::SynSent | State::SynReceived => self.send.has_unsent(),
            _ => self.send.has_more(),
        }
    }

    /// Holds the peer's FIN: it is not acknowledged until [`Self::accept_fin`], because the data before it
    /// has to reach another end first.
    pub const fn hold_fin(&mut self) {
        self.receive.hold_fin();
    }

    /// Accepts the peer's FIN, if [`Self::peer_has_closed`] and it was held.
    pub fn accept_fin(&mut self, now: Instant) {
        if self.receive.accept_fin() {
            self.on_fin(now);
        }
    }

    /// Resets the connection.
    pub fn abort(&mut self) {
        // RFC 9293, section 3.10.5: a peer without knowledge of this connection needs no reset.
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            let (seq, ack) = (self.send.bare_number(self.state), Some(self.receive.next()));
            self.reset = Some(Reset { to: self.ip.remote(), seq, ack, is_of_connection: true });
        }
        self.enter_closed();
    }

    fn end_by_reset(&mut self) {
        self.was_reset = true;
        self.enter_closed();
    }

    fn enter_closed(&mut self) {
        self.state = State::Closed;
        self.time_wait = None;
        self.send.stop();
        self.receive.owe_nothing();
    }

    fn enter_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.send.stop_timers();
        self.receive.stop_timer();
        self.time_wait = Some(now + self.config.time_wait);
    }

    /// The next piece of data in order.
    #[inline]
    pub fn read(&mut self) -> Option<Payload> {
        self.receive.read()
    }

    /// When [`Self::on_deadline`] is next due, and why.
    #[inline]
    pub fn deadline(&self) -> Option<Deadline> {
        // One branch for the timers that are rare.
        let is_rare =
            self.send.has_rare_timer() | self.receive.ack_timer().is_some() | self.time_wait.is_some();
        if is_rare { self.earliest_deadline() } else { self.send.deadline() }
    }

    #[inline(never)]
    fn earliest_deadline(&self) -> Option<Deadline> {
        let timers = [
            (self.send.pacing_timer(), "pacing"),
            (self.receive.ack_timer(), "delayed ACK"),
            (self.send.persist_timer(), "window probe"),
            (self.time_wait, "TIME-WAIT"),
        ];
        let rest = timers.into_iter().map(|(at, reason)| at.map(|at| Deadline { at, reason }));
        rest.fold(self.send.deadline(), Deadline::earliest)
    }

    /// Handles expired timers. Early and repeated calls are harmless.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.time_wait.is_some_and(|at| at <= now) {
            self.enter_closed();
            return;
        }
        self.receive.on_deadline(self.send.rtt().rto(), now);
        if self.send.on_deadline(self.state, now) {
            self.abort();
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether the peer's FIN was received, and everything before it.
    pub fn peer_has_closed(&self) -> bool {
        self.receive.has_fin()
    }

    /// Whether the connection was aborted or reset before the peer had closed its direction.
    pub fn has_failed(&self) -> bool {
        self.state == State::Closed && !self.peer_has_closed()
    }

    /// Whether the peer reset the connection.
    pub const fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Whether our FIN was sent and acknowledged.
    pub fn is_fin_acknowledged(&self) -> bool {
        self.send.stream().end() == End::Acknowledged
    }

    /// Unread octets in order.
    pub const fn unread(&self) -> u32 {
        self.receive.unread()
    }

    /// RCV.NXT: the next sequence number expected from the peer.
    pub const fn next_expected(&self) -> Seq {
        self.receive.next()
    }

    /// TS.Recent: the latest timestamp of the peer, if any (RFC 7323, section 4.3).
    pub const fn peer_timestamp(&self) -> Option<u32> {
        self.receive.peer_timestamp()
    }

    /// Discards the data above a gap, which may have been reported, but never was acknowledged (RFC 2018,
    /// section 8).
    pub fn discard_after_gap(&mut self) {
        self.receive.discard_after_gap();
    }

    /// Another endpoint in this one's place has acknowledged the peer's octets before `ack`. Segments sent
    /// from here must acknowledge them, too: the peer discards a segment whose ACK is too old (RFC
    /// 5961, section 5.2).
    pub fn acknowledged_elsewhere(&mut self, ack: Seq) {
        self.receive.skip_to(ack);
    }

    /// Octets of memory allocated for the data in both directions, at most: a payload may lie in a buffer
    /// half as large again.
    pub fn memory(&self) -> usize {
        self.send.memory() + self.receive.memory()
    }

    /// Octets of memory allocated for its own state: congestion control, loss recovery and others.
    pub fn overhead(&self) -> usize {
        let extension = self.receiver_extension.as_deref().map_or(0, size_of_val);
        self.send.overhead() + self.receive.overhead() + extension
    }

    /// Octets of payload held in both directions.
    pub fn held(&self) -> usize {
        self.send.stream().len() as usize + self.receive.held()
    }

    /// Whether nothing arrived from the peer since the last time-out.
    pub const fn is_unanswered(&self) -> bool {
        self.send.is_unanswered()
    }

    /// Whether its congestion control is [`External`](crate::Congestion::External).
    pub fn has_external_window(&self) -> bool {
        self.send.has_external_window()
    }

    /// Sets the window so that `octets` more may be in the network than now, and at least a segment if the
    /// network is empty: for [`External`](crate::Congestion::External).
    pub fn allow(&mut self, octets: u32) {
        self.send.allow(octets);
    }

    /// Sets the window so that no new data is sent: for [`External`](crate::Congestion::External).
    /// Outstanding data is retransmitted nevertheless.
    pub fn hold(&mut self) {
        self.send.hold();
    }

    /// Sets the congestion window in octets, at least a segment: for
    /// [`External`](crate::Congestion::External), where nothing else changes it.
    pub fn set_cwnd(&mut self, octets: u32) {
        self.send.set_cwnd(octets);
    }

    /// Sets the timestamp of segments sent from now on: the latest of the end whose place is taken. So
    /// timestamps never run ahead of that end's own clock, and when it sends again, its timestamps are no
    /// older than those the peer has seen (PAWS; RFC 7323, section 5.3). Echoes do not measure round
    /// trips then.
    pub const fn set_timestamp(&mut self, value: u32) {
        self.send.set_timestamp(value);
    }

    /// Records the timestamp of a packet that another endpoint processes.
    pub fn learn_timestamp(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        if let Some(timestamps) = tcp.options.timestamps.filter(|_| self.negotiated.timestamps) {
            self.receive.record_later_timestamp(timestamps.value, now);
        }
    }

    /// Sets whether ACKs are withheld: segments then carry the last acknowledgment number that was sent, and
    /// no pure ACK is sent, unless it reports a loss above that number. The peer's own timers then run. When
    /// this ends, the ACK that is owed is sent.
    pub fn withhold_acks(&mut self, withholds: bool) {
        self.receive.withhold_acks(withholds);
    }

    /// Whether an ACK would be sent now if it were not withheld.
    pub fn withholds_an_ack(&self) -> bool {
        self.receive.withholds_an_ack()
    }

    /// Limits the windows that are advertised from now on, in octets; the window never shrinks. A higher
    /// limit causes an ACK if the window opens enough, as if data had been read.
    pub fn limit_window(&mut self, octets: u32) {
        self.receive.limit_window(octets);
        self.receive.owe_ack_if_opened();
    }

    /// Sends packets in the name of another host, of which this is a packet's header: with that packet's
    /// differentiated services code point (RFC 2474), and the largest hop limit of all such packets. The
    /// peer may refuse a smaller hop limit than the host's (RFC 5082), and a packet with a small one may
    /// be forged. Before the first such packet, they are 0 and 64.
    pub fn stand_for(&mut self, host: &Ip) {
        self.ip.stand_for(host);
    }

    /// The unit of the window field in segments sent, in octets (RFC 7323, section 2.3).
    pub const fn window_unit(&self) -> u32 {
        1 << self.negotiated.our_shift
    }

    /// Octets written and unacknowledged.
    pub const fn unacknowledged(&self) -> u64 {
        self.send.stream().len()
    }

    /// The send variables.
    pub const fn flight(&self) -> &Flight {
        self.send.flight()
    }

    /// The round-trip time estimate.
    pub const fn rtt(&self) -> &RttEstimator {
        self.send.rtt()
    }

    /// The outstanding segments; empty if neither recovery nor congestion control tracks them.
    pub const fn queue(&self) -> &RetransmissionQueue {
        self.send.queue()
    }

    /// The counters.
    #[inline]
    pub const fn stats(&self) -> Stats {
        Stats {
            segments_sent: self.ip.packets(),
            octets_received: self.receive.octets(),
            refused: self.refusals.counts(),
            ..self.send.stats()
        }
    }

    /// Our address and port.
    pub const fn local(&self) -> Socket {
        self.ip.local()
    }

    /// The peer's address and port; unspecified while listening.
    pub const fn remote(&self) -> Socket {
        self.ip.remote()
    }

    /// The peer has another address and port than when the connection was made. Only before the SYN is sent.
    pub const fn set_remote(&mut self, remote: Socket) {
        self.ip.set_remote(remote);
    }

    /// The initial send sequence number; data begins one after it.
    pub const fn iss(&self) -> Seq {
        self.send.iss()
    }
}
