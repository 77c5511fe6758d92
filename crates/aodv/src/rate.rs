//! Rate limits of messages.

use std::collections::VecDeque;
use std::time::Duration;

use lasthop_packet::Instant;

/// A limit on the number of messages per second.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    limit: usize,
    sent: VecDeque<Instant>,
}

const SECOND: Duration = Duration::from_secs(1);

impl Rate {
    pub(super) const fn new(limit: u32) -> Self {
        Self { limit: limit as usize, sent: VecDeque::new() }
    }

    /// Counts a message, or returns when the next one is allowed; never, if the limit is zero.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Instant> {
        while self.sent.front().is_some_and(|first| *first + SECOND <= now) {
            self.sent.pop_front();
        }
        if self.sent.len() < self.limit {
            self.sent.push_back(now);
            return Ok(());
        }
        Err(self.sent.front().map_or(Instant::MAX, |first| *first + SECOND))
    }
}
