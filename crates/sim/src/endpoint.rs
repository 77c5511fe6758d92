//! One end of a connection, as the simulator drives it: TCP's, or another transport's.
//!
//! An [`Endpoint`] is a pure state machine. Its host passes it the time and the packets for its ports, and
//! takes out its packets after each call. Its application writes the octets of a simulated stream, reads
//! those of the other end, and closes.
//!
//! TCP ([`lasthop_tcp::Connection`]) is called directly, without dynamic dispatch.

use lasthop_agent::Deadline;
use lasthop_packet::{Instant, Packet, Payload, Seq, Transport};
use lasthop_tcp::Connection;
use lasthop_tcp::State;

/// One end of a connection. Spurious calls do no harm.
pub trait Endpoint: Send {
    /// A packet for this end has arrived, or an ICMP message about one that it has sent.
    fn on_packet(&mut self, packet: &Packet, now: Instant);

    /// Whether it has nothing to send, by a quick check; then [`Self::transmit`] makes no packet.
    fn is_idle(&self) -> bool {
        false
    }

    /// Writes the next packet that this end sends now into its place. `false` if there is none.
    fn transmit(&mut self, place: &mut Option<Packet>, now: Instant) -> bool;

    /// When [`Self::on_deadline`] is next due.
    fn deadline(&self) -> Option<Deadline>;

    /// The deadline has come.
    fn on_deadline(&mut self, now: Instant);

    /// The application writes `octets` octets of the simulated stream `stream`, from `offset` on.
    fn write_stream(&mut self, stream: u32, offset: u64, octets: u64);

    /// The application discards the data that it has written and this end has not sent. Returns the octets
    /// of all data that remain.
    fn discard(&mut self) -> u64;

    /// The application writes nothing more.
    fn close(&mut self);

    /// The application ends the connection at once, whatever the other end has got.
    fn abort(&mut self);

    /// The next piece of data that has arrived, in the order in which it was written.
    fn read(&mut self) -> Option<Payload>;

    /// Whether it listens: it knows no other end yet, and sends nothing.
    fn awaits_call(&self) -> bool;

    /// Whether the other end has closed, and all that it has written was read or can be.
    fn peer_has_closed(&self) -> bool;

    /// Whether it is closed, and sends and receives nothing more.
    fn is_closed(&self) -> bool;

    /// Whether it is closed, or only waits for old packets.
    fn is_done(&self) -> bool {
        self.is_closed()
    }

    /// Whether it ended before the other end had closed: it gave up, or was reset.
    fn has_failed(&self) -> bool;

    /// Whether the other end has ended the connection at once.
    fn was_reset(&self) -> bool;

    /// The highest number that it has sent, in its own numbering; for [`Self::repeats`].
    fn sent(&self) -> u64 {
        0
    }

    /// Whether a packet that it made when it had sent so far carries data that was sent before.
    fn repeats(&self, _packet: &Packet, _sent: u64) -> bool {
        false
    }

    /// Time-outs after which it retransmitted.
    fn timeouts(&self) -> u64 {
        0
    }

    /// Losses that it inferred from acknowledgments.
    fn fast_retransmits(&self) -> u64 {
        0
    }

    /// TCP's endpoint, for observers of TCP's own state; `None` for other transports.
    fn tcp(&self) -> Option<&Connection> {
        None
    }
}

impl Endpoint for Connection {
    #[inline]
    fn on_packet(&mut self, packet: &Packet, now: Instant) {
        if matches!(packet.transport(), Transport::Icmp(_)) {
            self.on_icmp(packet, now);
        } else {
            self.on_segment(packet, now);
        }
    }

    #[inline]
    fn is_idle(&self) -> bool {
        Self::is_idle(self)
    }

    #[inline]
    fn transmit(&mut self, place: &mut Option<Packet>, now: Instant) -> bool {
        self.transmit_into(place, now)
    }

    #[inline]
    fn deadline(&self) -> Option<Deadline> {
        Self::deadline(self)
    }

