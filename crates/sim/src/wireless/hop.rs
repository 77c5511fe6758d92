//! One direction of a wireless link: its queue, its link-layer sender and receiver.

use std::time::Duration;

use lasthop_packet::{Instant, Rng};

use super::layer::{Arq, Feedback, LinkLayer};
use super::outstanding::{Outstanding, Sending};
use super::received::Received;
use crate::capacity::{Capacity, Pace};
use crate::change::{Change, ChangeError};
use crate::config::Direction;
use crate::delay::{Delays, Order};
use crate::flight::Flight;
use crate::id::MediumId;
use crate::loss::Losses;
use crate::packets::{PacketKey, Packets};
use crate::queue::{Queue, Waiting};
use crate::technology::LinkEnds;

#[derive(Debug)]
pub(crate) struct Hop {
    ends: LinkEnds,
    medium: MediumId,
    channel: usize,
    pace: Pace,
    /// Whether no frame's transmission begins. One that is under way is finished at its own pace.
    is_stalled: bool,
    delays: Delays,
    losses: Losses,
    layer: LinkLayer,
    /// Packets that wait.
    queue: Queue,
    /// The frame that is being transmitted, or that its sender waits for.
    sending: Option<Sending>,
    /// Frames in the air.
    in_flight: Flight<InFlight>,
    next_number: u32,
    /// The receiver's link layer, where the sender waits for its acknowledgments.
    received: Received,
    /// The frames that a selective-repeat sender has transmitted and is not through with.
    outstanding: Option<Box<Outstanding>>,
}

/// A frame in the air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) key: PacketKey,
    pub(crate) number: u32,
}

impl Hop {
    pub(crate) fn new(
        ends: LinkEnds,
        (medium, channel): (MediumId, usize),
        direction: &Direction,
        clock: Duration,
        layer: LinkLayer,
        [losses, variations, queueing]: [Rng; 3],
    ) -> Self {
        let outstanding = match layer.feedback {
            Feedback::Acknowledged { arq: Arq::SelectiveRepeat { window }, .. } => {
                Some(Box::new(Outstanding::new(window.clamp(1, Arq::LARGEST_WINDOW))))
            }
            _ => None,
        };
        Self {
            ends,
            medium,
            channel,
            pace: Pace::new(&direction.capacity, clock),
            is_stalled: direction.capacity == Capacity::Stalled,
            delays: Delays::new(&direction.delay, variations),
            losses: Losses::new(&direction.loss, losses),
            layer,
            queue: Queue::new(&direction.queue, &direction.capacity, queueing),
            sending: None,
            in_flight: Flight::default(),
            next_number: 0,
            received: Received::default(),
            outstanding,
        }
    }

    pub(super) const fn ends(&self) -> LinkEnds {
        self.ends
    }

    pub(super) const fn medium(&self) -> MediumId {
        self.medium
    }

    /// The number of its link's channel.
    pub(super) const fn channel(&self) -> usize {
        self.channel
    }

    pub(super) const fn layer(&self) -> LinkLayer {
        self.layer
    }

    /// The time that a frame of `len` octets takes, whatever the clock makes of it.
    pub(super) fn exact_time(&self, len: u32) -> Duration {
        self.pace.exact_time(len as usize)
    }

    pub(super) const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// As [`Self::queue`].
    pub(super) const fn queue_mut(&mut self) -> &mut Queue {
        &mut self.queue
    }

    /// Packets that are copies of a packet which is counted elsewhere: the sender's, once a copy
    /// was on its way, and those on their way to a receiver that has the packet already.
    pub(crate) fn doubled(&self) -> usize {
        let sending = usize::from(self.sending.is_some_and(|sending| sending.copied));
        let kept = self.outstanding.as_ref().map_or(0, |outstanding| outstanding.copied());
        let again = self.in_flight.items().filter(|frame| !self.is_new(frame.number)).count();
        sending + kept + again
    }

