//! The queues above the MAC of one station.

use std::collections::VecDeque;

use lasthop_packet::{Bitrate, Instant, Rng};
use lasthop_wifi::{Aggregate, MacFrame, Receiver, StationId};

use super::airtime::Airtime;
use super::driver::Driver;
use super::link::Link;
use crate::accounts::DropCause;
use crate::capacity::Capacity;
use crate::packets::{PacketKey, Packets};
use crate::queue::{Managed, Pushed, StationQueue, Waiting};

/// The queues above the MAC of one station.
pub(super) struct Above {
    queues: Queues,
    driver: Driver,
    /// By key: the receiver of a frame that waits.
    receivers: Vec<Receiver>,
    /// Packets that were dropped and not yet reported.
    dropped: VecDeque<(PacketKey, DropCause)>,
}

enum Queues {
    Discipline(Box<Managed>),
    Airtime(Box<Airtime>),
}

impl Above {
    /// `None`: packets wait in the queue of the MAC. `rate`: that of the station's data frames.
    pub(super) fn new(config: &StationQueue, rate: Bitrate, mut rng: Rng) -> Option<Self> {
        let (queues, driver) = match config {
            StationQueue::Mac => return None,
            StationQueue::Discipline { queue, driver } => {
                (Queues::Discipline(Box::new(Managed::new(queue, &Capacity::Fixed(rate), rng)?)), *driver)
            }
            StationQueue::Airtime(config) => {
                let airtime = Airtime::new(config.clone(), rng.next_u64());
                (Queues::Airtime(Box::new(airtime)), config.driver)
            }
        };
        let driver = Driver::new(driver);
        Some(Self { queues, driver, receivers: Vec::new(), dropped: VecDeque::new() })
    }

    /// Packets and octets that wait.
    pub(super) fn size(&self) -> (usize, u64) {
        match &self.queues {
            Queues::Discipline(queue) => queue.size(),
            Queues::Airtime(airtime) => airtime.size(),
        }
    }

    /// Packets that were marked.
    pub(super) const fn marked(&self) -> u64 {
        match &self.queues {
            Queues::Discipline(queue) => queue.marked(),
            Queues::Airtime(airtime) => airtime.marked(),
        }
    }

    /// A packet joins the queues, or is dropped.
    pub(super) fn push(
        &mut self,
        frame: MacFrame,
        now: Instant,
        packets: &mut Packets,
    ) -> Result<(), DropCause> {
        let key = PacketKey(frame.key);
        let index = frame.key as usize;
        if self.receivers.len() <= index {
            self.receivers.resize(index + 1, Receiver::Broadcast);
        }
        self.receivers[index] = frame.to;
        match &mut self.queues {
            Queues::Discipline(queue) => match queue.push(key, now, true, packets) {
                Pushed::Waits => {}
                Pushed::Dropped(cause) => return Err(cause),
                Pushed::Displaces => self.dropped.extend(std::iter::from_fn(|| queue.next_dropped())),
            },
            Queues::Airtime(airtime) => {
                let waiting = Waiting { key, len: frame.octets, since: now };
                airtime.push(frame.to, waiting, packets.packet(key));
                airtime.drop_surplus(&mut self.dropped);
            }
        }
        Ok(())
    }

    /// The driver looks for frames to take.
    pub(super) const fn begin_round(&mut self) {
        self.driver.begin_round();
        if let Queues::Airtime(airtime) = &mut self.queues {
            airtime.begin_round();
        }
    }

    /// The next frame that it takes in this round.
    pub(super) fn take(&mut self, now: Instant, packets: &mut Packets, link: &Link<'_>) -> Option<MacFrame> {
        let Self { driver, dropped, .. } = self;
        let waiting = match &mut self.queues {
            Queues::Discipline(queue) => {
                let next = if driver.may_begin() { queue.pop(now, packets) } else { None };
                dropped.extend(std::iter::from_fn(|| queue.next_dropped()));
                next
            }
            Queues::Airtime(airtime) => airtime.take(now, packets, (driver, link), dropped),
        };
        let Waiting { key, len, .. } = waiting?;
        let frame = MacFrame { to: self.receivers[key.0 as usize], key: key.0, octets: len };
        driver.take(frame, || match frame.to {
            Receiver::Station(to) => link.aggregate(to, len),
            Receiver::Broadcast => Aggregate::alone(len),
        });
        Some(frame)
    }

    /// The driver is done with a frame, for which the station has transmitted for this number of nanoseconds.
    pub(super) fn complete(&mut self, frame: MacFrame, air_time: u64, now: Instant) {
        self.driver.complete(frame.key);
        if let Queues::Airtime(airtime) = &mut self.queues {
            airtime.complete(frame);
        }
        if let Receiver::Station(to) = frame.to {
            self.use_air(to, air_time, now);
        }
    }

    /// The air was in use for this number of nanoseconds for a packet to or from a station.
    pub(super) fn use_air(&mut self, station: StationId, air_time: u64, now: Instant) {
        if let Queues::Airtime(airtime) = &mut self.queues {
            airtime.use_air(station, air_time, now);
        }
    }

    /// Takes out the frames that wait, those for `to` only if that is given, in the order of their arrival.
    pub(super) fn withdraw(&mut self, to: Option<StationId>) -> Vec<MacFrame> {
        let receivers = &self.receivers;
        let is_gone = |key: PacketKey| to.is_none_or(|to| receivers[key.0 as usize] == Receiver::Station(to));
        let gone = match &mut self.queues {
            Queues::Discipline(queue) => queue.withdraw(is_gone),
            Queues::Airtime(airtime) => airtime.withdraw(is_gone),
        };
        let frame =
            |Waiting { key, len, .. }| MacFrame { to: receivers[key.0 as usize], key: key.0, octets: len };
        gone.into_iter().map(frame).collect()
    }

    /// Whether a packet was dropped and is not yet reported.
    pub(super) fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// A packet that was dropped, its receiver, and why; each is reported once, in order.
    pub(super) fn next_dropped(&mut self) -> Option<(Receiver, PacketKey, DropCause)> {
        let (key, cause) = self.dropped.pop_front()?;
        Some((self.receivers[key.0 as usize], key, cause))
    }
}
