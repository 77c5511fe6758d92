//! Packets or frames in flight through one direction of a link, in order of arrival.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use lasthop_packet::Instant;

/// What is on its way. Those of the same arrival arrive as they were put in.
///
/// Where none overtakes another this is a queue; only those that arrive before the last of it are
/// sorted.
#[derive(Debug)]
pub(crate) struct Flight<T> {
    /// Each arrives no earlier than the one before it, and the last no earlier than all the rest.
    line: VecDeque<(Instant, T)>,
    /// Those that were put in behind a later arrival.
    overtaking: BinaryHeap<Overtaking<T>>,
    /// How many have overtaken: their order where arrivals are the same.
    overtaken: u64,
}

#[derive(Debug)]
struct Overtaking<T> {
    arrival: Instant,
    order: u64,
    item: T,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        Self { line: VecDeque::new(), overtaking: BinaryHeap::new(), overtaken: 0 }
    }
}

impl<T> Flight<T> {
    /// When the first arrives.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let first = self.line.front().map(|(arrival, _)| *arrival);
        if self.overtaking.is_empty() {
            return first;
        }
        self.overtaking.peek().map(|overtaking| overtaking.arrival).into_iter().chain(first).min()
    }

    /// When the last arrives.
    #[inline]
    pub(crate) fn last(&self) -> Option<Instant> {
        self.line.back().map(|(arrival, _)| *arrival)
    }

    /// Puts in what arrives after all others, or with the last. Whether it is the first to arrive.
    #[inline]
    pub(crate) fn append(&mut self, arrival: Instant, item: T) -> bool {
        self.line.push_back((arrival, item));
        self.line.len() == 1
    }

    /// Puts in what arrives at any time. Whether it is the first to arrive.
    #[inline]
    pub(crate) fn push(&mut self, arrival: Instant, item: T) -> bool {
        if self.last().is_none_or(|last| last <= arrival) {
            return self.append(arrival, item);
        }
        let is_first = self.next().is_none_or(|next| arrival < next);
        self.overtaken += 1;
        self.overtaking.push(Overtaking { arrival, order: self.overtaken, item });
        is_first
    }

    /// Takes out the first, if it arrives by now; and says when the next one arrives.
    #[expect(clippy::inline_always, reason = "every packet's every hop; measured")]
    #[inline(always)]
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(T, Option<Instant>)> {
        if !self.overtaking.is_empty() {
            self.next().filter(|next| *next <= now)?;
            let (_, item) = self.pop_sorted()?;
            return Some((item, self.next()));
        }
        let (arrival, item) = self.line.pop_front()?;
        if arrival > now {
            self.line.push_front((arrival, item));
            return None;
        }
        Some((item, self.line.front().map(|(arrival, _)| *arrival)))
    }

    /// Takes out the first of those that are so.
    pub(crate) fn remove(&mut self, is_so: impl Fn(&T) -> bool) -> Option<T> {
        let mut removed = None;
        for (arrival, item) in std::iter::from_fn(|| self.pop()).collect::<Vec<_>>() {
            if removed.is_none() && is_so(&item) {
                removed = Some(item);
            } else {
                self.append(arrival, item);
            }
        }
        removed
    }

    /// Takes out the first.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, T)> {
        if self.overtaking.is_empty() { self.line.pop_front() } else { self.pop_sorted() }
    }

    /// What overtakes was put in behind the last of the line: with the same arrival, the line is
    /// first.
    #[cold]
    fn pop_sorted(&mut self) -> Option<(Instant, T)> {
        let overtakes = match (self.line.front(), self.overtaking.peek()) {
            (Some((arrival, _)), Some(overtaking)) => overtaking.arrival < *arrival,
            (line, _) => line.is_none(),
        };
        if overtakes {
            return self.overtaking.pop().map(|overtaking| (overtaking.arrival, overtaking.item));
        }
        self.line.pop_front()
    }

    /// All, in no order.
    pub(crate) fn items(&self) -> impl Iterator<Item = &T> {
        let overtaking = self.overtaking.iter().map(|overtaking| &overtaking.item);
        self.line.iter().map(|(_, item)| item).chain(overtaking)
    }
}

impl<T> Ord for Overtaking<T> {
    /// The first to arrive is the greatest: the heap has the greatest on top.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.order).cmp(&(self.arrival, self.order))
    }
}

impl<T> PartialOrd for Overtaking<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Overtaking<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Overtaking<T> {}

#[cfg(test)]
mod tests {
    use lasthop_packet::Rng;

    use super::*;

    #[test]
    fn what_is_on_its_way_arrives_in_order_of_time_and_of_the_same_time_as_it_was_put_in() {
        let mut rng = Rng::named(1, "flight");
        let mut flight = Flight::default();
        let mut expected: Vec<(u64, u32)> = Vec::new();
        let mut now = 0;
        for number in 0..20_000 {
            // Some of the time in order, some of the time not.
            let spread = if number % 2_000 < 1_000 { 1 } else { 40 };
            let arrival = now + 10 + rng.below(spread);
            let is_first = expected.iter().all(|(other, _)| arrival < *other);
            assert_eq!(flight.push(Instant::from_nanos(arrival), number), is_first);
            expected.push((arrival, number));
            for _ in 0..rng.below(3) {
                let first = expected.iter().copied().min();
                let at = first.map(|(at, _)| Instant::from_nanos(at));
                assert_eq!(flight.next(), at);
                expected.retain(|other| Some(*other) != first);
                if number % 3 == 0 {
                    assert_eq!(flight.pop(), at.zip(first.map(|(_, number)| number)));
                } else if let Some((at, (_, number))) = at.zip(first) {
                    let next = expected.iter().copied().min();
                    let next = next.map(|(at, _)| Instant::from_nanos(at));
                    assert_eq!(flight.pop_due(Instant::from_nanos(at.as_nanos() - 1)), None);
                    assert_eq!(flight.pop_due(at), Some((number, next)));
                }
                now = first.map_or(now, |(at, _)| at);
            }
            assert_eq!(flight.items().count(), expected.len());
            assert_eq!(flight.last(), expected.iter().map(|(at, _)| Instant::from_nanos(*at)).max());
        }
    }
}
