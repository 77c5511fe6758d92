//! Flows that take turns at a station: behind the frame in the hands of the MAC, and behind those
//! that went before others already (`own_frames`).

use lasthop_packet::Instant;

use super::frame::MacFrame;
use super::station::{Queued, Station};
use crate::queue::FairQueue;

impl Station {
    /// Puts a frame among those of its flow. Where there is no room, flows with more octets lose their
    /// last frames until there is some, which `displaced` is told. `false`: the frame does not go, and no
    /// other is dropped for it.
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
        // None is dropped in vain: mostly the next one is enough.
        let (packets, octets) = flows.size();
        let makes_room = |in_all| {
            let gone = flows.displaceable(flow, frame.octets, in_all);
            has_room((packets - gone.0, octets - gone.1))
        };
        if !has_room((packets, octets)) && !makes_room(false) && !makes_room(true) {
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
