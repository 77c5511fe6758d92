//! When each datagram was sent.

use std::collections::VecDeque;

use lasthop_packet::Instant;

/// Sending times of datagrams by their numbers, as long as the receiver may ask. Not in the packet,
/// because an agent may keep one and send a copy.
#[derive(Debug, Default)]
pub struct SendingTimes {
    times: VecDeque<Instant>,
    /// The number of the first in `times`.
    first: u64,
}

/// At most so many are kept, 8 MiB: only an outage in which nothing arrives leaves more behind, and
/// what was sent that long before is lost then.
const MOST: usize = 1 << 20;

impl SendingTimes {
    /// The next datagram is sent.
    pub fn push(&mut self, now: Instant) {
        if self.times.len() == MOST {
            self.times.pop_front();
            self.first += 1;
        }
        self.times.push_back(now);
    }

    /// When this one was sent, if it is still known.
    pub fn at(&self, number: u64) -> Option<Instant> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.times.get(index).copied()
    }

    /// Nobody will ask for what was sent before this one.
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
    fn times_are_known_until_forgotten_and_never_more_than_the_bound() {
        let mut times = SendingTimes::default();
        for number in 0..MOST as u64 + 10 {
            times.push(Instant::from_nanos(number));
        }
        assert_eq!((times.at(9), times.at(10)), (None, Some(Instant::from_nanos(10))));
        times.forget_before(100);
        assert_eq!((times.at(99), times.at(100)), (None, Some(Instant::from_nanos(100))));
        assert_eq!(times.at(MOST as u64 + 10), None);
        assert!(times.times.len() < MOST);
    }
}
