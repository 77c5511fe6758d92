//! Beacons: their times, contents and receivers (10.1.3.2, 10.2.1.3, 10.2.1.4).

use lasthop_packet::Instant;

use super::{Announced, PowerSave, tim};
use crate::phy::Standard;

impl PowerSave {
    /// A TBTT: the stations that listen to this beacon wake.
    pub(crate) fn tbtt(&mut self, now: Instant) {
        let number = self.beacons;
        self.beacons += 1;
        self.wake_for_beacon(now, number, self.is_dtim(number));
    }

    fn is_dtim(&self, number: u64) -> bool {
        number.is_multiple_of(u64::from(self.config.dtim_period.max(1)))
    }

    /// A beacon begins: its TIM is made from the buffers as they are now.
    pub(super) fn announce(&mut self) {
        let is_dtim = self.is_dtim(self.beacons.saturating_sub(1));
        // What is left of the last DTIM's is announced by each beacon until it is sent (10.2.1.6 f).
        let group = self.group_left > 0 || (is_dtim && !self.group.is_empty());
        self.announced = Announced { is_dtim, group };
        for buffer in &mut self.buffers {
            buffer.is_announced = buffer.has_traffic();
        }
    }

    /// Octets of a beacon now. Association identifiers count the stations of the cell from 1, without the access point.
    pub(crate) fn beacon_octets(&self, standard: Standard) -> u32 {
        let own = self.access_point as usize;
        let others = self.buffers.iter().enumerate().filter(|(index, _)| *index != own);
        let set = others.zip(1..).filter(|((_, buffer), _)| buffer.has_traffic());
        tim::beacon_octets(standard, set.map(|(_, identifier)| identifier))
    }
}
