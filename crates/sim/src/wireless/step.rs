//! What an event leads to, step by step.

use lasthop_agent::Fate;

use super::sending::Sending;
use crate::id::{HopId, MediumId};
use crate::technology::Output;

/// A part of what an event leads to. Between two of them the world carries out what came of the
/// first.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Put(Output),
    Fate(HopId, Sending, Fate),
    /// A frame's sender is through with it.
    End(HopId, Sending),
    /// The medium is free. Comes last, so that what agents send on a frame's fate queues behind what
    /// already waits.
    Release(MediumId),
    Transmit(HopId),
}
