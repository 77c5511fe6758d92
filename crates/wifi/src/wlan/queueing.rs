//! What waits at stations: in their queues, and at an access point for those that doze.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::frame::{MacFrame, Receiver, StationId};

impl<E: ErrorModel> Wlan<E> {
    /// A packet for a station to send. `false`: its queue is full.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, station: StationId, frame: MacFrame) -> bool {
        self.put(now, station, frame, |contender| contender.queue.push(frame, now))
    }

    /// As [`Self::enqueue`], for a packet of the flow with this number where flows take turns.
    /// `displaced` is told which frames of others are dropped to make room for it.
    #[cold]
    pub fn enqueue_in_turn(
        &mut self,
        now: Instant,
        station: StationId,
        (flow, frame): (u64, MacFrame),
        displaced: impl FnMut(MacFrame),
    ) -> bool {
        self.put(now, station, frame, |contender| contender.queue.push_in_turn(flow, frame, now, displaced))
    }

    /// Has a frame buffered for its receiver to wake, or pushed into its station's queue.
    #[expect(clippy::inline_always, reason = "every frame; measured")]
    #[inline(always)]
    fn put(
        &mut self,
        now: Instant,
        station: StationId,
        frame: MacFrame,
        push: impl FnOnce(&mut Contender) -> bool,
    ) -> bool {
        self.medium.divide();
        if let Some(power_save) = self.power_save.as_deref_mut()
            && power_save.buffers(station.0, frame.to)
        {
            return power_save.buffer(frame, now);
        }
        let index = Contender::index_of(station.0);
        let contender = &mut self.contenders[index as usize];
        let had_head = !contender.queue.is_empty();
        if !push(contender) {
            return false;
        }
        let has_own = contender.own().is_some();
        if !had_head {
            self.wake(station.0, now);
            if !has_own {
                self.contend(now, index, false);
            }
        }
        true
    }

    /// Whether flows take turns at a station.
    pub fn takes_turns(&self, station: StationId) -> bool {
        self.of(station).queue.is_per_flow()
    }

    /// Takes back what waits at a station for another one; not the frame in the hands of its MAC.
    pub fn withdraw(&mut self, station: StationId, to: StationId) -> Vec<MacFrame> {
        let mut gone = self.contenders[Contender::index_of(station.0) as usize].queue.withdraw(to);
        if let Some(power_save) = self.power_save.as_deref_mut() {
            let buffered = power_save.withdraw(station.0, to, !gone.is_empty());
            gone.extend(buffered.into_iter().map(|queued| queued.frame));
        }
        gone
    }

    /// Packets and octets that wait at a station, the one that is being transmitted not counted.
    pub fn waiting(&self, station: StationId) -> (usize, u64) {
        let (packets, octets) = self.of(station).queue.waiting();
        match self.power_save.as_deref().map(|it| it.waiting(station.0)) {
            None => (packets, octets),
            Some((buffered, of_them)) => (packets + buffered, octets + of_them),
        }
    }

    /// The frame in the hands of a station's MAC: no longer one that waits.
    pub fn head(&self, station: StationId) -> Option<MacFrame> {
        self.of(station).queue.head().map(|queued| queued.frame)
    }

    /// Whether that frame has arrived already, though its station may not know.
    pub fn head_has_arrived(&self, station: StationId) -> bool {
        self.of(station).queue.attempts().is_delivered()
    }

    /// Whether a frame that comes to a station now has to wait: for another one, or for its receiver
    /// to wake.
    pub fn would_wait(&self, station: StationId, to: Receiver) -> bool {
        self.of(station).has_frame() || self.buffers(station, to)
    }

    /// Whether a frame that comes to a station now is kept for its receiver to wake.
    pub fn buffers(&self, station: StationId, to: Receiver) -> bool {
        self.power_save.as_deref().is_some_and(|it| it.buffers(station.0, to))
    }

    /// The contender for a station's packets.
    fn of(&self, station: StationId) -> &Contender {
        &self.contenders[Contender::index_of(station.0) as usize]
    }
}
