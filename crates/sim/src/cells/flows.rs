//! Flows that take turns at a station: the packet classifier of C3TCP (D. Kliazovich, dissertation,
//! University of Trento 2006, section 4.4.5). The text leaves open how the transmission scheduler
//! chooses; here it is the station's fair queue.
//!
//! A flow is a 5-tuple, as with flow queues (RFC 8290).

use std::collections::VecDeque;

use lasthop_wifi::{ErrorModel, MacFrame, StationId, Wlan};

use crate::accounts::DropCause;
use crate::packets::PacketKey;
use crate::queue::flow_hash;
use crate::technology::Admission;
use crate::transit::Transit;

/// Classifies the frames of a station by flow, and keeps the frames that were dropped for others.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Frames that were dropped to make room and not yet reported.
    displaced: VecDeque<PacketKey>,
}

impl Turns {
    /// Puts a frame among those of its flow.
    #[cold]
    pub(super) fn enqueue(
        &mut self,
        wlan: &mut Wlan<impl ErrorModel>,
        from: StationId,
        frame: MacFrame,
        transit: &Transit,
    ) -> Admission {
        let key = PacketKey(frame.key);
        let flow = flow_hash(transit.packet(key), 0);
        let displaced = |lost: MacFrame| self.displaced.push_back(PacketKey(lost.key));
        let is_queued = wlan.enqueue_in_turn(transit.now(), from, (flow, frame), displaced);
        match (is_queued, self.displaced.is_empty()) {
            (true, true) => Admission::Queued,
            (true, false) => Admission::Displaces,
            (false, _) => Admission::Dropped(DropCause::QueueFull),
        }
    }

    /// A frame that was dropped to make room; each is reported once.
    pub(super) fn next_displaced(&mut self) -> Option<PacketKey> {
        self.displaced.pop_front()
    }
}
