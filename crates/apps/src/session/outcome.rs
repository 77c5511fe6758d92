//! What became of a session.

use crate::durations::Durations;
use crate::measured::Measured;
use crate::media::{CallOutcome, CallSoFar};

/// What became of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOutcome {
    /// The session's name.
    pub name: String,
    /// Octets that the two applications got, of connections in order and each once, of streams the
    /// packets' payloads.
    pub octets: u64,
    /// The time from its start to its stop, or to when all that was begun by then was done, or to the
    /// end of the run.
    pub measured: Measured,
    /// Whether every octet was the one that was sent.
    pub intact: bool,
    /// What it came to.
    pub result: SessionResult,
}

impl SessionOutcome {
    /// Octets over that time, in bits per second.
    pub fn goodput_bps(&self) -> f64 {
        self.measured.rate_bps(self.octets)
    }
}

/// What a session came to.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionResult {
    /// A call.
    Call(CallOutcome),
    /// A dialogue.
    Dialogue(DialogueOutcome),
}

/// What became of a dialogue. A transaction is a page, a message, a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialogueOutcome {
    /// Transactions that are complete, and how long each took: from its first request, and before
    /// that the first SYN, to the last octet of it.
    pub times: Durations,
    /// Transactions whose connections failed.
    pub failed: u64,
    /// Transactions that are not over.
    pub under_way: u64,
    /// Octets that the two applications wrote.
    pub offered: u64,
    /// Connections opened.
    pub connections: u64,
    /// Segments that the two hosts' TCP sent again.
    pub retransmits: u64,
    /// Expiries of their retransmission timers.
    pub timeouts: u64,
    /// Their fast retransmits.
    pub fast_retransmits: u64,
}

impl DialogueOutcome {
    /// What became of it since it was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            times: self.times.since(&earlier.times),
            failed: self.failed - earlier.failed,
            under_way: self.under_way,
            offered: self.offered - earlier.offered,
            connections: self.connections - earlier.connections,
            retransmits: self.retransmits - earlier.retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
        }
    }
}

/// What became of a session up to some time; of a call or of a dialogue.
#[derive(Debug, Default)]
pub struct SessionSoFar {
    /// If it is a call.
    pub call: CallSoFar,
    /// If it is a dialogue.
    pub dialogue: DialogueOutcome,
    /// Octets of a dialogue that have arrived at both ends.
    pub received: u64,
}
