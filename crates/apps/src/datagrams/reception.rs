//! The receiver's books: what arrived, how often, in what order.

use lasthop_packet::Instant;

use super::delay::Delays;
use super::outcome::UdpOutcome;
use crate::durations::Durations;

/// How far behind the highest number a second copy is still known for one: beyond, a datagram
/// counts as new.
const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;

/// What the receiver makes of the datagrams that arrive.
#[derive(Debug, Default)]
pub struct Reception {
    /// Distinct datagrams.
    pub received: u64,
    /// Datagrams that had arrived before.
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later.
    pub out_of_order: u64,
    /// How long they were on their way.
    pub delay: Delays,
    /// One above the highest number.
    next: u64,
    /// Which of the last [`WINDOW`] numbers below `next` have arrived: bit `number % WINDOW`.
    seen: [u64; WORDS],
}

/// What became of datagrams up to some time.
#[derive(Clone, Debug, Default)]
pub struct Received {
    outcome: UdpOutcome,
    delays: Durations,
}

impl Received {
    /// How long they were on their way.
    pub const fn delays(&self) -> &Durations {
        &self.delays
    }
}

impl Reception {
    /// A datagram that was sent at `sent` arrives; whether it is the first copy of it.
    pub fn receive(&mut self, number: u64, now: Instant, sent: Option<Instant>) -> bool {
        if number >= self.next {
            self.forget_between(number);
            self.next = number + 1;
        } else if self.next - number <= WINDOW {
            if self.has_seen(number) {
                self.duplicated += 1;
                return false;
            }
            self.out_of_order += 1;
        } else {
            self.out_of_order += 1;
        }
        self.received += 1;
        if self.next - number <= WINDOW {
            self.seen[word(number)] |= bit(number);
        }
        if let Some(sent) = sent {
            self.delay.take(sent, now);
        }
        true
    }

    /// Datagrams up to the highest number that arrived.
    pub const fn expected(&self) -> u64 {
        self.next
    }

    /// What became of `sent` datagrams, of which there are `in_network` copies in the network, since
    /// `earlier`.
    pub fn outcome(&self, sent: u64, in_network: u64, earlier: &Received) -> UdpOutcome {
        let all = self.all(sent, in_network);
        let before = &earlier.outcome;
        UdpOutcome {
            sent: all.sent - before.sent,
            received: all.received - before.received,
            // What an agent kept, and sent on later, is lost no longer.
            lost: all.lost.saturating_sub(before.lost),
            in_transit: all.in_transit,
            duplicated: all.duplicated - before.duplicated,
            out_of_order: all.out_of_order - before.out_of_order,
            delay: self.delay.outcome(&earlier.delays),
        }
    }

    /// What became of them so far, to be the `earlier` of [`Self::outcome`].
    pub fn so_far(&self, sent: u64, in_network: u64) -> Received {
        Received { outcome: self.all(sent, in_network), delays: self.delay.durations().clone() }
    }

    /// All counts from the start, without delays.
    fn all(&self, sent: u64, in_network: u64) -> UdpOutcome {
        let Self { received, duplicated, out_of_order, .. } = *self;
        // Copies of what is older than the window count as new ones.
        let missing = sent.saturating_sub(received);
        // A second copy of what has arrived is in the network, too, and does not bring anything.
        let in_transit = in_network.min(missing);
        UdpOutcome {
            sent,
            received,
            lost: missing - in_transit,
            in_transit,
            duplicated,
            out_of_order,
            delay: None,
        }
    }

    /// Numbers below this one are too old to be told from duplicates.
    pub const fn oldest_of_interest(&self) -> u64 {
        self.next.saturating_sub(WINDOW)
    }

    /// The places of the numbers from `next` to `number` were those of older ones.
    fn forget_between(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen = [0; WORDS];
            return;
        }
        for skipped in self.next..=number {
            self.seen[word(skipped)] &= !bit(skipped);
        }
    }

    fn has_seen(&self, number: u64) -> bool {
        self.seen[word(number)] & bit(number) != 0
    }
}

const fn word(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}

const fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Received, duplicated, out of order.
    fn of(numbers: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
        let mut reception = Reception::default();
        for number in numbers {
            reception.receive(number, Instant::ZERO, None);
        }
        (reception.received, reception.duplicated, reception.out_of_order)
    }

    #[test]
    fn second_copies_and_late_ones_are_told_apart() {
        assert_eq!(of(0..5000), (5000, 0, 0));
        assert_eq!(of([0, 1, 1, 3, 2, 2, 3, 0]), (4, 4, 1));
        // What was lost does not count as seen when its place is used again.
        assert_eq!(of([0, 1023, 1024, 2000, 1100, 1100]), (5, 1, 1));
        assert_eq!(of([0, 5000, 4000, 4000, 5000]), (3, 2, 1));
    }

    #[test]
    fn what_is_older_than_the_window_counts_as_late() {
        assert_eq!(of([0, 5000, 0]), (3, 0, 1));
    }
}
