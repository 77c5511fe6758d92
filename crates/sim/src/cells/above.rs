//! Queues above the MACs of stations. A station's driver takes frames from them, no more of them than it may have, and these
//! wait in the queue of the MAC. The driver has a frame until its station knows what became of it.
//!
//! | module | what is in it |
//! |---|---|
//! | `station` | the queues above the MAC of one station |
//! | `driver` | what the driver has of the packets that wait there |
//! | `airtime` | a queue for each receiver, and whose turn it is by the air time of each |
//! | `link` | what is known of the way to a receiver |
//! | `limits` | airtime queue limits: how much air time may be with the driver |

mod airtime;
mod driver;
mod limits;
mod link;
mod station;

use std::collections::VecDeque;

use lasthop_packet::{Bitrate, Rng};
use lasthop_wifi::{MacFrame, Receiver, Scheduler, StationConfig, StationId, Wlan};

use super::channels::CellChannels;
use crate::accounts::DropCause;
use crate::packets::PacketKey;
use crate::queue::{AirtimeConfig, DriverQueue, QueueLimit, StationQueue};
use crate::technology::Admission;
use crate::transit::Transit;
use link::Link;
use station::Above;

/// The queues above the MACs of a cell's stations.
#[derive(Default)]
pub(super) struct QueuesAbove {
    /// By station.
    all: Vec<Option<Box<Above>>>,
    is_any: bool,
    /// Stations whose queues have dropped packets that may have to be reported.
    drops: VecDeque<StationId>,
}

impl QueuesAbove {
    /// The next station has these queues, if any. Returns what is left for its MAC.
    pub(super) fn add(
        &mut self,
        wlan: &Wlan<CellChannels>,
        config: StationConfig,
        (queue, rng): (&StationQueue, Rng),
    ) -> StationConfig {
        let rate = config.rate.unwrap_or(wlan.phy().rate);
        let rate = Bitrate::from_bps(rate.kbps() * 1_000);
        let above = rate.and_then(|rate| Above::new(queue, rate, rng)).map(Box::new);
        let config = match &above {
            None => config,
            // What the driver takes is limited above.
            Some(_) => StationConfig { queue: QueueLimit::Unlimited, scheduler: below(queue), ..config },
        };
        self.is_any |= above.is_some();
        self.all.push(above);
        config
    }

    /// Whether a station has such queues.
    #[inline]
    pub(super) const fn is_any(&self) -> bool {
        self.is_any
    }

    #[inline]
    pub(super) fn has(&self, station: StationId) -> bool {
        self.is_any && self.all[station.index()].is_some()
    }

    /// Packets and octets that wait above the MAC of a station.
    pub(super) fn size(&self, station: StationId) -> (usize, u64) {
        self.all[station.index()].as_ref().map_or((0, 0), |above| above.size())
    }

    /// Packets that were marked; `None` without such queues.
    pub(super) fn marked(&self) -> Option<u64> {
        self.all.iter().flatten().map(|above| above.marked()).reduce(|one, other| one + other)
    }

    /// A packet of a station [that has such queues](Self::has) joins them.
    #[cold]
    pub(super) fn enqueue(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        from: StationId,
        frame: MacFrame,
        transit: &mut Transit,
    ) -> Admission {
        let Some(above) = &mut self.all[from.index()] else { return Admission::Queued };
        let now = transit.now();
        if let Err(cause) = above.push(frame, now, transit.packets_mut()) {
            return Admission::Dropped(cause);
        }
        self.feed(wlan, from, transit);
        let has_dropped = self.drops.contains(&from);
        if has_dropped { Admission::Displaces } else { Admission::Queued }
    }

    /// The driver of a station takes frames, as many as it may have.
    fn feed(&mut self, wlan: &mut Wlan<CellChannels>, from: StationId, transit: &mut Transit) {
        let Some(above) = &mut self.all[from.index()] else { return };
        let now = transit.now();
        above.begin_round();
        let next = |above: &mut Above, wlan: &Wlan<CellChannels>, transit: &mut Transit| {
            let link = Link::new(wlan, from);
            above.take(now, transit.packets_mut(), &link)
        };
        while let Some(frame) = next(above, wlan, transit) {
            wlan.enqueue(now, from, frame);
        }
        if above.has_dropped() && !self.drops.contains(&from) {
            self.drops.push_back(from);
        }
    }

    /// A station's driver is done with a frame, for which the station has transmitted for this number of nanoseconds.
    #[cold]
    pub(super) fn complete(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        (from, frame): (StationId, MacFrame),
        air_time: u64,
        transit: &mut Transit,
    ) {
        let now = transit.now();
        if let Receiver::Station(to) = frame.to
            && let Some(above) = &mut self.all[to.index()]
        {
            above.use_air(from, air_time, now);
        }
        if let Some(above) = &mut self.all[from.index()] {
            above.complete(frame, air_time, now);
            self.feed(wlan, from, transit);
        }
    }

    /// These frames of a station were taken out of the queue of its MAC. Returns those that wait above it: for `to` only if
    /// that is given, in the order of their arrival.
    pub(super) fn withdraw(
        &mut self,
        wlan: &mut Wlan<CellChannels>,
        (from, to): (StationId, Option<StationId>),
        taken: &[MacFrame],
        transit: &mut Transit,
    ) -> Vec<MacFrame> {
        let Some(above) = &mut self.all[from.index()] else { return Vec::new() };
        for frame in taken {
            above.complete(*frame, 0, transit.now());
        }
        let gone = above.withdraw(to);
        self.feed(wlan, from, transit);
        gone
    }

    /// Whether packets were dropped and are to be reported.
    #[inline]
    pub(super) fn has_drops(&self) -> bool {
        !self.drops.is_empty()
    }

    /// A packet that was dropped, and why, after its station and its receiver; each is reported once.
    pub(super) fn next_drop(&mut self) -> Option<(StationId, Receiver, PacketKey, DropCause)> {
        while let Some(from) = self.drops.front().copied() {
            let above = self.all[from.index()].as_mut();
            if let Some((to, key, cause)) = above.and_then(|above| above.next_dropped()) {
                return Some((from, to, key, cause));
            }
            self.drops.pop_front();
        }
        None
    }

    /// A packet that was dropped to make room at a station, and why; each is reported once.
    pub(super) fn next_displaced(&mut self, from: StationId) -> Option<(PacketKey, DropCause)> {
        let above = self.all.get_mut(from.index())?.as_mut()?;
        let next = above.next_dropped();
        if next.is_none() {
            self.drops.retain(|station| *station != from);
        }
        next.map(|(_, key, cause)| (key, cause))
    }
}

/// The order of what the driver has taken.
const fn below(queue: &StationQueue) -> Scheduler {
    match queue {
        StationQueue::Mac
        | StationQueue::Discipline { .. }
        | StationQueue::Airtime(AirtimeConfig { driver: DriverQueue::Aggregates(_), .. }) => Scheduler::Fifo,
        // A device that is given more has a queue for each receiver, too.
        StationQueue::Airtime(_) => Scheduler::PerReceiver,
    }
}
