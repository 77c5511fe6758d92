//! When a delivery is acknowledged: at once, or as by a receiver with delayed ACKs.

use std::time::Duration;

use lasthop_hop::transfer::Away;
use lasthop_packet::Instant;
use lasthop_tcp::AckPolicy;
use serde::{Deserialize, Serialize};

use super::restoring::MAX_COUNT;

/// The maximum delay of an ACK, in any setting.
const MAX_DELAY: Duration = Duration::from_secs(10);

/// The delayed ACK of segments that were delivered in order; empty if each is acknowledged at once.
#[derive(Debug)]
pub(super) struct Delaying(Option<Box<Delayed>>);

#[derive(Debug, Default)]
struct Delayed {
    /// All segments of the stream, counted up to [`MAX_COUNT`].
    delivered: u32,
    waiting: u32,
    /// When they must be acknowledged.
    due: Option<Instant>,
}

impl Delaying {
    /// No delayed ACK.
    pub(super) const NONE: Self = Self(None);

    /// Counts delivered segments. Returns whether they are acknowledged now.
    pub(super) fn on_delivered(&mut self, segments: u32, policy: AckPolicy, now: Instant) -> bool {
        let Some(longest) = policy.longest_delay() else { return true };
        let Delayed { delivered, waiting, due } = &mut **self.0.get_or_insert_default();
        *delivered = delivered.saturating_add(segments).min(MAX_COUNT);
        *waiting = waiting.saturating_add(segments).min(MAX_COUNT);
        if *waiting >= policy.segments_an_ack(*delivered) {
            return true;
        }
        due.get_or_insert(now + longest);
        false
    }

    /// Records that the sender has an ACK of all of them.
    pub(super) fn on_acknowledged(&mut self) {
        if let Some(delayed) = &mut self.0 {
            (delayed.waiting, delayed.due) = (0, None);
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.0.as_ref()?.due
    }

    /// Octets of allocated memory.
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
            delivered: self.delivered.min(MAX_COUNT),
            waiting: self.waiting.min(MAX_COUNT),
            due: self.due.map(|due| due.to(now).min(now + MAX_DELAY)),
        })))
    }
}
