//! When a delivery is acknowledged: at once, or as a receiver that delays its ACKs would.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_packet::Instant;
use lasthop_tcp::AckPolicy;
use serde::{Deserialize, Serialize};

use super::restoring::MOST_COUNTED;

/// How long an ACK may wait at the most, in any setting.
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Segments that were delivered in order, and have no ACK yet; nothing where each has its own at once.
#[derive(Debug)]
pub(super) struct Delaying(Option<Box<Delayed>>);

#[derive(Debug, Default)]
struct Delayed {
    /// All of the stream, counted up to [`MOST_COUNTED`].
    delivered: u32,
    waiting: u32,
    /// When they are acknowledged at the latest.
    due: Option<Instant>,
}

impl Delaying {
    /// Nothing is delayed.
    pub(super) const NONE: Self = Self(None);

    /// Some more were delivered. Whether they are acknowledged now.
    pub(super) fn on_delivered(&mut self, segments: u32, policy: AckPolicy, now: Instant) -> bool {
        let Some(longest) = policy.longest_delay() else { return true };
        let Delayed { delivered, waiting, due } = &mut **self.0.get_or_insert_default();
        *delivered = delivered.saturating_add(segments).min(MOST_COUNTED);
        *waiting = waiting.saturating_add(segments).min(MOST_COUNTED);
        if *waiting >= policy.segments_an_ack(*delivered) {
            return true;
        }
        due.get_or_insert(now + longest);
        false
    }

    /// The sender has an ACK of all of them.
    pub(super) fn on_acknowledged(&mut self) {
        if let Some(delayed) = &mut self.0 {
            (delayed.waiting, delayed.due) = (0, None);
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.0.as_ref()?.due
    }

    /// Octets of memory that it has taken beside itself.
    pub(super) fn allocated(&self) -> usize {
        self.0.as_deref().map_or(0, size_of_val)
    }

    pub(super) fn save(&self, now: Instant) -> Option<SavedDelaying> {
        self.0.as_ref().map(|delayed| SavedDelaying {
            delivered: delayed.delivered,
            waiting: delayed.waiting,
            due: delayed.due.map(|due| Away::from(due, now)),
        })
    }
}

/// A [`Delaying`] as a value.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedDelaying {
    delivered: u32,
    waiting: u32,
    due: Option<Away>,
}

impl SavedDelaying {
    pub(super) fn restore(self, now: Instant) -> Delaying {
        Delaying(Some(Box::new(Delayed {
            delivered: self.delivered.min(MOST_COUNTED),
            waiting: self.waiting.min(MOST_COUNTED),
            due: self.due.map(|due| due.to(now).min(now + LONGEST_DELAY)),
        })))
    }
}
