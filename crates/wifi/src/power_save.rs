//! Power save in an infrastructure network (IEEE 802.11-2012, 10.2.1).
//!
//! The access point sends a beacon at each target beacon transmission time (TBTT), ahead of its
//! queue. Stations in power-save mode doze; frames for them wait at the access point, which names
//! these stations in the beacon's traffic indication map (TIM). A station wakes for the beacon and
//! fetches its frames one by one, each with a PS-Poll. Group frames wait for the next beacon with a
//! delivery TIM (DTIM), and follow it.
//!
//! | module | what is in it |
//! |---|---|
//! | `config` | beacon interval, DTIM period, listen interval, bounds of buffers |
//! | `beacon` | TBTTs; what a beacon says; who hears it |
//! | `tim` | its size |
//! | `buffer`, `buffers` | what waits at the access point; the answer to a PS-Poll |
//! | `sleeper`, `dozing` | when a station is awake, and why |
//! | `state` | all of it |
//!
//! Beacons and PS-Polls are a station's *own frames* ([`OwnFrame`]): they carry no packet, never
//! wait in a queue, and no output is about them.

mod beacon;
mod buffer;
mod buffers;
pub mod config;
mod dozing;
mod sleeper;
mod state;
#[cfg(test)]
mod tests;
mod tim;

use lasthop_packet::time::nanos;
use lasthop_packet::{Instant, Rng};

use super::events::Event;
use super::frame::OwnFrame;
use super::wlan::Wlan;
use crate::id::StationId;

use buffer::Buffer;
pub use config::PowerSaveConfig;
use sleeper::Sleeper;
use state::Announced;
pub(crate) use state::PowerSave;

impl Wlan {
    /// Puts these stations into power-save mode for the whole run; the access point, if it is among
    /// them, stays awake. To be called after the last station was added and before the first frame.
    pub fn save_power(&mut self, access_point: StationId, stations: &[StationId], config: PowerSaveConfig) {
        assert!(self.domains.is_empty(), "power save begins before the first frame");
        let beacon_interval = nanos(config.beacon_interval).max(1);
        let first = config
            .first_beacon
            .map_or_else(|| Rng::named(self.seed, "radio beacons").below(beacon_interval), nanos);
        let mut sleepers = vec![Sleeper::awake(); self.stations.len()];
        for station in stations.iter().filter(|station| **station != access_point) {
            sleepers[station.index()] = Sleeper::dozing();
        }
        for (index, sleeper) in sleepers.iter_mut().enumerate().filter(|(_, it)| it.saves_power) {
            sleeper.ps_poll = Some(self.plan_ps_poll(index as u32, access_point));
        }
        let buffers = sleepers.iter().map(|_| Buffer::default()).collect();
        self.power_save = Some(Box::new(PowerSave {
            config,
            beacon_interval,
            access_point: access_point.0,
            beacons: 0,
            announced: Announced::default(),
            more_data: false,
            sleepers,
            buffers,
            group: Buffer::default(),
            group_left: 0,
            waiting: (0, 0),
        }));
        self.events.push(Instant::from_nanos(first), access_point.0, Event::Tbtt(access_point.0));
    }

    /// Gives a station a frame of its own to send, ahead of its queue. With `draws` it backs off
    /// even if the medium is idle.
    #[inline(never)]
    fn send_own(&mut self, now: Instant, index: u32, frame: OwnFrame, draws: bool) {
        let station = &mut self.stations[index as usize];
        if station.is_transmitting() {
            station.next_own = Some(frame);
            return;
        }
        let had_frame = station.has_frame();
        station.set_own(frame, now);
        if !had_frame {
            if draws {
                self.contend_with_back_off(now, index);
            } else {
                self.contend(now, index);
            }
        }
    }

    /// An exchange begins: its frames carry the present state (TIM, More Data).
    #[cold]
    pub(crate) fn power_save_begins(&mut self, index: u32) {
        let own = self.stations[index as usize].own;
        match own {
            None => {}
            Some(OwnFrame::Beacon) => self.counters.beacons += 1,
            Some(OwnFrame::PsPoll { .. }) => self.counters.ps_polls += 1,
        }
        self.counters.attempts -= u64::from(own.is_some());
        let to = self.partner(index);
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        if power_save.access_point != index {
            return;
        }
        power_save.more_data = match (own, to) {
            (Some(_), _) => {
                power_save.announce();
                false
            }
            (None, Some(to)) => !power_save.buffers[to as usize].is_empty(),
            (None, None) => power_save.group_left > 1,
        };
    }

    /// A station's current frame was delivered or given up, and is about to leave the MAC.
    #[cold]
    pub(crate) fn power_save_ends(&mut self, index: u32) {
        let (own, to) = (self.stations[index as usize].own, self.partner(index));
        let Some(power_save) = self.power_save.as_deref_mut() else { return };
        match (own, to) {
            (Some(OwnFrame::Beacon), _) => {}
            // Even a PS-Poll that was given up may have arrived and only its ACK been lost: the
            // station waits for the response.
            (Some(OwnFrame::PsPoll { .. }), _) => power_save.sleepers[index as usize].awaits_response(),
            _ if power_save.access_point != index => {}
            (None, Some(to)) => power_save.buffers[to as usize].is_responding = false,
            (None, None) => power_save.group_left = power_save.group_left.saturating_sub(1),
        }
    }
}
