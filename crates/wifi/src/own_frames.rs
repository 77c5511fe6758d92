//! What goes before a station's queue: frames that its MAC makes itself, and frames for stations
//! that have woken for them.

use lasthop_packet::Instant;

use super::frame::OwnFrame;
use super::station::{Attempts, BackOff, Queued, Station};

impl Station {
    /// Puts a frame of its own before the queue, if there is none there.
    #[cold]
    pub(crate) fn set_own(&mut self, frame: OwnFrame, now: Instant) {
        if self.own.is_none() {
            self.own = Some(frame);
            self.has_frame = true;
            self.set_aside =
                std::mem::replace(&mut self.attempts, Attempts { head: now, ..Attempts::default() });
        }
    }

    /// The one that has become due while it transmitted is in its hands.
    #[cold]
    pub(crate) fn take_next_own(&mut self, now: Instant) {
        if let Some(own) = self.next_own.take() {
            self.set_own(own, now);
        }
    }

    /// Takes back a frame of its own that it is not transmitting.
    pub(crate) fn withdraw_own(&mut self) {
        if self.own.take().is_none() {
            return;
        }
        self.attempts = self.set_aside;
        self.has_frame = !self.queue.is_empty();
        if let BackOff::Counting(end) = self.back_off
            && self.queue.is_empty()
        {
            self.stamp = self.stamp.wrapping_add(1);
            self.back_off = BackOff::Post(end);
        }
    }

    /// It has no sequence number that anybody filters.
    #[cold]
    pub(crate) fn pop_own(&mut self) {
        self.own = None;
        self.has_frame = !self.queue.is_empty();
        self.attempts = self.set_aside;
    }

    /// Puts frames before others that wait: behind the one at the head, which is in the hands of the
    /// MAC, and behind those that went before others already, or before these, too.
    pub(crate) fn push_ahead(
        &mut self,
        frames: impl ExactSizeIterator<Item = Queued>,
        first: bool,
        now: Instant,
    ) {
        let count = frames.len();
        let had_head = !self.queue.is_empty();
        let place = if first { 0 } else { self.ahead } + usize::from(had_head);
        for (offset, queued) in frames.enumerate() {
            self.queued_octets += u64::from(queued.frame.octets);
            self.queue.insert(place + offset, queued);
        }
        self.ahead += count;
        self.has_frame |= count > 0;
        if !had_head && count > 0 {
            self.ahead -= 1;
            self.is_new_head(now);
        }
    }
}
