//! What agents tell of what they do.

use lasthop_packet::Seq;

use crate::counter::Counter;

/// Something that an agent did. A world counts it, and shows it in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What.
    pub counter: &'static Counter,
    /// By how much the counter goes up: 1, unless it counts octets.
    pub amount: u64,
    /// The first sequence number of the data, or the acknowledgment number.
    pub seq: Option<Seq>,
    /// Which of its kind: a message's name, a bound, a cause; may be empty.
    pub detail: &'static str,
}

impl Report {
    /// It happened once.
    pub const fn of(counter: &'static Counter) -> Self {
        Self { counter, amount: 1, seq: None, detail: "" }
    }

    /// To the data or acknowledgment of this number.
    #[must_use]
    pub const fn at(self, seq: Seq) -> Self {
        Self { seq: Some(seq), ..self }
    }

    /// Which of its kind.
    #[must_use]
    pub const fn which(self, detail: &'static str) -> Self {
        Self { detail, ..self }
    }
}

/// What made an agent retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs.
    DuplicateAck,
    /// A local timer.
    Timer,
}

impl Cause {
    /// In a report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuplicateAck => "duplicate ACK",
            Self::Timer => "timer",
        }
    }
}
