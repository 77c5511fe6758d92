//! What an endpoint remembers of congestion marks (RFC 3168, section 6.1).

use lasthop_packet::Seq;
use serde::{Deserialize, Serialize};

/// What an end remembers of marks.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ecn {
    /// A mark came in: every ACK echoes it until the peer says that its window is reduced.
    pub(super) is_echoing: bool,
    /// Our window was reduced: the next new segment says so.
    pub(super) owes_notice: bool,
    /// What was sent before this was sent before the last reduction.
    pub(super) reduced_at: Option<Seq>,
    /// The ACK that is being processed echoes a mark.
    pub(super) is_echoed: bool,
}
