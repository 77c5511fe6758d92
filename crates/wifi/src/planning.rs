//! Planning an exchange when it begins.

use super::frame::{ACK_OCTETS, CTS_OCTETS, PS_POLL_OCTETS, RTS_OCTETS, Receiver};
use super::phy::Rate;
use super::plan::{Guard, Plan};
use super::station::Station;
use super::wlan::Wlan;
use crate::id::StationId;

impl Wlan {
    /// Plans the exchange for the frame in a station's hands, if there is one.
    #[inline]
    pub(crate) fn plan(&mut self, index: u32) -> Option<&mut Station> {
        let station = &self.stations[index as usize];
        if let Some(own) = station.own {
            let plan = self.plan_own(index, own)?;
            return Some(self.take_plan(index, plan));
        }
        let frame = station.queue.front()?.frame;
        let data_octets = frame.octets + u32::from(station.attempts.options) + self.mac.overhead.octets();
        // Frames come in rows to one station and of one length.
        if let Some(last) = &station.plan
            && (last.to, last.data_octets) == (frame.to, data_octets)
        {
            return Some(&mut self.stations[index as usize]);
        }
        let plan = self.plan_data(index, frame.to, data_octets);
        Some(self.take_plan(index, plan))
    }

    fn take_plan(&mut self, index: u32, plan: Plan) -> &mut Station {
        let station = &mut self.stations[index as usize];
        station.plan = Some(plan);
        station
    }

    #[inline(never)]
    fn plan_data(&self, index: u32, receiver: Receiver, data_octets: u32) -> Plan {
        let Receiver::Station(to) = receiver else {
            let data_rate = self.phy.broadcast_rate();
            let data = self.phy.air_nanos(data_rate, data_octets);
            return Plan { to: receiver, guard: Guard::Nothing, data, data_octets, data_rate, ack: None };
        };
        let (data_rate, protected, control_rate) = self.rates(index, to);
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
        Plan { to: receiver, guard, data, data_octets, data_rate, ack: Some(ack) }
    }

    /// The frames of a PS-Poll's exchange. It is a control frame, and goes at the rate that an RTS
    /// would have.
    pub(crate) fn plan_ps_poll(&self, index: u32, to: StationId) -> Plan {
        let (.., rate) = self.rates(index, to);
        Plan {
            to: Receiver::Station(to),
            guard: Guard::Nothing,
            data: self.phy.air_nanos(rate, PS_POLL_OCTETS),
            data_octets: PS_POLL_OCTETS,
            data_rate: rate,
            ack: Some(self.phy.air_nanos(self.phy.response_rate(rate), ACK_OCTETS)),
        }
    }

    /// From a station to another: the rate of data, whether that needs protection, the rate of
    /// control frames.
    fn rates(&self, from: u32, to: StationId) -> (Rate, bool, Rate) {
        let data = slower(self.stations[from as usize].rate, self.stations[to.index()].rate);
        let protected = self.mac.cts_to_self && data.is_ofdm();
        (data, protected, self.phy.initial_control_rate(data, protected))
    }
}

fn slower(one: Rate, other: Rate) -> Rate {
    if one.kbps() <= other.kbps() { one } else { other }
}
