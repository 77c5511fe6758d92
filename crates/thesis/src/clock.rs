//! The clock of the thesis's simulator.

use std::time::Duration;

/// The thesis's simulator counts milliseconds, and cuts transmission times down to whole ones: only
/// so do the round-trip time of 351 ms (figure 5.3), the exchange of 10 ms and the failed attempt
/// of 11 ms (appendix B.4) come out.
pub const CLOCK: Duration = Duration::from_millis(1);
