//! Planning an exchange when it begins.

use std::time::Duration;

use lasthop_packet::Instant;

use super::Wlan;
use crate::config::Aggregation;
use crate::contender::{Aggregate, Contender, Limits, Plan, Ppdu, Psdu};
use crate::errors::ErrorModel;
use crate::frame::{
    ACK_OCTETS, BLOCK_ACK_REQUEST_OCTETS, CF_END_OCTETS, CTS_OCTETS, Kind, MacFrame, PS_POLL_OCTETS,
    RTS_OCTETS, Receiver, StationId, block_ack_octets,
};
use crate::output::Output;
use crate::own_frame::{OwnFrame, RawFrame};
use crate::phy::{Mcs, PhyConfig, Rate, expected_air_time};
use crate::rates::Rates;

impl<E: ErrorModel> Wlan<E> {
    /// Plans the exchange for the frame that a contender is to transmit. Returns its receiver, if there is a
    /// frame.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn plan(&mut self, index: u32, now: Instant) -> Option<Receiver> {
        if let Some(frame) = self.contenders[index as usize].own() {
            let octets = self.own_octets(index, frame);
            if !self.contenders[index as usize].exchange.is_of(frame, Psdu::single(octets)) {
                self.plan_own_exchange(index, frame, octets);
            }
            return Some(frame.receiver());
        }
        if self.aggregates {
            return self.plan_aggregate(index, now);
        }
        let contender = &mut self.contenders[index as usize];
        let MacFrame { to, octets, .. } = contender.queue.head()?.frame;
        let options = u32::from(contender.queue.attempts().options());
        let psdu = Psdu::single(octets + options + self.overhead);
        if !contender.exchange.is_for(to, psdu) {
            self.plan_packet(index, to, psdu);
        }
        Some(to)
    }

    /// As [`Self::plan`], for the packet at the head of a contender's queue and what may go with it.
    #[inline(never)]
    fn plan_aggregate(&mut self, index: u32, now: Instant) -> Option<Receiver> {
        let to = self.contenders[index as usize].queue.head()?.frame.to;
        let from = StationId(Contender::station_of(index));
        let available = self.txop_left(index, now);
        let limits = to.station().and_then(|to| self.limits(from.0, StationId(to), available));
        let Self { contenders, outputs, wanted, mac, .. } = self;
        let contender = &mut contenders[index as usize];
        let psdu = contender.queue.gather(limits.as_ref(), mac.overhead, now, |queued| {
            if wanted.fates {
                outputs.push_back(Output::Departs { from, frame: queued.frame });
            }
        })?;
        if !contender.exchange.is_for(to, psdu) {
            self.plan_packet(index, to, psdu);
        }
        Some(to)
    }

    /// What a PSDU from one station to another may carry; `None` if they have no block ack agreement. `available`: the
    /// nanoseconds of the TXOP that are left, if its limit is not zero.
    fn limits(&self, from: u32, to: StationId, available: Option<u64>) -> Option<Limits> {
        let aggregation = self.mac.aggregation.as_ref()?;
        let rate = self.data_rate(from, to);
        let duration = available.map_or(aggregation.duration, |available| {
            let around = self.duration_around(to, rate);
            aggregation.duration.min(Duration::from_nanos(available.saturating_sub(around)))
        });
        let psdu = self.phy.most_octets(rate.mcs()?, duration);
        let single = psdu.saturating_sub(PhyConfig::psdu_octets(rate, 0));
        let (ampdu, amsdu, window) = (aggregation.ampdu, aggregation.amsdu, aggregation.window);
        Some(Limits { psdu, single, ampdu, amsdu, window })
    }

    /// The duration of all in the exchange of a largest A-MPDU, or a largest A-MSDU if that is longer, but its data.
    fn duration_around(&self, to: StationId, rate: Rate) -> u64 {
        let longest = |it: &Aggregation| it.ampdu.max(it.amsdu.saturating_add(self.overhead));
        let octets = self.mac.aggregation.as_ref().map_or(0, longest);
        let psdu = Psdu { mpdus: 2, octets };
        let rates = self.rates(rate, octets);
        let plan = self.plan_frames(Receiver::Station(to), psdu, &rates, self.block_ack_octets());
        plan.duration - plan.data.duration
    }

    /// The duration of a contender's next exchange if that carries as little as it can: an own frame, or one MPDU.
    pub(super) fn duration_of_least(&self, index: u32) -> Option<u64> {
        let contender = &self.contenders[index as usize];
        if let Some(frame) = contender.own() {
            return Some(self.plan_own_frame(index, frame, self.own_octets(index, frame)).duration);
        }
        let to = contender.queue.head()?.frame.to;
        let options = u32::from(contender.queue.attempts().options());
        let psdu = Psdu::single(contender.queue.head_mpdu(self.mac.overhead)? + options);
        Some(self.plan_of_packet(index, to, psdu).duration)
    }

    /// The air time in microseconds that Linux expects of a packet from one station to another before it is sent: an
    /// estimate that is coarse on purpose (`net/mac80211/airtime.c`).
    pub fn expected_air_time(&self, from: StationId, to: StationId, octets: u32) -> u32 {
        let in_ampdu = self.has_agreement(from.0, to.0);
        expected_air_time(self.data_rate(from.0, to), self.phy.preamble, octets, in_ampdu)
    }

    /// A packet from one station to another, to which others may be added that go with it.
    pub fn aggregate(&self, from: StationId, to: StationId, octets: u32) -> Aggregate {
        let limits = if self.aggregates { self.limits(from.0, to, None) } else { None };
        Aggregate::new(self.mac.overhead, limits, octets)
    }

    /// Whether a station has a block ack agreement with another.
    pub(super) fn has_agreement(&self, from: u32, to: u32) -> bool {
        self.aggregates && self.data_rate(from, StationId(to)).mcs().is_some()
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
            OwnFrame::BlockAckRequest { .. } => BLOCK_ACK_REQUEST_OCTETS,
            OwnFrame::CfEnd => CF_END_OCTETS,
            OwnFrame::Raw { .. } => self.raw(index).map_or(0, |frame| frame.octets),
        }
    }

    pub(super) fn plan_own_frame(&self, index: u32, frame: OwnFrame, octets: u32) -> Plan {
        let rates = match frame {
            OwnFrame::Beacon | OwnFrame::CfEnd => ExchangeRates::unprotected(self.phy.broadcast_rate()),
            // A control frame is sent at the rate of an RTS.
            OwnFrame::PsPoll { to } | OwnFrame::BlockAckRequest { to } => ExchangeRates::unprotected(
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
        let response = match frame {
            OwnFrame::BlockAckRequest { .. } => self.block_ack_octets(),
            _ => ACK_OCTETS,
        };
        self.plan_frames(frame.receiver(), Psdu::single(octets), &rates, response)
    }

    #[cold]
    fn raw(&self, index: u32) -> Option<RawFrame> {
        self.contenders[index as usize].raw().map(|(frame, ..)| frame)
    }

    #[inline(never)]
    fn plan_packet(&mut self, index: u32, to: Receiver, psdu: Psdu) {
        let plan = self.plan_of_packet(index, to, psdu);
        self.contenders[index as usize].exchange.set_plan(plan);
    }

    fn plan_of_packet(&self, index: u32, to: Receiver, psdu: Psdu) -> Plan {
        let from = Contender::station_of(index);
        let rates = match to {
            Receiver::Station(to) => self.rates(self.data_rate(from, to), psdu.octets),
            Receiver::Broadcast => ExchangeRates::unprotected(self.phy.broadcast_rate()),
        };
        let response = if psdu.is_aggregate() { self.block_ack_octets() } else { ACK_OCTETS };
        self.plan_frames(to, psdu, &rates, response)
    }

    /// The length of a block ack.
    pub(super) fn block_ack_octets(&self) -> u32 {
        self.mac.aggregation.as_ref().map_or(ACK_OCTETS, |it| block_ack_octets(it.window))
    }

    /// The exchange of a PSDU. `response`: the octets of the ACK or block ack.
    fn plan_frames(&self, to: Receiver, psdu: Psdu, rates: &ExchangeRates, response: u32) -> Plan {
        let sifs = self.times.sifs;
        let air_time = |rate, octets| self.phy.air_nanos(rate, octets);
        let ExchangeRates { data: rate, control, protection } = *rates;
        let octets =
            if psdu.is_aggregate() { psdu.octets } else { PhyConfig::psdu_octets(rate, psdu.octets) };
        let data = Ppdu { psdu, rate, duration: air_time(rate, octets) };
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
        let ack = air_time(self.phy.response_rate(rate), response);
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
