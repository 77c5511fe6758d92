//! The health of ports, and when to check and mend them.

use std::time::Duration;

use lasthop_packet::Instant;

use super::Fault;

/// The interval at which the ports are checked and mended.
pub(super) const ROUND: Duration = Duration::from_secs(1);

/// The state of a backend's ports.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) faults: Vec<Fault>,
    round: Instant,
    pub(super) attempts: Attempts,
}

impl Health {
    /// The state without known faults.
    pub(super) const fn new(now: Instant) -> Self {
        Self { faults: Vec::new(), round: now, attempts: Attempts::new(now) }
    }

    /// Whether it is time for another round.
    pub(super) fn is_round(&mut self, now: Instant) -> bool {
        let is_round = now.since(self.round) >= ROUND;
        if is_round {
            self.round = now;
        }
        is_round
    }
}

/// The maximum pause between attempts to mend a port. The pause doubles after each attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// The schedule of attempts to mend ports.
#[derive(Debug)]
pub(super) struct Attempts {
    next: Instant,
    pause: Duration,
}

impl Attempts {
    const fn new(now: Instant) -> Self {
        Self { next: now, pause: ROUND }
    }

    /// Resets the schedule after all faults have ended: the next attempt may be made at once.
    pub(super) const fn reset(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Whether an attempt may be made now.
    pub(super) fn may_try(&mut self, now: Instant) -> bool {
        let may = now >= self.next;
        if may {
            self.next = now + self.pause;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_back_off_while_a_fault_lasts_and_start_at_once_for_a_new_one() {
        let at = Instant::from_secs;
        let mut attempts = Attempts::new(at(0));
        let tried: Vec<u64> = (0..300).filter(|second| attempts.may_try(at(*second))).collect();
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
        attempts.reset(at(300));
        assert!(attempts.may_try(at(301)) && !attempts.may_try(at(301)));
    }

    /// A replaced device is new, and must be broken for some time before it is replaced again.
    #[test]
    fn replacements_back_off_if_the_new_device_is_broken_too() {
        let mut attempts = Attempts::new(Instant::from_secs(0));
        let mut tried: Vec<u64> = Vec::new();
        for second in 0..100 {
            let is_lasting = tried.last().is_none_or(|last| second - last >= 2);
            if is_lasting && attempts.may_try(Instant::from_secs(second)) {
                tried.push(second);
            }
        }
        assert_eq!(tried, [0, 2, 4, 8, 16, 32, 64]);
    }
}
