//! The event queue of the state machine.

use lasthop_link::{Due, Upcoming};
use lasthop_packet::Instant;

/// An event. Of simultaneous events, ends of frames come first and transmissions after contention
/// last. Within a class, events of stations with lower numbers come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A transmission ends.
    FrameEnd(u32),
    /// The data frame of a settled exchange ends intact: domain and initiator.
    SettledData(u32, u32),
    /// A settled exchange is over: domain and initiator.
    SettledEnd(u32, u32),
    /// The last frame of a domain's settled collision ends.
    CollisionEnd(u32),
    /// A contender's `ACKTimeout` or `CTSTimeout` expires.
    Timeout(u32),
    /// A station sends the next frame of an exchange, a SIFS after the previous one: station and
    /// initiator.
    Send(u32, u32),
    /// A receiver may give up frames that are missing before others: station and initiator.
    Gap(u32, u32),
    /// An access point's target beacon transmission time (TBTT).
    Tbtt(u32),
    /// A contender of a domain may gain access to the medium.
    Access(u32),
    /// A contender transmits, regardless of what it has sensed since it was committed.
    Begin(u32),
}

impl Event {
    const fn class(self) -> u64 {
        match self {
            Self::FrameEnd(_) | Self::SettledData(..) | Self::SettledEnd(..) | Self::CollisionEnd(_) => 0,
            Self::Timeout(_) => 1,
            Self::Send(..) => 2,
            Self::Gap(..) => 3,
            Self::Tbtt(_) => 4,
            Self::Access(_) => 5,
            Self::Begin(_) => 6,
        }
    }
}

/// The event queue.
#[derive(Debug, Default)]
pub(crate) struct Events(Upcoming<Waiting>);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    at: Instant,
    /// The order among events at the same time.
    rank: u64,
    event: Event,
}

impl Due for Waiting {
    /// Time and rank as one number, then the event itself.
    type Turn = (u128, Event);

    #[inline]
    fn turn(&self) -> Self::Turn {
        (self.at_and_rank(), self.event)
    }

    #[inline]
    fn is_before(&self, newcomer: &Self) -> bool {
        let (own, new) = (self.at_and_rank(), newcomer.at_and_rank());
        own < new || own == new && self.event < newcomer.event
    }
}

impl Waiting {
    #[inline]
    fn at_and_rank(&self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.rank)
    }
}

impl Events {
    /// Adds an event. `of` is the domain, station or contender that acts. The order of simultaneous
    /// events depends on the events alone, so that stations act in the same order whether or not
    /// they share a domain.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, of: u32, event: Event) {
        self.0.push(Waiting { at, rank: event.class() << 32 | u64::from(of), event });
    }

    #[inline]
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.0.next().map(|next| next.at)
    }

    #[inline]
    pub(crate) fn pop_if(&mut self, is_due: impl Fn(Instant) -> bool) -> Option<(Instant, Event)> {
        let next = self.0.pop_if(|next| is_due(next.at))?;
        Some((next.at, next.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn events_come_in_their_order_however_many_wait(
            steps in proptest::collection::vec((0u64..1000, 0u32..4, proptest::bool::weighted(0.6)), 1..400)
        ) {
            let (mut events, mut waiting, mut now) = (Events::default(), Vec::new(), 0);
            for (delay, of, is_new) in steps {
                if is_new {
                    let event = if of % 2 == 0 { Event::FrameEnd(of) } else { Event::Access(of) };
                    events.push(Instant::from_nanos(now + delay), of, event);
                    waiting.push((Instant::from_nanos(now + delay), event.class(), of, event));
                    continue;
                }
                waiting.sort();
                let expected = (!waiting.is_empty()).then(|| waiting.remove(0));
                assert_eq!(events.next_at(), expected.map(|(at, ..)| at));
                let next = events.pop_if(|_| true);
                assert_eq!(next, expected.map(|(at, .., event)| (at, event)));
                now = next.map_or(now, |(at, _)| at.as_nanos());
            }
        }
    }
}
