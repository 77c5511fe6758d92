//! How ports are, and when to look and to mend.

use std::time::Duration;

use lasthop_packet::Instant;

use super::Fault;

/// How often it is looked whether the ports are as they were, and tried to mend what is not.
pub(super) const ROUND: Duration = Duration::from_secs(1);

/// What is known of a backend's ports.
#[derive(Debug)]
pub(super) struct Health {
    pub(super) faults: Vec<Fault>,
    round: Instant,
    pub(super) attempts: Attempts,
}

impl Health {
    /// Nothing is known to be wrong.
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

/// After an attempt to mend something that did not help, the next one is twice as far away, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// When to try to mend what is broken.
#[derive(Debug)]
pub(super) struct Attempts {
    next: Instant,
    pause: Duration,
}

impl Attempts {
    /// Nothing is broken yet.
    const fn new(now: Instant) -> Self {
        Self { next: now, pause: ROUND }
    }

    /// Nothing is broken any more: the next attempt is at once again.
    pub(super) const fn start_anew(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Whether to try now to mend what is broken.
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
    fn what_stays_broken_is_tried_less_and_less_often_and_what_breaks_anew_at_once() {
        let at = Instant::from_secs;
        let mut attempts = Attempts::new(at(0));
        let tried: Vec<u64> = (0..300).filter(|second| attempts.may_try(at(*second))).collect();
        assert_eq!(tried, [0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
        attempts.start_anew(at(300));
        assert!(attempts.may_try(at(301)) && !attempts.may_try(at(301)));
    }

    /// It is new after each attempt, and is known to be broken some time before it is to be mended.
    #[test]
    fn what_a_replacement_does_not_help_is_replaced_less_and_less_often() {
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
