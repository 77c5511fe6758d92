//! The frames of an exchange.

use super::frame::Receiver;
use super::phy::Rate;

/// The durations of an exchange's frames in nanoseconds, and their rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) to: Receiver,
    pub(crate) guard: Guard,
    pub(crate) data: u64,
    pub(crate) data_octets: u32,
    pub(crate) data_rate: Rate,
    /// `None` for a broadcast.
    pub(crate) ack: Option<u64>,
}

/// What precedes the data frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Guard {
    Nothing,
    CtsToSelf(u64),
    RtsCts { rts: u64, cts: u64 },
}
