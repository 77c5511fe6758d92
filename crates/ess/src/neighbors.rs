//! The access points that a client has heard.

use std::time::Duration;

use lasthop_packet::Instant;

use crate::frame::Heard;
use crate::signal::{Average, Dbm};
use crate::{AccessPointId, Channel};

/// The access points that a client has heard lately; at most [`MAX_NEIGHBORS`].
#[derive(Debug, Default)]
pub(crate) struct Neighbors {
    heard: Vec<Neighbor>,
}

/// The number of access points that a client remembers.
const MAX_NEIGHBORS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Neighbor {
    id: AccessPointId,
    channel: Channel,
    signal: Average,
    /// When it was last heard.
    at: Instant,
    /// It is no candidate before this time.
    ignored_until: Instant,
}

/// An access point that a client could associate with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) id: AccessPointId,
    pub(crate) channel: Channel,
    pub(crate) signal: Dbm,
}

impl Neighbors {
    /// A beacon or probe response was received. Where there is no room the access point that was not heard for
    /// the longest time is forgotten.
    pub(crate) fn hear(&mut self, id: AccessPointId, channel: Channel, signal: Dbm, now: Instant) {
        if let Some(known) = self.heard.iter_mut().find(|known| known.id == id) {
            known.signal.add(signal);
            (known.channel, known.at) = (channel, now);
            return;
        }
        if self.heard.len() >= MAX_NEIGHBORS
            && let Some(oldest) = (0..self.heard.len()).min_by_key(|index| self.heard[*index].at)
        {
            self.heard.swap_remove(oldest);
        }
        let signal = Average::new(signal);
        self.heard.push(Neighbor { id, channel, signal, at: now, ignored_until: Instant::ZERO });
    }

    /// Forgets the access points that were not heard for `age`.
    pub(crate) fn expire(&mut self, age: Duration, now: Instant) {
        self.heard.retain(|known| known.at + age > now);
    }

    /// Associating with an access point failed: it is no candidate for a while.
    pub(crate) fn ignore(&mut self, id: AccessPointId, until: Instant) {
        if let Some(known) = self.heard.iter_mut().find(|known| known.id == id) {
            known.ignored_until = until;
        }
    }

    /// The signal of an access point, if it was heard.
    pub(crate) fn signal(&self, id: AccessPointId) -> Option<Dbm> {
        self.find(id).map(|known| known.signal.value())
    }

    /// An access point as a candidate, unless it is ignored.
    pub(crate) fn candidate(&self, id: AccessPointId, now: Instant) -> Option<Candidate> {
        self.find(id).and_then(|known| known.candidate(now))
    }

    /// The candidate with the strongest signal; of equal ones the first by number.
    pub(crate) fn best(&self, now: Instant) -> Option<Candidate> {
        let candidates = self.heard.iter().filter_map(|known| known.candidate(now));
        candidates.max_by_key(|candidate| (candidate.signal, std::cmp::Reverse(candidate.id)))
    }

    /// The access points that were heard since then, the strongest first; of equal ones the first by number.
    pub(crate) fn heard_since(&self, start: Instant) -> Vec<Heard> {
        let recent = self.heard.iter().filter(|known| known.at >= start);
        let heard = recent.map(|known| Heard { access_point: known.id, signal: known.signal.value() });
        let mut heard: Vec<Heard> = heard.collect();
        heard.sort_by_key(|heard| (std::cmp::Reverse(heard.signal), heard.access_point));
        heard
    }

    fn find(&self, id: AccessPointId) -> Option<&Neighbor> {
        self.heard.iter().find(|known| known.id == id)
    }
}

impl Neighbor {
    fn candidate(&self, now: Instant) -> Option<Candidate> {
        let candidate = Candidate { id: self.id, channel: self.channel, signal: self.signal.value() };
        (self.ignored_until <= now).then_some(candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_oldest_is_forgotten_first() {
        let mut neighbors = Neighbors::default();
        for index in 0..1_000 {
            neighbors.hear(AccessPointId(index), Channel(0), Dbm(-60), Instant::from_millis(index.into()));
        }
        assert_eq!(neighbors.heard.len(), MAX_NEIGHBORS);
        assert!(neighbors.signal(AccessPointId(999)).is_some());
        assert!(neighbors.signal(AccessPointId(935)).is_none());
    }
}
