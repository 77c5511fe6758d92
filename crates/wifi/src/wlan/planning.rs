//! Planning an exchange when it begins.

use super::Wlan;
use crate::contender::{Contender, Mpdu, Plan, Ppdu};
use crate::errors::ErrorModel;
use crate::frame::{ACK_OCTETS, CTS_OCTETS, Kind, OwnFrame, PS_POLL_OCTETS, RTS_OCTETS, Receiver, StationId};
use crate::phy::Rate;

impl<E: ErrorModel> Wlan<E> {
    /// Plans the exchange for the frame that a contender is to transmit. Returns its receiver, if there is a
    /// frame.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn plan(&mut self, index: u32) -> Option<Receiver> {
        let contender = &mut self.contenders[index as usize];
        let own = contender.own();
        contender.exchange.select(own.is_some());
        let (to, octets) = if let Some(own) = own {
            let octets = if own == OwnFrame::Beacon { self.beacon_octets() } else { PS_POLL_OCTETS };
            (own.receiver(), octets)
        } else {
            let frame = contender.queue.head()?.frame;
            let options = u32::from(contender.queue.attempts().options());
            (frame.to, frame.octets + options + self.overhead)
        };
        if !self.contenders[index as usize].exchange.is_for(to, [Mpdu { octets }]) {
            let plan = self.plan_frames(Contender::station_of(index), to, octets, own.is_some());
            self.contenders[index as usize].exchange.set_plan(plan);
        }
        Some(to)
    }

    #[inline(never)]
    pub(super) fn plan_frames(&self, from: u32, to: Receiver, octets: u32, is_own: bool) -> Plan {
        let sifs = self.times.sifs;
        let air_time = |rate, octets| self.phy.air_nanos(rate, octets);
        let ppdu = |rate| Ppdu { mpdus: [Mpdu { octets }], rate, duration: air_time(rate, octets) };
        let Receiver::Station(station) = to else {
            let data = ppdu(self.phy.broadcast_rate());
            return Plan::new(to, data).with(Kind::Data, data.duration, sifs);
        };
        let (data_rate, protected, control_rate) = self.rates(from, station);
        // A PS-Poll is a control frame, and is sent at the rate of an RTS.
        let rate = if is_own { control_rate } else { data_rate };
        let data = ppdu(rate);
        let mut plan = Plan::new(to, data);
        if octets > self.mac.rts_threshold && !is_own {
            plan = plan.with(Kind::Rts, air_time(control_rate, RTS_OCTETS), sifs);
            plan = plan.with(Kind::Cts, air_time(self.phy.response_rate(control_rate), CTS_OCTETS), sifs);
        } else if protected && !is_own {
            plan = plan.with(Kind::CtsToSelf, air_time(control_rate, CTS_OCTETS), sifs);
        }
        let ack = air_time(self.phy.response_rate(rate), ACK_OCTETS);
        plan.with(Kind::Data, data.duration, sifs).with(Kind::Ack, ack, sifs)
    }

    /// The rate of data frames from one station to another, whether they need protection, and the rate of
    /// control frames.
    fn rates(&self, from: u32, to: StationId) -> (Rate, bool, Rate) {
        let rate = |of: u32, to: u32| {
            self.contenders[Contender::index_of(of) as usize].rate(Receiver::Station(StationId(to)))
        };
        let data = slower(rate(from, to.0), rate(to.0, from));
        let protected = self.mac.cts_to_self && data.is_ofdm();
        (data, protected, self.phy.initial_control_rate(data, protected))
    }
}

fn slower(one: Rate, other: Rate) -> Rate {
    if one.kbps() <= other.kbps() { one } else { other }
}
