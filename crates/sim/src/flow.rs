//! A flow: an application, what carries it, and its outcome.

use lasthop_packet::{Instant, Payload};
use lasthop_tcp::Stats;
use lasthop_tcp::rtt::RttSamples;

use crate::config::Opening;
use crate::id::{ConnectionId, NodeId};
use lasthop_apps::datagrams::{Datagrams, Received, UdpOutcome};
use lasthop_apps::measured::Measured;
use lasthop_apps::traffic::Source;

/// A flow as it stands.
#[derive(Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Who sends.
    pub from: NodeId,
    /// Who receives.
    pub to: NodeId,
    /// When it starts.
    pub start: Instant,
    /// Octets to send in all, if there is an end to them.
    pub size: Option<u64>,
    pub(crate) source: Source,
    pub(crate) carrier: Carrier,
    /// The simulated stream that it carries.
    pub(crate) stream: u32,
    /// Whether a run waits for it: it has a size, or is to be stopped.
    pub(crate) has_end: bool,
    /// When the application stopped before its end.
    pub(crate) stopped_at: Option<Instant>,
    /// When nothing more was to be expected of it.
    pub(crate) done_at: Option<Instant>,
    /// When its connection failed before its end. Its goodput counts on: nothing arrives any more.
    pub(crate) gave_up_at: Option<Instant>,
    /// An octet arrived that was not the one sent: a broken simulation.
    pub(crate) corrupted: bool,
}

/// What carries a flow.
#[derive(Debug)]
pub(crate) enum Carrier {
    Tcp(Transfer),
    Udp(Box<Datagrams>),
}

/// A flow over TCP.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) sender: ConnectionId,
    pub(crate) opening: Opening,
    /// Octets that the application has written.
    pub(crate) written: u64,
    pub(crate) received: u64,
    /// Octets after which nothing more is to be expected: its size, or what was sent until the
    /// application stopped.
    pub(crate) expected: Option<u64>,
}

impl Flow {
    /// The receiving application takes a piece of data and checks that it is the piece that was
    /// sent there.
    #[inline]
    pub(crate) fn receive(&mut self, payload: &Payload, now: Instant) {
        let Carrier::Tcp(transfer) = &mut self.carrier else { return };
        let right = is_piece(payload, self.stream, transfer.received);
        self.corrupted |= !right;
        transfer.received += payload.len() as u64;
        self.note_if_done(now);
    }

    /// Notes the time if nothing more is to be expected of it.
    #[inline]
    pub(crate) fn note_if_done(&mut self, now: Instant) {
        let is_over = match &self.carrier {
            Carrier::Tcp(transfer) => transfer.expected.is_some_and(|expected| transfer.received >= expected),
            Carrier::Udp(datagrams) => self.stopped_at.is_some() && datagrams.in_network() == 0,
        };
        if is_over && self.done_at.is_none() {
            self.done_at = Some(now);
        }
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

    /// The endpoint that sends its data; `None` over UDP.
    pub(crate) const fn sender(&self) -> Option<ConnectionId> {
        match &self.carrier {
            Carrier::Tcp(transfer) => Some(transfer.sender),
            Carrier::Udp(_) => None,
        }
    }

    pub(crate) fn datagrams(&mut self) -> Option<&mut Datagrams> {
        match &mut self.carrier {
            Carrier::Tcp(_) => None,
            Carrier::Udp(datagrams) => Some(datagrams),
        }
    }

    /// What has arrived, each octet once.
    pub(crate) fn octets(&self) -> u64 {
        match &self.carrier {
            Carrier::Tcp(transfer) => transfer.received,
            Carrier::Udp(datagrams) => datagrams.octets(),
        }
    }

    /// Until when its goodput counts: over UDP a flow that was stopped lasted until then at least,
    /// whatever it sent last.
    pub(crate) fn end(&self, now: Instant) -> Instant {
        match (self.done_at, &self.carrier) {
            (None, _) => now,
            (Some(at), Carrier::Tcp(_)) => at,
            (Some(_), Carrier::Udp(datagrams)) => {
                self.stopped_at.unwrap_or(Instant::ZERO).max(datagrams.last_arrived)
            }
        }
    }
}

/// What became of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// The flow's name.
    pub name: String,
    /// Octets that the receiving application got: over TCP in order, and each once.
    pub octets: u64,
    /// From the flow's start to the arrival of its last octet; `None` if it did not end, or was
    /// stopped before its end, or goes over UDP.
    pub completion: Option<std::time::Duration>,
    /// The time from its start to its last octet, or to the end of the run; over UDP to its stop if
    /// that is later.
    pub measured: Measured,
    /// From the flow's start to when the sender gave up or was reset; `None` if it did not, and over
    /// UDP.
    pub gave_up: Option<std::time::Duration>,
    /// Whether it was a reset that ended the flow.
    pub was_reset: bool,
    /// Whether every octet was the one that was sent.
    pub intact: bool,
    /// What its transport did.
    pub transport: TransportOutcome,
}

/// What became of a flow up to some time; over TCP or UDP.
#[derive(Debug, Default)]
pub(crate) struct FlowSoFar {
    pub(crate) octets: u64,
    pub(crate) sender: Stats,
    pub(crate) rtts: RttSamples,
    pub(crate) datagrams: Received,
}

/// What a flow's transport did.
#[derive(Clone, Debug, PartialEq)]
pub enum TransportOutcome {
    /// Over TCP.
    Tcp(TcpOutcome),
    /// Over UDP.
    Udp(UdpOutcome),
}

/// What TCP did.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOutcome {
    /// What the sending endpoint did.
    pub sender: Stats,
    /// Mean of the round-trip times that the sender measured, in seconds; `None` without a
    /// measurement.
    pub rtt_mean_s: Option<f64>,
}

impl FlowOutcome {
    /// Octets over that time, in bits per second.
    pub fn goodput_bps(&self) -> f64 {
        self.measured.rate_bps(self.octets)
    }

    /// What TCP did, if it carried the flow.
    pub const fn tcp(&self) -> Option<&TcpOutcome> {
        match &self.transport {
            TransportOutcome::Tcp(outcome) => Some(outcome),
            TransportOutcome::Udp(_) => None,
        }
    }

    /// What became of its datagrams, if it went over UDP.
    pub const fn udp(&self) -> Option<&UdpOutcome> {
        match &self.transport {
            TransportOutcome::Tcp(_) => None,
            TransportOutcome::Udp(outcome) => Some(outcome),
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
