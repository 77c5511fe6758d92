//! Frames that wait: in the queues of stations, and at an access point for stations that doze.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::frame::{MacFrame, Receiver, StationId};

impl<E: ErrorModel> Wlan<E> {
    /// Enqueues a packet that a station is to send. `false`: its queue is full, and the packet is dropped.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, station: StationId, frame: MacFrame) -> bool {
        self.put(now, station, frame, |contender| contender.queue.push(frame, now))
    }

    /// As [`Self::enqueue`], for a packet of the flow with this number, at a station where flows take turns.
    /// Frames that are dropped to make room for it are passed to `displaced`.
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

    /// Buffers a frame until its receiver wakes, or pushes it into its station's queue.
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

    /// Removes and returns the frames that wait at a station for another one, except the frame that its MAC
    /// is transmitting.
    pub fn withdraw(&mut self, station: StationId, to: StationId) -> Vec<MacFrame> {
        let mut gone = self.contenders[Contender::index_of(station.0) as usize].queue.withdraw(to);
        if let Some(power_save) = self.power_save.as_deref_mut() {
            let buffered = power_save.withdraw(station.0, to, !gone.is_empty());
            gone.extend(buffered.into_iter().map(|queued| queued.frame));
        }
        gone
    }

    /// Removes and returns the frames of a station that is off the air, also those for which it has contended, and
    /// whether each has arrived, though the station does not know. Nothing happens while it is on the air.
    pub fn flush(&mut self, now: Instant, station: StationId) -> Vec<(MacFrame, bool)> {
        if self.medium.channel(station.0).is_some() {
            return Vec::new();
        }
        let mut all = Vec::new();
        for index in Contender::all_of(station.0) {
            let contender = &mut self.contenders[index as usize];
            for (frame, attempts) in contender.flush(now) {
                let is_gap = self.aggregates && attempts.transmissions() > 0 && !attempts.is_delivered();
                if let Some(to) = frame.to.station().filter(|_| is_gap) {
                    // Its sequence number is not used again.
                    contender.queue.owe_block_ack_request(StationId(to));
                }
                all.push((frame, attempts.is_delivered()));
            }
        }
        all
    }

    /// Packets and octets that wait at a station, without the frame that is being transmitted.
    pub fn waiting(&self, station: StationId) -> (usize, u64) {
        let (packets, octets) = self.of(station).queue.waiting();
        match self.power_save.as_deref().map(|it| it.waiting(station.0)) {
            None => (packets, octets),
            Some((buffered, of_them)) => (packets + buffered, octets + of_them),
        }
    }

    /// The frame that a station's MAC is transmitting or contends for; it no longer waits.
    pub fn head(&self, station: StationId) -> Option<MacFrame> {
        self.of(station).queue.head().map(|queued| queued.frame)
    }

    /// Whether that frame has arrived already, though its station may not know.
    pub fn head_has_arrived(&self, station: StationId) -> bool {
        self.of(station).queue.attempts().is_delivered()
    }

    /// Whether a frame that is enqueued at a station now has to wait: behind another one, or until its
    /// receiver wakes.
    pub fn would_wait(&self, station: StationId, to: Receiver) -> bool {
        self.of(station).has_frame() || self.buffers(station, to)
    }

    /// Whether a frame that is enqueued at a station now is buffered until its receiver wakes.
    pub fn buffers(&self, station: StationId, to: Receiver) -> bool {
        self.power_save.as_deref().is_some_and(|it| it.buffers(station.0, to))
    }

    /// The contender for a station's packets.
    fn of(&self, station: StationId) -> &Contender {
        &self.contenders[Contender::index_of(station.0) as usize]
    }
}
