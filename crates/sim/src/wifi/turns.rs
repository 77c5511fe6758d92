//! Flows that take turns at a station: behind the frame in the hands of the MAC, and behind those
//! that went before others already (`own_frames`).

use lasthop_packet::Instant;

use super::frame::MacFrame;
use super::station::{Queued, Station};

impl Station {
    /// Puts a frame among those of its flow. Where there is no room, flows with more octets lose their
    /// last frames until there is some, which `displaced` is told. `false`: the frame does not go.
    pub(crate) fn push_in_turn(
        &mut self,
        flow: u64,
        frame: MacFrame,
        now: Instant,
        mut displaced: impl FnMut(MacFrame),
    ) -> bool {
        let (limit, len) = (self.limit, frame.octets as usize);
        let waiting = self.waiting();
        let Some(flows) = self.flows.as_deref_mut().filter(|_| !self.queue.is_empty()) else {
            return self.push(frame, now);
        };
        let (mut packets, mut octets) = waiting;
        let in_turn = flows.size();
        // Frames that go before others are not displaced: nothing is dropped where that is in vain.
        if !limit.has_room(packets - in_turn.0, octets - in_turn.1, len) {
            return false;
        }
        while !limit.has_room(packets, octets, len) {
            let Some(Queued { frame: lost, .. }) = flows.displace(flow, frame.octets) else { return false };
            (packets, octets) = (packets - 1, octets - u64::from(lost.octets));
            self.queued_octets -= u64::from(lost.octets);
            displaced(lost);
        }
        flows.push(flow, Queued { frame, arrived: now });
        self.queued_octets += u64::from(frame.octets);
        true
    }

    /// The queue is empty: the frame whose turn it is comes to its head.
    pub(crate) fn take_turn(&mut self) {
        if let Some(flows) = &mut self.flows {
            self.queue.extend(flows.pop());
        }
    }
}
