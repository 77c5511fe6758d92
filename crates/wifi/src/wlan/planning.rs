//! Planning an exchange when it begins.

use super::Wlan;
use crate::contender::{Contender, Mpdu, Plan, Ppdu};
use crate::errors::ErrorModel;
use crate::frame::{ACK_OCTETS, CTS_OCTETS, Kind, MacFrame, PS_POLL_OCTETS, RTS_OCTETS, Receiver, StationId};
use crate::own_frame::{OwnFrame, RawFrame};
use crate::phy::{Mcs, PhyConfig, Rate};
use crate::rates::Rates;

impl<E: ErrorModel> Wlan<E> {
    /// Plans the exchange for the frame that a contender is to transmit. Returns its receiver, if there is a
    /// frame.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn plan(&mut self, index: u32) -> Option<Receiver> {
        if let Some(frame) = self.contenders[index as usize].own() {
            let octets = self.own_octets(index, frame);
            if !self.contenders[index as usize].exchange.is_of(frame, [Mpdu { octets }]) {
                self.plan_own_exchange(index, frame, octets);
            }
            return Some(frame.receiver());
        }
        let contender = &mut self.contenders[index as usize];
        let MacFrame { to, octets, .. } = contender.queue.head()?.frame;
        let options = u32::from(contender.queue.attempts().options());
        let octets = octets + options + self.overhead;
        if !contender.exchange.is_for(to, [Mpdu { octets }]) {
            let plan = self.plan_packet(Contender::station_of(index), to, octets);
            self.contenders[index as usize].exchange.set_plan(plan);
        }
        Some(to)
    }

    #[inline(never)]
    fn plan_own_exchange(&mut self, index: u32, frame: OwnFrame, octets: u32) {
        let plan = self.plan_own_frame(index, frame, octets);
        self.contenders[index as usize].exchange.set_plan_of(frame, plan);
    }

    #[inline]
    pub(super) fn own_octets(&self, index: u32, frame: OwnFrame) -> u32 {
        match frame {
            OwnFrame::Beacon => self.beacon_octets(),
            OwnFrame::PsPoll { .. } => PS_POLL_OCTETS,
            OwnFrame::Raw { .. } => self.raw(index).map_or(0, |frame| frame.octets),
        }
    }

    pub(super) fn plan_own_frame(&self, index: u32, frame: OwnFrame, octets: u32) -> Plan {
        let rates = match frame {
            OwnFrame::Beacon => ExchangeRates::unprotected(self.phy.broadcast_rate()),
            // A PS-Poll is a control frame, and is sent at the rate of an RTS.
            OwnFrame::PsPoll { to } => ExchangeRates::unprotected(
                self.rates(self.data_rate(Contender::station_of(index), to), octets).control,
            ),
            OwnFrame::Raw { .. } => {
                let transmissions = self.contenders[index as usize].attempts().transmissions();
                let rate = match self.raw(index).map_or(Rates::LowestBasic, |frame| frame.rates) {
                    Rates::LowestBasic => self.phy.broadcast_rate(),
                    Rates::Fixed(rate) => rate,
                    Rates::Chain(chain) => chain.rate(transmissions),
                };
                self.rates(rate, octets)
            }
        };
        self.plan_frames(frame.receiver(), octets, &rates)
    }

    #[cold]
    fn raw(&self, index: u32) -> Option<RawFrame> {
        self.contenders[index as usize].raw().map(|(frame, ..)| frame)
    }

    #[inline(never)]
    fn plan_packet(&self, from: u32, to: Receiver, octets: u32) -> Plan {
        let rates = match to {
            Receiver::Station(to) => self.rates(self.data_rate(from, to), octets),
            Receiver::Broadcast => ExchangeRates::unprotected(self.phy.broadcast_rate()),
        };
        self.plan_frames(to, octets, &rates)
    }

    fn plan_frames(&self, to: Receiver, octets: u32, rates: &ExchangeRates) -> Plan {
        let sifs = self.times.sifs;
        let air_time = |rate, octets| self.phy.air_nanos(rate, octets);
        let ExchangeRates { data: rate, control, protection } = *rates;
        let psdu = PhyConfig::psdu_octets(rate, octets);
        let data = Ppdu { mpdus: [Mpdu { octets }], rate, duration: air_time(rate, psdu) };
        let plan = Plan::new(to, data);
        if to == Receiver::Broadcast {
            return plan.with(Kind::Data, data.duration, sifs);
        }
        let plan = match protection {
            Protection::None => plan,
            Protection::CtsToSelf => plan.with(Kind::CtsToSelf, air_time(control, CTS_OCTETS), sifs),
            Protection::Rts => {
                let cts = air_time(self.phy.response_rate(control), CTS_OCTETS);
                plan.with(Kind::Rts, air_time(control, RTS_OCTETS), sifs).with(Kind::Cts, cts, sifs)
            }
        };
        let ack = air_time(self.phy.response_rate(rate), ACK_OCTETS);
        plan.with(Kind::Data, data.duration, sifs).with(Kind::Ack, ack, sifs)
    }

    /// The rate of data frames from one station to another.
    fn data_rate(&self, from: u32, to: StationId) -> Rate {
        let rate = |of: u32, to: u32| {
            self.contenders[Contender::index_of(of) as usize].rate(Receiver::Station(StationId(to)))
        };
        common(rate(from, to.0), rate(to.0, from))
    }

    /// The rates of an exchange whose data frame has this rate and length. A broadcast has no protection.
    fn rates(&self, data: Rate, octets: u32) -> ExchangeRates {
        let is_mixed = self.mac.cts_to_self && data.is_ofdm();
        let protection = if octets > self.mac.rts_threshold {
            Protection::Rts
        } else if is_mixed {
            Protection::CtsToSelf
        } else {
            Protection::None
        };
        ExchangeRates { data, control: self.phy.initial_control_rate(data, is_mixed), protection }
    }
}

/// The rates of an exchange.
struct ExchangeRates {
    /// Of its data frame.
    data: Rate,
    /// Of the frames that protect it.
    control: Rate,
    protection: Protection,
}

/// What precedes a data frame.
#[derive(Clone, Copy)]
enum Protection {
    None,
    CtsToSelf,
    Rts,
}

impl ExchangeRates {
    const fn unprotected(data: Rate) -> Self {
        Self { data, control: data, protection: Protection::None }
    }
}

/// The rate of the older generation, or the slower one of the same.
fn common(one: Rate, other: Rate) -> Rate {
    let order = |rate: Rate| (rate.mcs().map(Mcs::format), rate.kbps());
    if order(one) <= order(other) { one } else { other }
}
