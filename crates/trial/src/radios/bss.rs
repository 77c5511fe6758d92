//! Channels and beacons of a cell, as the kernel has them.

use std::time::Duration;

use lasthop_scenario::WlanModel;
use lasthop_wifi::{Channel, PowerSaveConfig};

/// The beacon interval of a cell's access points.
pub(crate) fn beacon_interval(cell: &WlanModel) -> Duration {
    let of_roaming = cell.roaming.as_ref().map(|roaming| roaming.config.beacon_interval);
    let of_power_save = cell.power_save.as_ref().map(|saving| saving.config.beacon_interval);
    of_roaming.or(of_power_save).unwrap_or(PowerSaveConfig::default().beacon_interval)
}

/// A time in whole time units.
pub(crate) const fn time_units(time: Duration) -> u128 {
    time.as_nanos() / PowerSaveConfig::TIME_UNIT.as_nanos()
}

/// The channel of a station. In the model, all stations may be on a channel without a number.
pub(crate) fn channel_of(cell: &WlanModel, station: usize) -> u16 {
    cell.stations[station].config.channel.map_or(1, |channel| channel.0.max(1))
}

/// The frequency of a channel of the 2.4 GHz band, in MHz (IEEE 802.11-2020, 15.4.4.3).
pub(crate) const fn mhz_of(channel: u16) -> u16 {
    2407 + 5 * channel
}

/// The channel at a frequency of that band.
pub(crate) const fn channel_at(mhz: u32) -> Channel {
    Channel((mhz.saturating_sub(2407) / 5) as u16)
}
