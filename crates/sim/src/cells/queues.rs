//! Where the frames of a cell's stations wait.
//!
//! | module | what waits there |
//! |---|---|
//! | `held` | frames whose receiver, or the station itself, is on another channel for a while |
//! | `above` | frames above the MAC, under a discipline or for their receivers' turns |
//! | `flows` | frames in the queue of the MAC where flows take turns |
//!
//! All others are in the queue of the MAC, [`lasthop_wifi`].

use std::collections::VecDeque;

use lasthop_packet::Rng;
use lasthop_wifi::{MacFrame, Receiver, StationConfig, StationId, Wlan};

use super::above::QueuesAbove;
use super::channels::CellChannels;
use super::flows::Turns;
use super::held::Held;
use crate::accounts::DropCause;
use crate::packets::PacketKey;
use crate::queue::StationQueue;
use crate::technology::Admission;
use crate::transit::Transit;

/// Where the frames of a cell's stations wait.
#[derive(Default)]
pub(super) struct Queues {
    held: Held,
    turns: Turns,
    above: QueuesAbove,
}

impl Queues {
    /// The next station's frames wait here. Returns what is left for its MAC.
    pub(super) fn add(
        &mut self,
        wlan: &Wlan<CellChannels>,
        config: StationConfig,
        queue: (&StationQueue, Rng),
    ) -> StationConfig {
        self.above.add(wlan, config, queue)
    }

    /// Whether frames of a station wait above its MAC.
    #[inline]
    pub(super) fn is_above(&self, station: StationId) -> bool {
        self.above.has(station)
    }

    /// Whether frames of any station do.
    #[inline]
    pub(super) const fn are_any_above(&self) -> bool {
        self.above.is_any()
    }

    /// A frame of a station joins those that wait, or goes to the MAC.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        (from, frame): (StationId, MacFrame),
        transit: &mut Transit,
    ) -> Admission {
        if let Some(admission) = self.held.enqueue(from, frame) {
            return admission;
        }
        if self.above.has(from) {
            self.above.enqueue(wlan, from, frame, transit)
        } else if wlan.takes_turns(from) {
            self.turns.enqueue(wlan, from, frame, transit)
        } else if wlan.enqueue(transit.now(), from, frame) {
            Admission::Queued
        } else {
            Admission::Dropped(DropCause::QueueFull)
        }
    }

    /// A packet that was dropped to make room at a station, and why; each is reported once.
    pub(super) fn next_displaced(&mut self, from: StationId) -> Option<(PacketKey, DropCause)> {
        let above = self.above.next_displaced(from);
        let in_turn = || self.turns.next_displaced().map(|key| (key, DropCause::QueueFull));
        above.or_else(in_turn).or_else(|| self.held.next_displaced())
    }

    /// Frames of a station for another one wait from now on, those in its queue among them; at most this many.
    pub(super) fn hold(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        between: (StationId, StationId),
        limit: usize,
        transit: &mut Transit,
    ) {
        let queued = self.withdraw_queued(wlan, between, transit);
        self.held.begin(between, queued, limit);
    }

    /// They wait no longer. Returns them.
    pub(super) fn end_hold(&mut self, between: (StationId, StationId)) -> VecDeque<MacFrame> {
        self.held.end(between)
    }

    /// A frame that waits no longer is dropped because its station's queue is full.
    pub(super) fn displace_held(&mut self, frame: MacFrame) {
        self.held.displace(frame);
    }

    /// A frame that was given up or taken back waits again, before the others, if frames to its receiver wait.
    pub(super) fn return_frame(&mut self, from: StationId, frame: MacFrame) -> bool {
        self.held.return_frame(from, frame)
    }

    /// Takes out the frames of a station for another one.
    pub(super) fn withdraw(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        between: (StationId, StationId),
        transit: &mut Transit,
    ) -> Vec<MacFrame> {
        let mut frames = self.withdraw_queued(wlan, between, transit);
        frames.extend(self.held.end(between));
        frames
    }

    fn withdraw_queued(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        (from, to): (StationId, StationId),
        transit: &mut Transit,
    ) -> Vec<MacFrame> {
        let mut frames = wlan.withdraw(from, to);
        frames.extend(self.above.withdraw(wlan, (from, Some(to)), &frames, transit));
        frames
    }

    /// Takes out all frames of a station that is off the air, except those that are held, and says of each whether it has arrived.
    pub(super) fn flush(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        station: StationId,
        transit: &mut Transit,
    ) -> Vec<(MacFrame, bool)> {
        let mut flushed = wlan.flush(transit.now(), station);
        let of_mac: Vec<MacFrame> = flushed.iter().map(|(frame, _)| *frame).collect();
        let above = self.above.withdraw(wlan, (station, None), &of_mac, transit);
        flushed.extend(above.into_iter().map(|frame| (frame, false)));
        flushed
    }

    /// Packets and octets that wait at a station.
    pub(super) fn size(&self, wlan: &Wlan<CellChannels>, station: StationId) -> (usize, u64) {
        let of_each = [wlan.waiting(station), self.held.size(station), self.above.size(station)];
        of_each.into_iter().fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
    }

    /// A station is done with a frame, for which it has transmitted for this number of nanoseconds.
    #[inline]
    pub(super) fn complete(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        sent: (StationId, MacFrame),
        air_time: u64,
        transit: &mut Transit,
    ) {
        if self.above.is_any() {
            self.above.complete(wlan, sent, air_time, transit);
        }
    }

    /// Whether packets were dropped in the meantime and are to be reported.
    #[inline]
    pub(super) fn have_drops(&self) -> bool {
        self.above.has_drops()
    }

    /// A packet that was dropped, and why, after its station and its receiver; each is reported once.
    pub(super) fn next_drop(&mut self) -> Option<(StationId, Receiver, PacketKey, DropCause)> {
        self.above.next_drop()
    }

    /// Packets that were marked; `None` where none can be.
    pub(super) fn marked(&self) -> Option<u64> {
        self.above.marked()
    }
}
