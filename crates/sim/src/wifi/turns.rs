//! Flows that take turns at a station: behind the frame in the hands of the MAC, and behind those
//! that went before others already (`own_frames`).

use lasthop_packet::Instant;

use super::frame::MacFrame;
use super::station::{Queued, Station};
use crate::queue::FairQueue;

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
        let (limit, len, ahead) = (self.limit, frame.octets as usize, self.behind_head());
        let Some(flows) = self.flows.as_deref_mut().filter(|_| !self.queue.is_empty()) else {
            return self.push(frame, now);
        };
        let has_room = |(packets, octets)| limit.has_room(ahead.0 + packets, ahead.1 + octets, len);
        // Frames ahead of the flows are not displaced: where they leave no room, dropping others is in vain.
        if !has_room((0, 0)) {
            return false;
        }
        while !has_room(flows.size()) {
            let Some(lost) = flows.displace(flow, frame.octets) else { return false };
            displaced(lost.frame);
        }
        flows.push(flow, Queued { frame, arrived: now });
        true
    }

    /// The queue is empty: the frame whose turn it is comes to its head.
    #[cold]
    pub(crate) fn take_turn(&mut self) {
        if let Some(next) = self.flows.as_deref_mut().and_then(FairQueue::pop) {
            self.queued_octets += u64::from(next.frame.octets);
            self.queue.push_back(next);
        }
    }
}