    fn on_deadline(&mut self, now: Instant) {
        Self::on_deadline(self, now);
    }

    fn write_stream(&mut self, stream: u32, offset: u64, octets: u64) {
        Self::write_stream(self, stream, offset, octets);
    }

    fn discard(&mut self) -> u64 {
        self.discard_unsent();
        self.stats().octets_acknowledged + self.unacknowledged()
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn abort(&mut self) {
        Self::abort(self);
    }

    #[inline]
    fn read(&mut self) -> Option<Payload> {
        Self::read(self)
    }

    fn awaits_call(&self) -> bool {
        self.state() == State::Listen
    }

    #[inline]
    fn peer_has_closed(&self) -> bool {
        Self::peer_has_closed(self)
    }

    fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    fn is_done(&self) -> bool {
        matches!(self.state(), State::Closed | State::TimeWait)
    }

    fn has_failed(&self) -> bool {
        Self::has_failed(self)
    }

    fn was_reset(&self) -> bool {
        Self::was_reset(self)
    }

    #[inline]
    fn sent(&self) -> u64 {
        u64::from(self.flight().max.0)
    }

    fn repeats(&self, packet: &Packet, sent: u64) -> bool {
        packet.segment_len() > 0 && packet.tcp().is_some_and(|tcp| tcp.seq.before(Seq(sent as u32)))
    }

    fn timeouts(&self) -> u64 {
        self.stats().timeouts
    }

    #[inline]
    fn fast_retransmits(&self) -> u64 {
        self.stats().fast_retransmits
    }

    #[inline]
    fn tcp(&self) -> Option<&Connection> {
        Some(self)
    }
}

/// An endpoint of some transport.
#[expect(
    clippy::large_enum_variant,
    reason = "most are TCP's, and a pointer would be followed for each packet"
)]
pub(crate) enum AnyEndpoint {
    Tcp(Connection),
    Other(Box<dyn Endpoint>),
}

/// Methods of [`Endpoint`] that are called as those of the endpoint that there is.
macro_rules! of_either {
    ($($access:ident $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(of_either!(@$access $name($($argument: $type),*) $(-> $result)?);)*
    };
    (@reads $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {
        #[inline]
        pub(crate) fn $name(&self, $($argument: $type),*) $(-> $result)? {
            match self {
                Self::Tcp(endpoint) => endpoint.$name($($argument),*),
                Self::Other(endpoint) => endpoint.$name($($argument),*),
            }
        }
    };
    (@changes $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {
        #[inline]
        pub(crate) fn $name(&mut self, $($argument: $type),*) $(-> $result)? {
            match self {
                Self::Tcp(endpoint) => endpoint.$name($($argument),*),
                Self::Other(endpoint) => endpoint.$name($($argument),*),
            }
        }
    };
}

// A trait object for TCP as well would keep its functions from being inlined: 7% of a wired run.
impl AnyEndpoint {
    /// When [`Endpoint::on_deadline`] is next due.
    #[expect(clippy::inline_always, reason = "after every packet; measured")]
    #[inline(always)]
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Tcp(tcp) => tcp.deadline().map(|deadline| deadline.at),
            Self::Other(other) => other.deadline().map(|deadline| deadline.at),
        }
    }

    of_either! {
        changes on_packet(packet: &Packet, now: Instant);
        changes transmit(place: &mut Option<Packet>, now: Instant) -> bool;
        changes on_deadline(now: Instant);
        changes write_stream(stream: u32, offset: u64, octets: u64);
        changes discard() -> u64;
        changes close();
        changes abort();
        changes read() -> Option<Payload>;
        reads awaits_call() -> bool;
        reads peer_has_closed() -> bool;
        reads is_closed() -> bool;
        reads is_done() -> bool;
        reads has_failed() -> bool;
        reads was_reset() -> bool;
        reads timeouts() -> u64;
        reads tcp() -> Option<&Connection>;
    }
}
