//! Radios: frames that come into the world whole, and leave it so.

use lasthop_wifi::{Channel, RawFrame, StationId};

use super::World;
use crate::id::{NodeId, WlanId};
use crate::radios::RadioEvent;

impl World {
    /// Makes a station a radio, whose MAC above the distributed coordination function is outside of the world: it sends
    /// whole frames ([`Self::transmit`]), and gives out what it learns ([`Self::next_radio_event`]).
    pub fn open_radio(&mut self, wlan: WlanId, station: StationId) {
        self.radios.open(wlan, station);
    }

    /// The node of a station.
    pub fn station_node(&self, wlan: WlanId, station: StationId) -> NodeId {
        self.links.cells().cell(wlan).node(station)
    }

    /// Tunes a radio to a channel. [`RadioEvent::Tuned`] follows: at once, or after an exchange in which it takes part.
    pub fn tune_radio(&mut self, wlan: WlanId, station: StationId, channel: Channel) {
        self.links.cells_mut().tune(wlan, station, Some(channel), &mut self.transit);
        if self.links.cells().are_passing_on() {
            self.pass_on_cells();
        }
    }

    /// A radio transmits a frame now. The caller chooses the key, which comes back with every event of the frame; the
    /// last one is [`RadioEvent::Sent`]. `false`: too many frames wait at the radio, and this one is dropped.
    pub fn transmit(&mut self, wlan: WlanId, from: StationId, frame: RawFrame) -> bool {
        self.links.cells_mut().send_raw(wlan, from, frame, &mut self.transit)
    }

    /// What has happened at a radio next, and in which cell. It happens between two events of the world.
    pub fn next_radio_event(&mut self) -> Option<(WlanId, RadioEvent)> {
        self.radios.next_event()
    }
}
