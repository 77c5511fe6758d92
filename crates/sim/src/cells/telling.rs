//! Who hears what becomes of frames. As long as nobody wants to, a cell tells no more than what the
//! world has to act upon: arrivals, and frames that were given up.

use lasthop_wifi::StationId;

use super::{Cell, Cells};
use crate::packets::PacketKey;

impl Cells {
    /// From now on somebody wants to know when any frame leaves its queue.
    pub(crate) fn tell_fates(&mut self) {
        self.tells_fates = true;
        self.all.iter_mut().for_each(Cell::tell_fates);
    }
}

impl Cell {
    /// From now on all fates are told: what a station's node knows of its frames is brought to the
    /// present, and kept there.
    pub(super) fn tell_fates(&mut self) {
        if self.wlan.tells_fates() {
            return;
        }
        self.wlan.tell_fates(true);
        for (index, radio) in self.stations.iter_mut().enumerate() {
            let station = StationId::from_index(index);
            // Where receivers take turns fates have been told from the start.
            let hand = radio.only_hand();
            let head = self.wlan.head(station).map(|head| PacketKey(head.key));
            hand.catch_up(self.wlan.used(station).frames, head);
            if self.wlan.head_has_arrived(station) {
                hand.has_arrived();
            }
        }
    }
}
