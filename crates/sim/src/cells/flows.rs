//! Flows that take turns at a station: the packet classifier and the transmission scheduler of C3TCP
//! (D. Kliazovich, dissertation, University of Trento 2006, section 4.4.5). The text leaves the
//! algorithm open; this is round robin by octets.
//!
//! A flow is a 5-tuple, as with flow queues (RFC 8290). The queue stays one: a frame goes to its place
//! in it when it comes, before the first frame that would be sent after it if each flow sent one octet
//! in its turn. Nothing is kept of a flow but its frames.

use std::collections::VecDeque;

use crate::accounts::DropCause;
use crate::id::StationId;
use crate::parcel::{ParcelKey, Parcels};
use crate::queue::flow_hash;
use crate::technology::Admission;
use crate::transit::Transit;
use crate::wifi::{MacFrame, Wlan};

/// What finds a frame's place.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Flows that wait at a station, with their octets and the number of their last frame: only
    /// while they are looked at.
    waiting: Vec<Flow>,
    /// Frames that made room and are still to be told.
    displaced: VecDeque<ParcelKey>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    hash: u64,
    octets: u64,
    last: usize,
}

fn flow_of(frame: MacFrame, parcels: &Parcels) -> u64 {
    flow_hash(parcels[ParcelKey(frame.key)].packet(), 0)
}

impl Turns {
    /// Counts another frame of those that wait; what its flow has by then.
    fn count(&mut self, hash: u64, frame: MacFrame, index: usize) -> Flow {
        let octets = u64::from(frame.octets);
        if let Some(flow) = self.waiting.iter_mut().find(|flow| flow.hash == hash) {
            (flow.octets, flow.last) = (flow.octets + octets, index);
            return *flow;
        }
        let flow = Flow { hash, octets, last: index };
        self.waiting.push(flow);
        flow
    }

    /// The last frame of a station's queue takes its turn.
    #[cold]
    pub(super) fn take_turn(
        &mut self,
        wlan: &mut Wlan,
        from: StationId,
        frame: MacFrame,
        transit: &Transit,
    ) -> Admission {
        let told = if self.displaced.is_empty() { Admission::Queued } else { Admission::Displaces };
        if wlan.buffers(from, frame.to) {
            return told;
        }
        let parcels = &transit.parcels;
        let own = flow_of(frame, parcels);
        let earlier = || wlan.in_turn(from).take_while(|other| other.key != frame.key);
        let with_it = earlier().filter(|other| flow_of(*other, parcels) == own).chain([frame]);
        let turn: u64 = with_it.map(|frame| u64::from(frame.octets)).sum();
        self.waiting.clear();
        let mut place = None;
        for (index, other) in earlier().enumerate() {
            let hash = flow_of(other, parcels);
            let flow = self.count(hash, other, index);
            if hash == own {
                // A flow's frames stay in order.
                place = None;
            } else if flow.octets > turn {
                place = place.or(Some(index));
            }
        }
        if let Some(place) = place {
            wlan.move_last_behind(from, place);
        }
        told
    }

    /// A frame has found no room: flows with more octets that wait lose their last frames, until
    /// there is some; unless it is of the flow with most octets itself, and goes.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        wlan: &mut Wlan,
        from: StationId,
        frame: MacFrame,
        transit: &Transit,
    ) -> Result<(), Admission> {
        let full = Admission::Dropped(DropCause::QueueFull);
        if wlan.buffers(from, frame.to) {
            return Err(full);
        }
        let parcels = &transit.parcels;
        let own = flow_of(frame, parcels);
        loop {
            self.waiting.clear();
            for (index, other) in wlan.in_turn(from).enumerate() {
                self.count(flow_of(other, parcels), other, index);
            }
            let octets = u64::from(frame.octets);
            let of_own = self.waiting.iter().find(|flow| flow.hash == own).map_or(0, |flow| flow.octets);
            let longest = self.waiting.iter().filter(|flow| flow.octets > of_own + octets);
            let longest = longest.max_by_key(|flow| (flow.octets, flow.hash)).map(|flow| flow.last);
            let Some(lost) = longest.and_then(|last| wlan.take_out(from, last)) else {
                if self.displaced.is_empty() {
                    return Err(full);
                }
                // Others were dropped without making enough room: they are told together with it.
                self.displaced.push_back(ParcelKey(frame.key));
                return Err(Admission::Displaces);
            };
            self.displaced.push_back(ParcelKey(lost.key));
            if wlan.enqueue(transit.now, from, frame) {
                return Ok(());
            }
        }
    }

    /// A frame that made room; each is told once.
    pub(super) fn next_displaced(&mut self) -> Option<ParcelKey> {
        self.displaced.pop_front()
    }
}
