//! One direction of a wireless link: its queue, its link-layer sender and receiver.

use std::time::Duration;

use lasthop_packet::{Instant, Probability, Rng};

use super::layer::{Feedback, LinkLayer};
use crate::capacity::{Capacity, Pace};
use crate::change::{Change, ChangeError};
use crate::config::Direction;
use crate::delay::{Delay, Order};
use crate::flight::Flight;
use crate::id::{LinkId, MediumId, NodeId};
use crate::parcel::{ParcelKey, Parcels};
use crate::queue::{Queue, Waiting};

#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) link: LinkId,
    /// The transmitter, with the index of its interface there.
    pub(crate) from: (NodeId, usize),
    /// The receiver, with the index of its interface there.
    pub(crate) to: (NodeId, usize),
    pub(crate) medium: MediumId,
    pub(crate) channel: usize,
    pub(crate) pace: Pace,
    delay: Delay,
    variations: Rng,
    pub(crate) loss: Probability,
    pub(crate) losses: Rng,
    pub(crate) layer: LinkLayer,
    /// Packets that wait.
    pub(crate) queue: Queue,
    /// The frame that is being transmitted, or is to be transmitted again.
    pub(crate) sending: Option<Sending>,
    /// Frames in the air.
    pub(crate) in_flight: Flight<InFlight>,
    next_number: u32,
    /// The receiver's link layer: the lowest frame number that is new to it.
    pub(crate) expected: u32,
}

/// A frame from its first transmission to its fate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) key: ParcelKey,
    pub(crate) len: u32,
    pub(crate) number: u32,
    pub(crate) transmissions: u32,
    pub(crate) queueing: Duration,
    pub(crate) air_time: Duration,
    /// When the latest transmission began.
    pub(crate) began: Instant,
    /// Whether the transmission under way has been confirmed.
    pub(crate) confirmed: bool,
    /// Whether a copy has reached, or will reach, the receiver.
    pub(crate) copied: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) key: ParcelKey,
    pub(crate) number: u32,
}

impl Hop {
    #[expect(
        clippy::too_many_arguments,
        reason = "one call, in the builder, where each argument has its name"
    )]
    pub(crate) fn new(
        link: LinkId,
        (from, to): ((NodeId, usize), (NodeId, usize)),
        medium: MediumId,
        channel: usize,
        direction: &Direction,
        clock: Duration,
        layer: LinkLayer,
        [losses, variations, queueing]: [Rng; 3],
    ) -> Self {
        Self {
            link,
            from,
            to,
            medium,
            channel,
            pace: Pace::new(&direction.capacity, clock),
            delay: direction.delay.clone(),
            variations,
            loss: direction.loss,
            losses,
            layer,
            queue: Queue::new(&direction.queue, &direction.capacity, queueing),
            sending: None,
            in_flight: Flight::default(),
            next_number: 0,
            expected: 0,
        }
    }

    /// Parcels that are copies of a packet which is counted elsewhere: the sender's, once a copy
    /// was on its way, and those on their way to a receiver that has the packet already.
    pub(crate) fn doubled(&self) -> usize {
        let kept = usize::from(self.sending.is_some_and(|sending| sending.copied));
        let again = self.in_flight.items().filter(|frame| !self.is_new(frame.number)).count();
        kept + again
    }

    /// Whether the receiver has not seen a frame of this number. Only a sender that waits for
    /// acknowledgments repeats what has arrived; its frames arrive in order.
    pub(crate) const fn is_new(&self, number: u32) -> bool {
        match self.layer.feedback {
            Feedback::Acknowledged { .. } => number.wrapping_sub(self.expected).cast_signed() >= 0,
            Feedback::None | Feedback::Immediate => true,
        }
    }

    /// A frame whose transmission ends at `finish` is on its way: when it arrives, if it is the
    /// first to do so.
    #[inline]
    pub(crate) fn send(&mut self, finish: Instant, key: ParcelKey, number: u32) -> Option<Instant> {
        let arrival = self.delay.arrival(finish, self.in_flight.last(), &mut self.variations);
        self.in_flight.push(arrival, InFlight { key, number }).then_some(arrival)
    }

    /// Propagation of the frames and acknowledgments of a sender that waits for these; constant
    /// there.
    pub(super) fn propagation(&self) -> Duration {
        self.delay.distribution.mean()
    }

    /// Whether there is something to transmit.
    pub(crate) fn has_frame(&self) -> bool {
        self.sending.is_some() || !self.queue.is_empty()
    }

    /// The frame to transmit now: the one to be repeated, or the first in the queue under a new
    /// number.
    #[inline]
    pub(crate) fn next_frame(&mut self, now: Instant, parcels: &mut Parcels) -> Option<Sending> {
        if self.sending.is_none() {
            let Waiting { key, len, since } = self.queue.pop(now, parcels)?;
            let number = self.next_number;
            self.next_number = self.next_number.wrapping_add(1);
            self.sending = Some(Sending {
                key,
                len,
                number,
                transmissions: 0,
                queueing: now.since(since),
                air_time: Duration::ZERO,
                began: now,
                confirmed: false,
                copied: false,
            });
        }
        self.sending
    }

    /// Whether it can be changed so.
    pub(crate) fn can_change(&self, change: &Change) -> Result<(), ChangeError> {
        if let Change::Queue(config) = change {
            return self.queue.can_be_set(config);
        }
        let waits = matches!(self.layer.feedback, Feedback::Acknowledged { .. });
        let senseless = match change {
            Change::Capacity(capacity) => matches!(capacity, Capacity::Trace(_)),
            Change::Delay(delay) => delay.constant().is_none() || delay.order == Order::Overtake,
            _ => false,
        };
        if waits && senseless { Err(ChangeError::StopAndWait) } else { Ok(()) }
    }

    /// Changes all but its channel.
    pub(crate) fn change(&mut self, change: &Change) {
        let way = self.acknowledgment_way();
        match change {
            Change::Capacity(capacity) => {
                self.pace = self.pace.replaced(capacity);
                if let Some(managed) = self.queue.managed_mut() {
                    managed.set_capacity(capacity);
                }
            }
            Change::Delay(delay) => self.delay = delay.clone(),
            Change::Loss(loss) => self.loss = *loss,
            Change::Queue(config) => self.queue.set(config),
            Change::Channel(_) => {}
        }
        // A sender that waits for acknowledgments knows its link: it goes on waiting as much longer
        // than one takes as before.
        let new_way = self.acknowledgment_way();
        if let Feedback::Acknowledged { timeout, .. } = &mut self.layer.feedback {
            *timeout = timeout.saturating_sub(way).saturating_add(new_way);
        }
    }

    /// From the end of a frame's transmission to the end of its acknowledgment's arrival.
    fn acknowledgment_way(&self) -> Duration {
        match self.layer.feedback {
            Feedback::Acknowledged { ack_octets, .. } => {
                self.propagation() * 2 + self.pace.exact_time(ack_octets as usize)
            }
            Feedback::None | Feedback::Immediate => Duration::ZERO,
        }
    }
}
