//! When an application writes, reads and closes.

use std::time::Duration;

use lasthop_packet::Instant;

/// The actions of an application.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Octets that it writes, `piece` of them every `every_ms`.
    pub octets: u64,
    pub piece: u64,
    pub every_ms: u64,
    pub reading: Reading,
    pub closing: Closing,
    pub abort_ms: Option<u64>,
}

/// When it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    AtOnce,
    /// One piece, this many milliseconds after it arrived or after the last one: its window closes.
    Piecemeal(u64),
    /// All available data, this many milliseconds after the first of it arrived.
    Seldom(u64),
}

impl Reading {
    /// The time from the arrival of data until it is read.
    pub const fn interval(self) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            Self::Piecemeal(interval) | Self::Seldom(interval) => Duration::from_millis(interval),
        }
    }
}

/// When it closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// When all data is written.
    Written,
    /// When all data is written, and the other end has closed.
    Second,
}

/// The progress of an application.
#[derive(Clone, Debug)]
pub struct Application {
    pub plan: Plan,
    pub written: u64,
    pub received: u64,
    pub has_closed: bool,
    pub has_aborted: bool,
    pub next_write: Option<Instant>,
    pub next_read: Option<Instant>,
}

impl Application {
    pub fn new(plan: Plan) -> Self {
        let next_write = Some(Instant::ZERO);
        Self {
            plan,
            written: 0,
            received: 0,
            has_closed: false,
            has_aborted: false,
            next_write,
            next_read: None,
        }
    }

    /// The time of its next action.
    pub fn next(&self) -> Option<Instant> {
        let abort = self.plan.abort_ms.filter(|_| !self.has_aborted).map(Instant::from_millis);
        [self.next_write, self.next_read, abort].into_iter().flatten().min()
    }
}
