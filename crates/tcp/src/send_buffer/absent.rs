//! The first octets of a buffer, while they follow from another place.

use std::collections::VecDeque;

use lasthop_packet::Payload;
use serde::{Deserialize, Serialize};

/// A number of octets that follow in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Absent {
    /// The first ones: they are acknowledged, but have not come.
    acknowledged: u64,
    /// Those that have come.
    supplied: VecDeque<Payload>,
    /// Those that have not come, and are not acknowledged.
    len: u64,
}

impl Absent {
    /// So many octets, of which none has come.
    pub(super) const fn new(len: u64) -> Self {
        Self { acknowledged: 0, supplied: VecDeque::new(), len }
    }

    /// Whether such a value can be: octets are acknowledged in order, so that none that has come is behind one that is
    /// acknowledged and has not.
    pub(super) fn is_sound(&self) -> bool {
        self.awaited() <= 1 << 30 && (self.acknowledged == 0 || self.supplied.is_empty())
    }

    /// Octets that are to come, acknowledged or not.
    pub(super) const fn awaited(&self) -> u64 {
        self.acknowledged.saturating_add(self.len)
    }

    /// Whether octets have not come that may have to be sent.
    pub(super) const fn lacks_octets(&self) -> bool {
        self.len > 0
    }

    /// Those that have come.
    pub(super) const fn supplied(&self) -> &VecDeque<Payload> {
        &self.supplied
    }

    /// As [`Self::supplied`].
    pub(super) fn into_supplied(self) -> VecDeque<Payload> {
        self.supplied
    }

    /// Octets that are not acknowledged.
    pub(super) fn octets(&self) -> u64 {
        self.supplied.iter().map(|payload| payload.len() as u64).fold(self.len, u64::saturating_add)
    }

    /// Whether nothing is to come.
    pub(super) const fn is_complete(&self) -> bool {
        self.acknowledged == 0 && self.len == 0
    }

    /// Removes the first `octets`, which are acknowledged.
    pub(super) fn acknowledge(&mut self, mut octets: u64) {
        while octets > 0
            && let Some(first) = self.supplied.front_mut()
        {
            let cut = octets.min(first.len() as u64);
            *first = first.slice(cut as usize, first.len());
            octets -= cut;
            if first.is_empty() {
                self.supplied.pop_front();
            }
        }
        self.acknowledged += octets;
        self.len -= octets;
    }

    /// The next octets have come. Returns what comes after all that were to come.
    pub(super) fn supply(&mut self, payload: &Payload) -> Payload {
        let octets = payload.len() as u64;
        let from = octets.min(self.acknowledged);
        let to = octets.min(from + self.len);
        self.acknowledged -= from;
        self.len -= to - from;
        if from < to {
            self.supplied.push_back(payload.copy_of(from as usize, to as usize));
        }
        payload.slice(to as usize, payload.len())
    }
}
