//! A flow: an application, what carries it, and its outcome.

mod outcome;

use lasthop_apps::datagrams::{Datagrams, Received};
use lasthop_apps::measured::Measured;
use lasthop_apps::traffic::{Next, Source};
use lasthop_packet::{Instant, Packet, Payload};
use lasthop_tcp::Stats;
use lasthop_tcp::rtt::RttSamples;

use crate::config::Opening;
use crate::endpoint::AnyEndpoint;
use crate::id::{ConnectionId, NodeId};

pub use outcome::{FlowOutcome, TcpOutcome, TransportOutcome};

/// A flow as it stands.
#[derive(Debug)]
pub struct Flow {
    name: String,
    from: NodeId,
    to: NodeId,
    start: Instant,
    size: Option<u64>,
    source: Source,
    carrier: Carrier,
    /// The simulated stream that it carries.
    stream: u32,
    /// Whether a run waits for it: it has a size, or is to be stopped.
    has_end: bool,
    /// When the application stopped before its end.
    stopped_at: Option<Instant>,
    /// When nothing more was to be expected of it.
    done_at: Option<Instant>,
    /// When its connection failed before its end. Its goodput counts on: nothing arrives any more.
    gave_up_at: Option<Instant>,
    /// An octet arrived that was not the one sent: a broken simulation.
    corrupted: bool,
}

/// What carries a flow.
#[derive(Debug)]
pub(crate) enum Carrier {
    Connection(Transfer),
    Udp(Box<Datagrams>),
}

/// A flow over a connection.
#[derive(Debug)]
pub(crate) struct Transfer {
    sender: ConnectionId,
    opening: Opening,
    /// Octets that the application has written.
    written: u64,
    received: u64,
    /// Octets after which nothing more is to be expected: its size, or what was sent until the
    /// application stopped.
    expected: Option<u64>,
}

impl Transfer {
    pub(crate) const fn new(sender: ConnectionId, opening: Opening, size: Option<u64>) -> Self {
        Self { sender, opening, written: 0, received: 0, expected: size }
    }
}

/// What an application writes.
#[derive(Clone, Copy)]
pub(crate) enum Written {
    Nothing,
    Stream(StreamWrite),
    Datagram,
}

/// Octets of a simulated stream, written to a connection.
#[derive(Clone, Copy)]
pub(crate) struct StreamWrite {
    pub(crate) sender: ConnectionId,
    pub(crate) stream: u32,
    pub(crate) offset: u64,
    pub(crate) octets: u64,
    /// Whether the application closes the connection with them.
    pub(crate) is_last: bool,
}

