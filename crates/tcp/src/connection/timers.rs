//! The timers of a connection.

use lasthop_agent::Deadline;
use lasthop_packet::Instant;

/// When each timer expires. There is one retransmission timer, for the oldest outstanding segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timers {
    pub(crate) retransmit: Option<Instant>,
    pub(crate) delayed_ack: Option<Instant>,
    /// Window probes while the peer's window is closed (RFC 9293, section 3.8.6.1).
    pub(crate) persist: Option<Instant>,
    pub(crate) time_wait: Option<Instant>,
    /// A segment waits for its time.
    pub(crate) pacing: Option<Instant>,
    /// Loss recovery's own.
    pub(crate) recovery: Option<Deadline>,
}

impl Timers {
    #[inline]
    pub(super) fn next(&self) -> Option<Deadline> {
        let deadline = |at: Option<Instant>, reason| at.map(|at| Deadline { at, reason });
        let first = Deadline::earliest(deadline(self.retransmit, "retransmission timer"), self.recovery);
        if self.delayed_ack.is_none()
            && self.persist.is_none()
            && self.time_wait.is_none()
            && self.pacing.is_none()
        {
            return first;
        }
        let first = Deadline::earliest(first, deadline(self.pacing, "pacing"));
        let second = Deadline::earliest(first, deadline(self.delayed_ack, "delayed ACK"));
        let third = Deadline::earliest(second, deadline(self.persist, "window probe"));
        Deadline::earliest(third, deadline(self.time_wait, "TIME-WAIT"))
    }
}
