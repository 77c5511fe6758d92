//! The outcome of a session.

use lasthop_tcp::Stats;

use crate::durations::Durations;
use crate::measured::Measured;
use crate::media::{CallOutcome, CallSoFar};

/// The outcome of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionOutcome {
    /// The session's name.
    pub name: String,
    /// Octets received by the two applications: of connections in order, each once; of streams the
    /// packets' payloads.
    pub octets: u64,
    /// The period from its start to its stop, or to the completion of all that had begun by then,
    /// or to the end of the run.
    pub measured: Measured,
    /// Whether every octet received was the one sent.
    pub intact: bool,
    /// The result of its activity.
    pub result: SessionResult,
}

impl SessionOutcome {
    /// The octets per time in [`Self::measured`], in bits per second.
    pub fn goodput_bps(&self) -> f64 {
        self.measured.rate_bps(self.octets)
    }
}

/// The result of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionResult {
    /// A call.
    Call(CallOutcome),
    /// A dialogue.
    Dialogue(DialogueOutcome),
}

/// The outcome of a dialogue. A transaction is a page, a message or a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DialogueOutcome {
    /// The durations of complete transactions: from the first SYN, or from the first request on an
    /// open connection, to the last octet.
    pub times: Durations,
    /// Transactions whose connections failed.
    pub failed: u64,
    /// Transactions in progress.
    pub under_way: u64,
    /// Octets that the two applications wrote.
    pub offered: u64,
    /// Connections opened.
    pub connections: u64,
    /// Segments that the two hosts retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts of the two hosts.
    pub timeouts: u64,
    /// Fast retransmits of the two hosts.
    pub fast_retransmits: u64,
}

impl DialogueOutcome {
    /// Adds the statistics of an endpoint of one of its connections.
    pub const fn count(&mut self, stats: &Stats) {
        self.retransmits += stats.retransmits;
        self.timeouts += stats.timeouts;
        self.fast_retransmits += stats.fast_retransmits;
    }

    /// The outcome since `earlier`.
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

/// The outcome of a session up to some time.
#[derive(Debug, Default)]
pub struct SessionSoFar {
    /// The outcome of a call.
    pub call: CallSoFar,
    /// The outcome of a dialogue.
    pub dialogue: DialogueOutcome,
    /// The octets of a dialogue that have arrived, at both ends together.
    pub received: u64,
}
