//! One TCP transfer and its outcome.

use lasthop_packet::{Instant, Payload};
use lasthop_tcp::Stats;

use crate::config::Opening;
use crate::id::{ConnectionId, NodeId};

/// A transfer as it stands.
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
    /// Octets to transfer, if there is an end.
    pub size: Option<u64>,
    pub(crate) opening: Opening,
    pub(crate) sender: ConnectionId,
    /// The simulated stream that it carries.
    pub(crate) stream: u32,
    pub(crate) received: u64,
    /// Octets after which nothing more is to be expected: its size, or what was sent until the application stopped.
    pub(crate) expected: Option<u64>,
    /// When the last of them arrived.
    pub(crate) done_at: Option<Instant>,
    /// Whether the application stopped before the end.
    pub(crate) stopped: bool,
    /// An octet arrived that was not the one sent: a broken simulation.
    pub(crate) corrupted: bool,
}

impl Flow {
    /// The receiving application takes a piece of data and checks that it is the piece that was sent there.
    #[inline]
    pub(crate) fn receive(&mut self, payload: &Payload, now: Instant) {
        let right = match payload {
            Payload::Stream { stream, offset, .. } => *stream == self.stream && *offset == self.received,
            Payload::Bytes(octets) => {
                let expected =
                    Payload::Stream { stream: self.stream, offset: self.received, len: octets.len() as u32 };
                *payload == expected
            }
        };
        self.corrupted |= !right;
        self.received += payload.len() as u64;
        self.note_if_done(now);
    }

    /// Notes the time if nothing more is to be expected of it.
    #[inline]
    pub(crate) fn note_if_done(&mut self, now: Instant) {
        if self.done_at.is_none() && self.expected.is_some_and(|expected| self.received >= expected) {
            self.done_at = Some(now);
        }
    }

    /// Whether nothing more is to be expected of it.
    pub(crate) const fn is_done(&self) -> bool {
        self.done_at.is_some()
    }
}

/// What became of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// The flow's name.
    pub name: String,
    /// Octets that the receiving application got, in order and once.
    pub octets: u64,
    /// From the flow's start to the arrival of its last octet; `None` if it did not end, or was stopped before its end.
    pub completion: Option<std::time::Duration>,
    /// Octets times eight over the time from its start to its last octet, or to the end of the run.
    pub goodput_bps: f64,
    /// What the sending endpoint did.
    pub sender: Stats,
    /// Mean of the round-trip times that the sender measured, in seconds; `None` without a measurement.
    pub rtt_mean_s: Option<f64>,
    /// Whether every octet was the one that was sent.
    pub intact: bool,
}