/// What it is, and how it stands.
impl Flow {
    /// One over `carrier` that begins at `start`; `stops` says whether its application is to be stopped.
    pub(crate) fn new(
        (name, from, to): (String, NodeId, NodeId),
        (start, size, stops): (Instant, Option<u64>, bool),
        (stream, source): (u32, Source),
        carrier: Carrier,
    ) -> Self {
        Self {
            name,
            from,
            to,
            start,
            size,
            source,
            carrier,
            stream,
            has_end: size.is_some() || stops,
            stopped_at: None,
            done_at: None,
            gave_up_at: None,
            corrupted: false,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who sends.
    pub const fn from(&self) -> NodeId {
        self.from
    }

    /// Who receives.
    pub const fn to(&self) -> NodeId {
        self.to
    }

    /// Octets to send in all, if there is an end to them.
    pub const fn size(&self) -> Option<u64> {
        self.size
    }

    /// Whether a run waits for it: it has a size, or is to be stopped.
    pub(crate) const fn has_end(&self) -> bool {
        self.has_end
    }

    /// Whether nothing more is to be expected of it.
    #[inline]
    pub const fn is_done(&self) -> bool {
        self.done_at.is_some() || self.gave_up_at.is_some()
    }

    /// Whether the application stopped before its end.
    pub(crate) const fn is_stopped(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Whether the application always has something to send.
    pub(crate) const fn is_bulk(&self) -> bool {
        matches!(self.source, Source::Bulk(_))
    }

    /// The endpoint that sends its data; `None` over UDP.
    pub(crate) const fn sender(&self) -> Option<ConnectionId> {
        match &self.carrier {
            Carrier::Connection(transfer) => Some(transfer.sender),
            Carrier::Udp(_) => None,
        }
    }

    /// Whether its connection opens with a handshake and ends with FINs.
    pub(crate) const fn has_handshake(&self) -> bool {
        matches!(&self.carrier, Carrier::Connection(Transfer { opening: Opening::Handshake, .. }))
    }

    /// Its datagrams; `None` over TCP.
    pub(crate) fn datagrams(&self) -> Option<&Datagrams> {
        match &self.carrier {
            Carrier::Connection(_) => None,
            Carrier::Udp(datagrams) => Some(datagrams),
        }
    }

    /// As [`Self::datagrams`].
    pub(crate) fn datagrams_mut(&mut self) -> Option<&mut Datagrams> {
        match &mut self.carrier {
            Carrier::Connection(_) => None,
            Carrier::Udp(datagrams) => Some(datagrams),
        }
    }
}

/// What happens to it.
impl Flow {
    /// The application writes.
    pub(crate) fn write(&mut self) -> (Written, Next) {
        let write = self.source.write();
        let octets = u64::from(write.octets);
        let written = match &mut self.carrier {
            _ if octets == 0 => Written::Nothing,
            Carrier::Connection(transfer) => {
                let (sender, stream, offset) = (transfer.sender, self.stream, transfer.written);
                transfer.written += octets;
                Written::Stream(StreamWrite { sender, stream, offset, octets, is_last: false })
            }
            Carrier::Udp(_) => Written::Datagram,
        };
        (written, write.next)
    }

    /// A bulk transfer over a connection writes all that it has; without an end, more than any run can carry.
    /// `None` for other flows.
    pub(crate) fn write_all(&mut self) -> Option<StreamWrite> {
        let (Source::Bulk(_), Carrier::Connection(transfer)) = (&self.source, &mut self.carrier) else {
            return None;
        };
        let octets = self.size.unwrap_or(1 << 60);
        transfer.written = octets;
        let is_last = transfer.opening == Opening::Handshake && self.size.is_some();
        Some(StreamWrite { sender: transfer.sender, stream: self.stream, offset: 0, octets, is_last })
    }

    /// The receiving application takes a piece of data and checks that it is the piece that was
    /// sent there.
    #[inline]
    pub(crate) fn receive(&mut self, payload: &Payload) {
        let Carrier::Connection(transfer) = &mut self.carrier else { return };
        let right = is_piece(payload, self.stream, transfer.received);
        self.corrupted |= !right;
        transfer.received += payload.len() as u64;
    }

    /// A datagram has arrived.
    pub(crate) fn receive_datagram(&mut self, packet: &Packet, now: Instant) {
        if let Carrier::Udp(datagrams) = &mut self.carrier {
            self.corrupted |= !datagrams.receive(packet, now);
        }
    }

    /// The application stops. Of a bulk transfer, the data that was not sent is left undone
    /// ([`Self::expect`]); of another flow over a connection, all that was written is still to arrive.
    pub(crate) fn stop(&mut self, now: Instant) {
        self.stopped_at = Some(now);
        if let Carrier::Connection(transfer) = &mut self.carrier {
            transfer.expected = Some(transfer.written);
        }
    }

    /// The sender of a bulk transfer that was stopped has sent this many octets.
    pub(crate) const fn expect(&mut self, sent: u64) {
        if let Carrier::Connection(transfer) = &mut self.carrier {
            transfer.expected = Some(sent);
        }
    }

    /// Its connection has failed.
    pub(crate) const fn give_up(&mut self, now: Instant) {
        self.gave_up_at = Some(now);
    }

    /// Records the time if nothing more is to be expected of it. Whether the flow is done with that: its
    /// connection may have failed before.
    #[inline]
    pub(crate) fn record_if_done(&mut self, now: Instant) -> bool {
        let is_over = match &self.carrier {
            Carrier::Connection(transfer) => {
                transfer.expected.is_some_and(|expected| transfer.received >= expected)
            }
            Carrier::Udp(datagrams) => self.stopped_at.is_some() && datagrams.in_network() == 0,
        };
        if !is_over || self.done_at.is_some() {
            return false;
        }
        self.done_at = Some(now);
        self.gave_up_at.is_none()
    }
}

/// What became of a flow up to some time, whatever carries it.
#[derive(Debug, Default)]
pub(crate) struct FlowSoFar {
    octets: u64,
    sender: Stats,
    rtts: RttSamples,
    datagrams: Received,
}

/// What became of it. `sender` is the endpoint that sends its data over a connection.
impl Flow {
    /// What has arrived, each octet once.
    fn octets(&self) -> u64 {
        match &self.carrier {
            Carrier::Connection(transfer) => transfer.received,
            Carrier::Udp(datagrams) => datagrams.octets(),
        }
    }

    /// Until when its goodput counts: over UDP a flow that was stopped lasted until then at least,
    /// whatever it sent last.
    fn end(&self, now: Instant) -> Instant {
        match (self.done_at, &self.carrier) {
            (None, _) => now,
            (Some(at), Carrier::Connection(_)) => at,
            (Some(_), Carrier::Udp(datagrams)) => {
                self.stopped_at.unwrap_or(Instant::ZERO).max(datagrams.last_arrived)
            }
        }
    }

    pub(crate) fn so_far(&self, sender: Option<&AnyEndpoint>) -> FlowSoFar {
        let tcp = sender.and_then(AnyEndpoint::tcp);
        FlowSoFar {
            octets: self.octets(),
            sender: tcp.map(lasthop_tcp::Connection::stats).unwrap_or_default(),
            rtts: tcp.map(|tcp| tcp.rtt().samples()).unwrap_or_default(),
            datagrams: self.datagrams().map(Datagrams::so_far).unwrap_or_default(),
        }
    }

    /// What became of it from `since` to `now`, where at `since` it was as `earlier`.
    pub(crate) fn outcome(
        &self,
        sender: Option<&AnyEndpoint>,
        now: Instant,
        (since, earlier): (Instant, &FlowSoFar),
    ) -> FlowOutcome {
        let is_udp = self.sender().is_none();
        let transport = match (&self.carrier, sender.and_then(AnyEndpoint::tcp)) {
            (Carrier::Udp(datagrams), _) => TransportOutcome::Udp(datagrams.outcome(&earlier.datagrams)),
            (Carrier::Connection(_), Some(tcp)) => {
                let rtt_mean = tcp.rtt().samples().since(earlier.rtts).mean();
                let sender = tcp.stats().since(&earlier.sender);
                TransportOutcome::Tcp(TcpOutcome { sender, rtt_mean_s: rtt_mean.map(|it| it.as_secs_f64()) })
            }
            (Carrier::Connection(_), None) => TransportOutcome::Other,
        };
        FlowOutcome {
            name: self.name.clone(),
            octets: self.octets() - earlier.octets,
            completion: self.done_at.filter(|_| !self.is_stopped() && !is_udp).map(|at| at.since(self.start)),
            measured: Measured { from: self.start.max(since), until: self.end(now) },
            gave_up: self.gave_up_at.filter(|_| self.done_at.is_none()).map(|at| at.since(self.start)),
            was_reset: self.gave_up_at.is_some() && sender.is_some_and(AnyEndpoint::was_reset),
            intact: !self.corrupted,
            transport,
        }
    }
}

/// Whether a payload is what a simulated stream has from `offset` on.
#[inline]
pub(crate) fn is_piece(payload: &Payload, stream: u32, offset: u64) -> bool {
    match payload {
        Payload::Stream { stream: its_stream, offset: its_offset, .. } => {
            *its_stream == stream && *its_offset == offset
        }
        Payload::Bytes(octets) => *payload == Payload::Stream { stream, offset, len: octets.len() as u32 },
    }
}
