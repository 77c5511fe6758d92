//! One direction of a wired link with a managed queue: a transmitter that asks its queue for a packet
//! when it is free, and a propagation delay. An event for each of the two.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use crate::capacity::{Capacity, Pace, Remaining};
use crate::change::{Change, ChangeError};
use crate::config::Direction;
use crate::delay::Delays;
use crate::flight::Flight;
use crate::loss::Losses;
use crate::packets::{PacketKey, Packets};
use crate::queue::{Managed, Waiting};
use crate::technology::LinkEnds;

#[derive(Debug)]
pub(crate) struct ManagedPipe {
    ends: LinkEnds,
    queue: Managed,
    pace: Pace,
    delays: Delays,
    losses: Losses,
    /// When the transmitter is done with the packet that it has; [`Instant::MAX`] while that is stalled.
    free_at: Instant,
    /// Whether an event is due then.
    is_awaited: bool,
    /// The packet that it transmitted last, its length, and its propagation delay.
    sending: (PacketKey, u32, u64),
    /// What is left of its transmission, while that is stalled.
    rest: Option<Remaining>,
    in_flight: Flight<InFlight>,
}

/// A packet that is being sent, or has been.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) key: PacketKey,
    pub(super) is_lost: bool,
}

/// A packet whose transmission starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) key: PacketKey,
    /// What its transmission takes, whatever the clock makes of it.
    pub(super) time: Duration,
    /// When it arrives, if no other does so before it.
    pub(super) first_arrival: Option<Instant>,
}

impl ManagedPipe {
    pub(crate) fn new(
        ends: LinkEnds,
        queue: Managed,
        direction: &Direction,
        clock: Duration,
        [losses, variations]: [Rng; 2],
    ) -> Self {
        Self {
            ends,
            queue,
            pace: Pace::new(&direction.capacity, clock),
            delays: Delays::new(&direction.delay, variations),
            losses: Losses::new(&direction.loss, losses),
            free_at: Instant::ZERO,
            is_awaited: false,
            sending: (PacketKey(u32::MAX), 0, 0),
            rest: None,
            in_flight: Flight::default(),
        }
    }

    pub(super) const fn ends(&self) -> LinkEnds {
        self.ends
    }

    pub(super) const fn queue(&self) -> &Managed {
        &self.queue
    }

    /// As [`Self::queue`]. A packet that joins it waits if the transmitter [is busy](Self::is_busy).
    pub(super) const fn queue_mut(&mut self) -> &mut Managed {
        &mut self.queue
    }

    /// Whether it can be changed so.
    pub(super) fn can_change(&self, change: &Change) -> Result<(), ChangeError> {
        match change {
            Change::Channel(_) => Err(ChangeError::NoChannel),
            Change::Queue(config) => self.queue.can_be_set(config),
            _ => Ok(()),
        }
    }

    /// Whether a packet that comes now has to wait.
    pub(super) fn is_busy(&self, now: Instant) -> bool {
        self.is_awaited || self.free_at > now || self.pace.is_stalled()
    }

    /// When an event is to be scheduled for the end of the transmission under way: as soon as a
    /// packet waits for it.
    pub(super) fn await_end(&mut self) -> Option<Instant> {
        if self.queue.is_empty() || self.pace.is_stalled() || std::mem::replace(&mut self.is_awaited, true) {
            return None;
        }
        Some(self.free_at)
    }

    /// Whether a transmission has ended, and a packet waits for that; true once.
    pub(super) fn take_end(&mut self, now: Instant) -> bool {
        let has_ended = self.is_awaited && self.free_at <= now;
        self.is_awaited &= !has_ended;
        has_ended
    }

    /// The transmitter is free: the next packet's transmission starts.
    pub(super) fn start(&mut self, now: Instant, packets: &mut Packets) -> Option<Start> {
        let Waiting { key, len, .. } = self.queue.pop(now, packets)?;
        self.free_at = self.pace.finish(now, len as usize);
        let is_lost = self.losses.next();
        // What is lost propagates nowhere, and draws no delay.
        let delay = if is_lost { 0 } else { self.delays.draw(self.free_at) };
        self.sending = (key, len, delay);
        let first_arrival = self.send(InFlight { key, is_lost }, delay);
        Some(Start { key, time: self.pace.exact_time(len as usize), first_arrival })
    }

    /// A packet whose transmission ends when the transmitter is free is on its way: when it arrives, if
    /// it is the first to do so.
    fn send(&mut self, packet: InFlight, delay: u64) -> Option<Instant> {
        let arrival = self.free_at.after_nanos(delay);
        let arrival =
            if packet.is_lost { arrival } else { self.delays.in_order(arrival, self.in_flight.last()) };
        self.in_flight.push(arrival, packet).then_some(arrival)
    }

    /// The first packet reaches the end of the link, if it does so by now; and when the next one
    /// does. It may have arrived before, and its event come too late: another overtook the packet
    /// that the event was for.
    #[inline]
    pub(super) fn arrive(&mut self, now: Instant) -> Option<(InFlight, Option<Instant>)> {
        self.in_flight.pop_due(now)
    }

    /// When the first packet reaches the end of the link; none that is stalled does.
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.in_flight.next().filter(|next| *next < Instant::MAX)
    }

    /// Another pace for what is transmitted from now on, be it the rest of a packet. The end of the
    /// transmission is to be awaited anew.
    fn set_capacity(&mut self, capacity: &Capacity, now: Instant) {
        let (key, len, delay) = self.sending;
        let rest = match self.rest.take() {
            None if self.free_at > now => Some(self.pace.rest(len as usize, self.free_at, now)),
            stalled => stalled,
        };
        self.pace = self.pace.replaced(capacity);
        self.queue.set_capacity(capacity);
        self.is_awaited = false;
        self.rest = rest.filter(|_| self.pace.is_stalled());
        let Some(rest) = rest else { return };
        self.free_at = self.pace.finish_remaining(now, len as usize, rest);
        self.delays.set_last(self.free_at);
        if let Some(packet) = self.in_flight.remove(|packet| packet.key == key) {
            self.send(packet, delay);
        }
    }

    /// Changes what starts its transmission from now on, and the pace of the one under way.
    pub(super) fn change(&mut self, change: &Change, now: Instant) {
        match change {
            Change::Capacity(capacity) => self.set_capacity(capacity, now),
            Change::Delay(delay) => self.delays.set(delay),
            Change::Loss(loss) => self.losses.set(loss),
            Change::Queue(config) => self.queue.set(config),
            Change::Faults(_) | Change::Channel(_) | Change::Selection(_) | Change::Cut(_) => {}
        }
    }
}
