//! Rate control.

use crate::frame::Receiver;
use crate::phy::Rate;

/// Chooses the rates of a contender's data frames.
pub(crate) trait RateControl {
    /// The rate of the next frame to a station.
    fn rate(&self, to: Receiver) -> Rate;

    /// An exchange with a station is over. Returns whether another rate is next: a plan stands until then.
    fn on_outcome(&mut self, to: Receiver, acknowledged: bool) -> bool;
}

/// One rate for all frames.
impl RateControl for Rate {
    fn rate(&self, _to: Receiver) -> Rate {
        *self
    }

    fn on_outcome(&mut self, _to: Receiver, _acknowledged: bool) -> bool {
        false
    }
}
