//! Rate control.

use crate::frame::Receiver;
use crate::phy::Rate;

/// Chooses the rates of a contender's data frames.
pub(crate) trait RateControl {
    /// The rate of the next data frame to a receiver.
    fn rate(&self, to: Receiver) -> Rate;

    /// Learns the outcome of an exchange. Returns whether a different rate is next, so that a plan
    /// no longer holds.
    fn on_outcome(&mut self, to: Receiver, acknowledged: bool) -> bool;
}

/// A fixed rate.
impl RateControl for Rate {
    fn rate(&self, _to: Receiver) -> Rate {
        *self
    }

    fn on_outcome(&mut self, _to: Receiver, _acknowledged: bool) -> bool {
        false
    }
}
