//! The receiver's statistics: arrivals, duplicates and reordering.

use lasthop_packet::Instant;

use super::delay::Delays;
use super::outcome::UdpOutcome;
use crate::durations::Durations;

/// The number of datagrams below the highest number for which duplicates are detected. An older
/// datagram counts as new.
const WINDOW: u64 = 1024;
const WORDS: usize = (WINDOW / 64) as usize;

/// The receiver's statistics of the datagrams that have arrived.
#[derive(Debug, Default)]
pub struct Reception {
    /// Distinct datagrams.
    pub received: u64,
    /// Datagrams that had arrived before.
    pub duplicated: u64,
    /// Datagrams that arrived after one that was sent later.
    pub out_of_order: u64,
    /// The one-way delays.
    pub delay: Delays,
    /// The highest number, plus one.
    next: u64,
    /// A bit map of the last [`WINDOW`] numbers below `next` that have arrived: bit `number %
    /// WINDOW`.
    seen: [u64; WORDS],
}

/// The statistics of a flow's datagrams up to some time.
#[derive(Clone, Debug, Default)]
pub struct Received {
    outcome: UdpOutcome,
    delays: Durations,
}

impl Received {
    /// The one-way delays.
    pub const fn delays(&self) -> &Durations {
        &self.delays
    }
}

impl Reception {
    /// Records the arrival of a datagram that was sent at `sent`. Returns whether it is the first
    /// copy.
    pub fn receive(&mut self, number: u64, now: Instant, sent: Option<Instant>) -> bool {
        if number >= self.next {
            self.clear_up_to(number);
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

    /// The number of datagrams up to the highest number that has arrived.
    pub const fn expected(&self) -> u64 {
        self.next
    }

    /// The outcome since `earlier`, given `sent` datagrams, of which `in_network` copies are in the
    /// network.
    pub fn outcome(&self, sent: u64, in_network: u64, earlier: &Received) -> UdpOutcome {
        let all = self.all(sent, in_network);
        let before = &earlier.outcome;
        UdpOutcome {
            sent: all.sent - before.sent,
            received: all.received - before.received,
            // A datagram that an agent kept and sent later is not lost any more.
            lost: all.lost.saturating_sub(before.lost),
            in_transit: all.in_transit,
            duplicated: all.duplicated - before.duplicated,
            out_of_order: all.out_of_order - before.out_of_order,
            delay: self.delay.outcome(&earlier.delays),
        }
    }

    /// The statistics so far, for `earlier` of [`Self::outcome`].
    pub fn so_far(&self, sent: u64, in_network: u64) -> Received {
        Received { outcome: self.all(sent, in_network), delays: self.delay.durations().clone() }
    }

    /// All counts from the start, without delays.
    fn all(&self, sent: u64, in_network: u64) -> UdpOutcome {
        let Self { received, duplicated, out_of_order, .. } = *self;
        // `received` may include duplicates of datagrams older than the window.
        let missing = sent.saturating_sub(received);
        // Copies in the network may include duplicates of datagrams that have arrived.
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

    /// The lowest number for which duplicates are detected.
    pub const fn oldest_of_interest(&self) -> u64 {
        self.next.saturating_sub(WINDOW)
    }

    /// Clears the bits of the numbers from `next` to `number`, which belonged to older numbers.
    fn clear_up_to(&mut self, number: u64) {
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

    /// The counts of received, duplicated and reordered datagrams after these arrivals.
    fn of(numbers: impl IntoIterator<Item = u64>) -> (u64, u64, u64) {
        let mut reception = Reception::default();
        for number in numbers {
            reception.receive(number, Instant::ZERO, None);
        }
        (reception.received, reception.duplicated, reception.out_of_order)
    }

    #[test]
    fn duplicates_and_reordered_datagrams_are_distinguished() {
        assert_eq!(of(0..5000), (5000, 0, 0));
        assert_eq!(of([0, 1, 1, 3, 2, 2, 3, 0]), (4, 4, 1));
        // A lost number does not count as seen when its bit is reused.
        assert_eq!(of([0, 1023, 1024, 2000, 1100, 1100]), (5, 1, 1));
        assert_eq!(of([0, 5000, 4000, 4000, 5000]), (3, 2, 1));
    }

    #[test]
    fn a_duplicate_older_than_the_window_counts_as_reordered() {
        assert_eq!(of([0, 5000, 0]), (3, 0, 1));
    }
}