    /// Whether the receiver has not seen a frame of this number. Only a sender that waits for
    /// acknowledgments repeats what has arrived.
    const fn is_new(&self, number: u32) -> bool {
        match self.layer.feedback {
            Feedback::Acknowledged { .. } => self.received.is_new(number),
            Feedback::None | Feedback::Immediate => true,
        }
    }

    /// A frame of this number reaches the receiver: whether it is new to it.
    pub(super) fn receive(&mut self, number: u32) -> bool {
        let is_new = self.is_new(number);
        if is_new && matches!(self.layer.feedback, Feedback::Acknowledged { .. }) {
            self.received.insert(number);
        }
        is_new
    }

    /// The transmission of the frame in hand begins: the frame, and when it ends.
    pub(super) fn begin(&mut self, now: Instant) -> Option<(Sending, Instant)> {
        let sending = self.sending.as_mut()?;
        let finish = self.pace.finish(now, sending.len as usize);
        sending.transmissions += 1;
        sending.air_time += finish.since(now);
        sending.confirmed = false;
        sending.began = now;
        Some((*sending, finish))
    }

    /// Whether the next transmission is lost, whatever the channel is like.
    pub(super) fn loses(&mut self) -> bool {
        self.losses.next()
    }

    /// When the exchange of a frame is over whose transmission ends at `finish`, if no acknowledgment ends it before.
    pub(super) fn over(&self, finish: Instant) -> Instant {
        match self.layer.feedback {
            Feedback::None | Feedback::Immediate => finish,
            Feedback::Acknowledged { timeout, arq: Arq::StopAndWait, .. } => finish + timeout,
            // Then comes the acknowledgment of some frame, or silence.
            Feedback::Acknowledged { ack_octets, arq: Arq::SelectiveRepeat { .. }, .. } => {
                self.pace.clone().finish(finish, ack_octets as usize)
            }
        }
    }

    /// The frame in hand is lost in a transmission that ends at `finish`, in an exchange that ends at `over`. Returns
    /// when a sender that does not wait learns of it.
    pub(super) fn on_lost(&mut self, finish: Instant, over: Instant) -> Option<Instant> {
        let Feedback::Acknowledged { timeout, arq: Arq::SelectiveRepeat { .. }, .. } = self.layer.feedback
        else {
            return None;
        };
        let known_at = over.max(finish + timeout);
        self.go_on(Some(known_at));
        Some(known_at)
    }

    /// Whether the sender keeps a frame that it has transmitted, until it is confirmed.
    pub(super) const fn keeps_frame(&self) -> bool {
        !matches!(self.layer.feedback, Feedback::None)
    }

    /// Whether an exchange ends when the acknowledgment comes, or does not.
    pub(super) const fn waits_for_acknowledgment(&self) -> bool {
        matches!(self.layer.feedback, Feedback::Acknowledged { arq: Arq::StopAndWait, .. })
    }

    /// The frame in hand, or its copy `key`, is on its way in a transmission that ends at `finish`: when it arrives,
    /// if it is the first to do so.
    pub(super) fn send(&mut self, finish: Instant, key: PacketKey) -> Option<Instant> {
        let sending = self.sending.as_mut()?;
        sending.copied = key != sending.key;
        sending.confirmed = !matches!(self.layer.feedback, Feedback::Acknowledged { .. });
        let number = sending.number;
        let arrival = self.delays.arrival(finish, self.in_flight.last());
        let is_first = self.in_flight.push(arrival, InFlight { key, number });
        self.go_on(None);
        is_first.then_some(arrival)
    }

    /// The first frame in the air reaches the receiver, if it does so by now; and when the next one does.
    pub(super) fn arrive(&mut self, now: Instant) -> Option<(InFlight, Option<Instant>)> {
        self.in_flight.pop_due(now)
    }

    /// How long the receiver's acknowledgment of a frame takes that has arrived now, without propagation.
    /// An acknowledgment takes its time at the hop's own pace; it does not wait behind data.
    pub(super) fn acknowledgment_time(&self, now: Instant, ack_octets: u32) -> Duration {
        self.pace.clone().finish(now, ack_octets as usize).since(now)
    }

