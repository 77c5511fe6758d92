//! When the next transaction begins.

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Rng};

/// What decides when a session begins its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The client thinks from the end of one to the begin of the next, exponentially distributed
    /// with this mean; the first begins with the session.
    Think(Duration),
    /// This rate is offered in the mean, whatever the network makes of it: the time that belongs to a
    /// transaction is exponentially distributed, and in the mean as long as this rate takes for
    /// what is written in it. It lies before the transaction; one that is still going on then delays
    /// the next, but not the time of those behind.
    Load(Bitrate),
}

/// A session's pace at work.
#[derive(Debug)]
pub(super) struct Pacer {
    pace: Pace,
    /// When the next transaction is due: of a load, however long the ones before it took.
    due: Instant,
    is_first: bool,
}

impl Pacer {
    pub(super) const fn new(pace: Pace, start: Instant) -> Self {
        Self { pace, due: start, is_first: true }
    }

    /// When the next transaction begins, if the one before it has ended by `now`; `octets` will be
    /// written in it.
    pub(super) fn next(&mut self, octets: u64, now: Instant, rng: &mut Rng) -> Instant {
        match self.pace {
            Pace::Think(_) if std::mem::take(&mut self.is_first) => now,
            Pace::Think(mean) => now + rng.exponential(mean),
            Pace::Load(rate) => {
                self.due += rng.exponential(rate.transmission_time(octets));
                self.due.max(now)
            }
        }
    }
}
