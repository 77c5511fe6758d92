//! What comes too late to be played.

use std::time::Duration;

use lasthop_packet::time::nanos;

/// A playout buffer of a fixed length: a receiver plays each packet this long after the time at which
/// the fastest one so far would have arrived. What takes longer is late, and lost to who listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// How long what took the shortest time waits.
    pub buffer: Duration,
}

/// The buffer at work.
#[derive(Debug)]
pub(super) struct Buffer {
    length: u64,
    /// The shortest delay so far.
    least: u64,
    pub(super) late: u64,
}

impl Buffer {
    pub(super) fn new(playout: Playout) -> Self {
        Self { length: nanos(playout.buffer), least: u64::MAX, late: 0 }
    }

    /// A packet has arrived that took `delay` nanoseconds.
    pub(super) fn take(&mut self, delay: u64) {
        self.least = self.least.min(delay);
        self.late += u64::from(delay > self.least.saturating_add(self.length));
    }

    pub(super) const fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_than_the_fastest_and_the_buffer_is_late() {
        let mut buffer = Buffer::new(Playout { buffer: Duration::from_millis(60) });
        let late: Vec<u64> = [20, 80, 81, 10, 70, 71]
            .into_iter()
            .map(|ms| {
                buffer.take(ms * 1_000_000);
                buffer.late
            })
            .collect();
        assert_eq!(late, [0, 0, 1, 1, 1, 2]);
    }
}
