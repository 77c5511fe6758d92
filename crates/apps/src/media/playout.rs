//! The playout buffer.

use std::time::Duration;

use lasthop_packet::time::nanos;

/// A playout buffer of a fixed length. The receiver plays each packet this time after the packet
/// would have arrived with the shortest delay so far. A packet that takes longer is late, and not
/// played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout {
    /// The waiting time of a packet with the shortest delay.
    pub buffer: Duration,
}

/// The state of a playout buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    length: u64,
    /// The shortest delay so far.
    shortest: u64,
    pub(super) late: u64,
}

impl Buffer {
    pub(super) fn new(playout: Playout) -> Self {
        Self { length: nanos(playout.buffer), shortest: u64::MAX, late: 0 }
    }

    /// Records the arrival of a packet with a delay of `delay` nanoseconds.
    pub(super) fn take(&mut self, delay: u64) {
        self.shortest = self.shortest.min(delay);
        self.late += u64::from(delay > self.shortest.saturating_add(self.length));
    }

    pub(super) const fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_late_if_its_delay_exceeds_the_shortest_plus_the_buffer() {
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
