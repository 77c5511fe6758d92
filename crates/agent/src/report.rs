//! Reports of agents about their actions.

use lasthop_packet::Seq;

use crate::counter::Counter;

/// An action of an agent. A world counts it, and shows it in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The counter.
    pub counter: &'static Counter,
    /// The increment of the counter: 1, unless it counts octets.
    pub amount: u64,
    /// The first sequence number of the data, or the acknowledgment number.
    pub seq: Option<Seq>,
    /// The variant: a message's name, a bound, a cause; may be empty.
    pub detail: &'static str,
}

impl Report {
    /// A report of a single action.
    pub const fn new(counter: &'static Counter) -> Self {
        Self { counter, amount: 1, seq: None, detail: "" }
    }

    /// Sets the number of the data or acknowledgment.
    #[must_use]
    pub const fn at(self, seq: Seq) -> Self {
        Self { seq: Some(seq), ..self }
    }

    /// Sets the variant.
    #[must_use]
    pub const fn which(self, detail: &'static str) -> Self {
        Self { detail, ..self }
    }
}

/// The cause of a retransmission by an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs.
    DuplicateAck,
    /// A local timer.
    Timer,
}

impl Cause {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuplicateAck => "duplicate ACK",
            Self::Timer => "timer",
        }
    }
}
