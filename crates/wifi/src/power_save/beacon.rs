//! Beacons: their times, contents and receivers (10.1.3.2, 10.2.1.3, 10.2.1.4).

use lasthop_packet::Instant;

use super::state::{Announced, PowerSave};
use super::tim;
use crate::events::Event;
use crate::frame::{Kind, OwnFrame, Receiver};
use crate::phy::Standard;
use crate::plan::{Guard, Plan};
use crate::wlan::Wlan;

impl Wlan {
    /// A TBTT: stations wake, frames that are too old are dropped, and the access point sends a beacon
    /// next. If the previous beacon has not been sent yet, that one is sent, and no second one: its
    /// contents are made when it is sent.
    pub(crate) fn on_tbtt(&mut self, access_point: u32, now: Instant) {
        if self.domains.is_empty() {
            self.divide();
        }
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        power_save.tbtt(now);
        self.events.push(
            now.after_nanos(power_save.beacon_interval),
            access_point,
            Event::Tbtt(access_point),
        );
        self.drop_old_frames(now);
        self.send_own(now, access_point, OwnFrame::Beacon, false);
    }

    /// The exchange of a station's own frame: a beacon is a broadcast, a PS-Poll is sent at the rate
    /// of control frames (9.7.6).
    #[cold]
    pub(crate) fn plan_own(&self, index: u32, frame: OwnFrame) -> Option<Plan> {
        match frame {
            OwnFrame::Beacon => {
                let octets = self.power_save.as_deref()?.beacon_octets(self.phy.standard);
                let rate = self.phy.broadcast_rate();
                Some(Plan {
                    to: Receiver::Broadcast,
                    guard: Guard::Nothing,
                    data: self.phy.air_nanos(rate, octets),
                    data_octets: octets,
                    data_rate: rate,
                    ack: None,
                })
            }
            OwnFrame::PsPoll { .. } => self.power_save.as_deref()?.sleepers[index as usize].ps_poll,
        }
    }

    /// A beacon has ended; these stations received it without a collision.
    #[cold]
    pub(crate) fn receive_beacon(&mut self, from: u32, receivers: &[u32], (start, end): (Instant, Instant)) {
        for &index in receivers {
            if self.heeds_beacon_since(index, start)
                && !self.is_in_error(Kind::Data, (from, index), from, (start, end))
            {
                self.hear_beacon(index, end);
            }
        }
    }
}

impl PowerSave {
    fn tbtt(&mut self, now: Instant) {
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

    /// Association identifiers count the stations of the cell from 1, without the access point.
    fn beacon_octets(&self, standard: Standard) -> u32 {
        let own = self.access_point as usize;
        let others = self.buffers.iter().enumerate().filter(|(index, _)| *index != own);
        let set = others.zip(1..).filter(|((_, buffer), _)| buffer.has_traffic());
        tim::beacon_octets(standard, set.map(|(_, identifier)| identifier))
    }
}
