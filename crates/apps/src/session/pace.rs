//! The start times of transactions.

use std::time::Duration;

use lasthop_packet::{Bitrate, Instant, Rng};

/// The pace of a session's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A think time between the end of a transaction and the start of the next, exponentially
    /// distributed with this mean. The first transaction starts with the session.
    Think(Duration),
    /// An offered load with this mean rate, independent of the network. The interval before a
    /// transaction is exponentially distributed; its mean is the time that this rate takes for the
    /// transaction's octets. A transaction that takes longer delays the start of the next one, but
    /// not the times at which later ones are due.
    Load(Bitrate),
}

/// The state of a session's pace.
#[derive(Debug)]
pub(super) struct Pacer {
    pace: Pace,
    /// The time at which the next transaction of a load is due, independent of the durations of
    /// those before.
    due: Instant,
    is_first: bool,
}

impl Pacer {
    pub(super) const fn new(pace: Pace, start: Instant) -> Self {
        Self { pace, due: start, is_first: true }
    }

    /// Draws the start time of the next transaction, of `octets`, after the previous one has ended
    /// at `now`.
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
