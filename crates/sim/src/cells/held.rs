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
    limit: usize,
}

impl Held {
    /// Frames from one station to another wait from now on, at most this many. `queued`: those that wait already.
    pub(super) fn begin(&mut self, between: (StationId, StationId), queued: Vec<MacFrame>, limit: usize) {
        let waiting = self.frames.entry(between).or_insert(Waiting { frames: VecDeque::new(), limit });
        waiting.frames.extend(queued);
        let surplus = waiting.frames.len().saturating_sub(waiting.limit);
        let oldest = waiting.frames.drain(..surplus);
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
        let Waiting { frames, limit } = self.frames.get_mut(&(from, to))?;
        frames.push_back(frame);
        if frames.len() <= *limit {
            return Some(Admission::Queued);
        }
        let oldest = frames.pop_front();
        self.displaced.extend(oldest.map(|frame| (PacketKey(frame.key), DropCause::PowerSave)));
        Some(Admission::Displaces)
    }

    /// A frame that was given up because its receiver had just left waits with the others, before them.
    pub(super) fn return_frame(&mut self, from: StationId, frame: MacFrame) -> bool {
        let Receiver::Station(to) = frame.to else { return false };
        let Some(waiting) = self.frames.get_mut(&(from, to)) else { return false };
        waiting.frames.push_front(frame);
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
