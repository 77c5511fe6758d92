//! The sending times of datagrams.

use std::collections::VecDeque;

use lasthop_packet::Instant;

/// The sending times of datagrams by their numbers, as long as the receiver may need them. They are
/// not stored in the packet, because an agent may keep a packet and send a copy.
#[derive(Debug, Default)]
pub struct SendingTimes {
    times: VecDeque<Instant>,
    /// The number of the first datagram in `times`.
    first: u64,
}

/// The maximum number of times, 8 MiB. It is exceeded only in an outage without any arrival, and
/// datagrams as old as that are lost then.
const MAX_TIMES: usize = 1 << 20;

impl SendingTimes {
    /// Records that the next datagram is sent now.
    pub fn push(&mut self, now: Instant) {
        if self.times.len() == MAX_TIMES {
            self.times.pop_front();
            self.first += 1;
        }
        self.times.push_back(now);
    }

    /// The time at which a datagram was sent; `None` if it is not known any more.
    pub fn at(&self, number: u64) -> Option<Instant> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.times.get(index).copied()
    }

    /// Removes the times of datagrams with lower numbers.
    pub fn forget_before(&mut self, number: u64) {
        while self.first < number && self.times.pop_front().is_some() {
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_known_until_removed_and_their_number_is_bounded() {
        let mut times = SendingTimes::default();
        for number in 0..MAX_TIMES as u64 + 10 {
            times.push(Instant::from_nanos(number));
        }
        assert_eq!((times.at(9), times.at(10)), (None, Some(Instant::from_nanos(10))));
        times.forget_before(100);
        assert_eq!((times.at(99), times.at(100)), (None, Some(Instant::from_nanos(100))));
        assert_eq!(times.at(MAX_TIMES as u64 + 10), None);
        assert!(times.times.len() < MAX_TIMES);
    }
}
