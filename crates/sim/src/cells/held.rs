//! Frames that wait at a station because their receiver, or the station itself, is on another channel for a while
//! (IEEE 802.11-2020, 11.2.3; Linux's mac80211 does both in software).

use std::collections::{BTreeMap, VecDeque};

use lasthop_wifi::{MacFrame, Receiver, StationId};

use crate::accounts::DropCause;
use crate::packets::PacketKey;
use crate::technology::Admission;

/// By sender and receiver.
#[derive(Default)]
pub(super) struct Held {
    frames: BTreeMap<(StationId, StationId), Waiting>,
    displaced: Vec<(PacketKey, DropCause)>,
}

struct Waiting {
    frames: VecDeque<MacFrame>,
    /// How many of them were returned; they are before the others.
    returned: usize,
    limit: usize,
}

impl Waiting {
    /// Removes the oldest frame if there are more than may wait.
    fn pop_surplus(&mut self) -> Option<MacFrame> {
        if self.frames.len() <= self.limit {
            return None;
        }
        self.returned = self.returned.saturating_sub(1);
        self.frames.pop_front()
    }
}

impl Held {
    /// Frames from one station to another wait from now on, at most this many. `queued`: those that wait already.
    pub(super) fn begin(&mut self, between: (StationId, StationId), queued: Vec<MacFrame>, limit: usize) {
        let waiting =
            self.frames.entry(between).or_insert(Waiting { frames: VecDeque::new(), returned: 0, limit });
        waiting.frames.extend(queued);
        let oldest = std::iter::from_fn(|| waiting.pop_surplus());
        self.displaced.extend(oldest.map(|frame| (PacketKey(frame.key), DropCause::PowerSave)));
    }

    /// They wait no longer.
    pub(super) fn end(&mut self, between: (StationId, StationId)) -> VecDeque<MacFrame> {
        self.frames.remove(&between).map(|waiting| waiting.frames).unwrap_or_default()
    }

    /// A frame that has to wait takes its place; the oldest one is dropped if there is no room. `None`: it need not.
    #[inline]
    pub(super) fn enqueue(&mut self, from: StationId, frame: MacFrame) -> Option<Admission> {
        if self.frames.is_empty() {
            return None;
        }
        self.enqueue_if_held(from, frame)
    }

    #[cold]
    fn enqueue_if_held(&mut self, from: StationId, frame: MacFrame) -> Option<Admission> {
        let Receiver::Station(to) = frame.to else { return None };
        let waiting = self.frames.get_mut(&(from, to))?;
        waiting.frames.push_back(frame);
        let before = self.displaced.len();
        let oldest = std::iter::from_fn(|| waiting.pop_surplus());
        self.displaced.extend(oldest.map(|frame| (PacketKey(frame.key), DropCause::PowerSave)));
        let has_room = self.displaced.len() == before;
        Some(if has_room { Admission::Queued } else { Admission::Displaces })
    }

    /// A frame that was given up because its receiver had just left waits with the others, before those that have not been
    /// transmitted, and behind those that were returned before it.
    pub(super) fn return_frame(&mut self, from: StationId, frame: MacFrame) -> bool {
        let Receiver::Station(to) = frame.to else { return false };
        let Some(waiting) = self.frames.get_mut(&(from, to)) else { return false };
        waiting.frames.insert(waiting.returned, frame);
        waiting.returned += 1;
        true
    }

    /// A frame that waits no longer is dropped because its station's queue is full.
    pub(super) fn displace(&mut self, frame: MacFrame) {
        self.displaced.push((PacketKey(frame.key), DropCause::QueueFull));
    }

    /// A frame that was dropped for lack of room, and why; each is reported once.
    pub(super) fn next_displaced(&mut self) -> Option<(PacketKey, DropCause)> {
        self.displaced.pop()
    }

    /// Frames that wait at a station, and their octets.
    pub(super) fn size(&self, from: StationId) -> (usize, u64) {
        let first = StationId::from_index(0);
        let of_station = self.frames.range((from, first)..).take_while(|((at, _), _)| *at == from);
        let frames = of_station.flat_map(|(_, waiting)| &waiting.frames);
        frames.fold((0, 0), |(packets, octets), frame| (packets + 1, octets + u64::from(frame.octets)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between() -> (StationId, StationId) {
        (StationId::from_index(0), StationId::from_index(1))
    }

    fn frame(key: u32) -> MacFrame {
        MacFrame { to: Receiver::Station(between().1), key, octets: 1_000 }
    }

    fn keys(frames: impl IntoIterator<Item = MacFrame>) -> Vec<u32> {
        frames.into_iter().map(|frame| frame.key).collect()
    }

    // Those of an A-MPDU are given up one after the other.
    #[test]
    fn frames_that_are_returned_keep_their_order_before_the_others() {
        let mut held = Held::default();
        held.begin(between(), vec![frame(5), frame(6)], 64);
        assert!((1..5).all(|key| held.return_frame(between().0, frame(key))));
        assert_eq!(held.enqueue(between().0, frame(7)), Some(Admission::Queued));
        assert_eq!(keys(held.end(between())), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn the_oldest_are_dropped_until_there_is_room() {
        let mut held = Held::default();
        held.begin(between(), vec![frame(3), frame(4)], 2);
        assert!((1..3).all(|key| held.return_frame(between().0, frame(key))));
        assert_eq!(held.enqueue(between().0, frame(5)), Some(Admission::Displaces));
        let mut dropped: Vec<_> =
            std::iter::from_fn(|| held.next_displaced()).map(|(key, _)| key.0).collect();
        dropped.sort_unstable();
        assert_eq!(dropped, [1, 2, 3]);
        assert!(held.return_frame(between().0, frame(0)));
        assert_eq!(keys(held.end(between())), [0, 4, 5]);
    }
}