    /// Records whether the acknowledgment of a frame reaches the sender, and when the sender knows. Returns
    /// whether it sends on meanwhile.
    pub(super) fn decided(&mut self, number: u32, is_confirmed: bool, known_at: Instant) -> bool {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.decided(number, is_confirmed, known_at);
        } else if let Some(sending) = &mut self.sending {
            sending.confirmed = is_confirmed;
        }
        self.outstanding.is_some()
    }

    /// The frame in hand.
    pub(super) const fn in_hand(&self) -> Option<Sending> {
        self.sending
    }

    /// See [`Outstanding::next_known`].
    pub(super) fn next_known(&mut self, now: Instant) -> Option<Sending> {
        self.outstanding.as_mut()?.next_known(now)
    }

    /// A frame is to be transmitted again, by a sender that does not wait ahead of new ones.
    pub(super) fn repeat(&mut self, number: u32) {
        if let Some(outstanding) = &mut self.outstanding {
            outstanding.repeat(number);
        }
    }

    /// The sender is through with a frame.
    pub(super) fn done(&mut self, number: u32) {
        match &mut self.outstanding {
            Some(outstanding) => outstanding.done(number),
            None => self.sending = None,
        }
    }

    /// Propagation of the frames and acknowledgments of a sender that waits for these; constant
    /// there.
    pub(super) fn propagation(&self) -> Duration {
        self.delays.config().distribution.mean()
    }

    /// Whether there is something to transmit now.
    pub(crate) fn has_frame(&self) -> bool {
        if self.is_stalled {
            return false;
        }
        self.sending.is_some()
            || match &self.outstanding {
                None => !self.queue.is_empty(),
                Some(outstanding) => {
                    outstanding.has_again() || (!outstanding.is_full() && !self.queue.is_empty())
                }
            }
    }

    pub(super) const fn is_stalled(&self) -> bool {
        self.is_stalled
    }

    /// Whether a new frame has to wait although the medium is free.
    pub(super) fn is_held_up(&self) -> bool {
        self.is_stalled
            || self.has_frame()
            || self.outstanding.as_ref().is_some_and(|outstanding| outstanding.is_full())
    }

    /// The frame to transmit now: one to be repeated, or the first in the queue under a new number.
    #[inline]
    pub(crate) fn next_frame(&mut self, now: Instant, packets: &mut Packets) -> Option<Sending> {
        if self.sending.is_none() {
            self.sending = self.outstanding.as_mut().and_then(|outstanding| outstanding.next_again());
        }
        if self.sending.is_none() {
            let Waiting { key, len, since } = self.queue.pop(now, packets)?;
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

    /// A selective-repeat sender does not wait for the frame that it has transmitted; others do. `known_at` is
    /// when it learns that this was lost.
    fn go_on(&mut self, known_at: Option<Instant>) {
        let Some(outstanding) = &mut self.outstanding else { return };
        if let Some(sending) = self.sending.take() {
            outstanding.transmitted(sending, known_at);
        }
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
        if waits && senseless { Err(ChangeError::Acknowledged) } else { Ok(()) }
    }

    /// Changes all but its channel.
    pub(crate) fn change(&mut self, change: &Change) {
        let way = self.acknowledgment_way();
        match change {
            Change::Capacity(Capacity::Stalled) => self.is_stalled = true,
            Change::Capacity(capacity) => {
                self.is_stalled = false;
                self.pace = self.pace.replaced(capacity);
                if let Some(managed) = self.queue.managed_mut() {
                    managed.set_capacity(capacity);
                }
            }
            Change::Delay(delay) => self.delays.set(delay),
            Change::Loss(loss) => self.losses.set(loss),
            Change::Queue(config) => self.queue.set(config),
            Change::Faults(_) | Change::Channel(_) | Change::Selection(_) | Change::Cut(_) => {}
        }
        // The margin of the timeout above the time of an acknowledgment stays the same.
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
