//! Planning an exchange when it begins.

use super::frame::{ACK_OCTETS, CTS_OCTETS, RTS_OCTETS, Receiver};
use super::phy::Rate;
use super::plan::{Guard, Plan};
use super::wlan::Wlan;

impl Wlan {
    /// The frames of the exchange for the frame at the head of a station's queue.
    pub(crate) fn plan(&self, index: u32) -> Option<Plan> {
        let station = &self.stations[index as usize];
        let frame = station.queue.front()?.frame;
        let data_octets = frame.octets + u32::from(station.attempts.options) + self.mac.overhead.octets();
        // Frames come in rows to one station and of one length.
        if let Some(last) = station.plan
            && (last.to, last.data_octets) == (frame.to, data_octets)
        {
            return Some(last);
        }
        let Receiver::Station(to) = frame.to else {
            let data_rate = self.phy.broadcast_rate();
            let data = self.phy.air_nanos(data_rate, data_octets);
            return Some(Plan {
                to: frame.to,
                guard: Guard::Nothing,
                data,
                data_octets,
                data_rate,
                ack: None,
            });
        };
        let data_rate = slower(station.rate, self.stations[to.index()].rate);
        let protected = self.mac.cts_to_self && data_rate.is_ofdm();
        let control_rate = self.phy.initial_control_rate(data_rate, protected);
        let guard = if data_octets > self.mac.rts_threshold {
            Guard::RtsCts {
                rts: self.phy.air_nanos(control_rate, RTS_OCTETS),
                cts: self.phy.air_nanos(self.phy.response_rate(control_rate), CTS_OCTETS),
            }
        } else if protected {
            Guard::CtsToSelf(self.phy.air_nanos(control_rate, CTS_OCTETS))
        } else {
            Guard::Nothing
        };
        let ack = self.phy.air_nanos(self.phy.response_rate(data_rate), ACK_OCTETS);
        let data = self.phy.air_nanos(data_rate, data_octets);
        Some(Plan { to: frame.to, guard, data, data_octets, data_rate, ack: Some(ack) })
    }
}

fn slower(one: Rate, other: Rate) -> Rate {
    if one.kbps() <= other.kbps() { one } else { other }
}
