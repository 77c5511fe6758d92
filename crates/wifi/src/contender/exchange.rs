//! An exchange: its frames and its progress.

use lasthop_packet::Instant;

use super::queue::Psdu;
use crate::config::Aggregation;
use crate::frame::{Kind, Receiver};
use crate::own_frame::OwnFrame;
use crate::phy::Rate;

/// The frames of an exchange. Times are in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) to: Receiver,
    pub(crate) data: Ppdu,
    frames: [(Kind, u64); 4],
    count: usize,
    /// The sum of the durations of the initiator's frames.
    pub(crate) air_time: u64,
    /// From the beginning of the exchange to the end of the data.
    pub(crate) to_data_end: u64,
    /// From the beginning of the exchange to its end.
    pub(crate) duration: u64,
}

/// The PPDU with the data of an exchange: MPDUs at one rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ppdu {
    pub(crate) psdu: Psdu,
    pub(crate) rate: Rate,
    /// In nanoseconds.
    pub(crate) duration: u64,
}

/// MPDUs of a PPDU, by their numbers from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MpduSet([u64; Aggregation::LARGEST_WINDOW as usize / 64]);

impl MpduSet {
    pub(crate) fn insert(&mut self, mpdu: usize) {
        if let Some(bits) = self.0.get_mut(mpdu / 64) {
            *bits |= 1 << (mpdu % 64);
        }
    }

    pub(crate) fn contains(&self, mpdu: usize) -> bool {
        self.0.get(mpdu / 64).is_some_and(|bits| bits >> (mpdu % 64) & 1 == 1)
    }
}

impl Plan {
    /// A plan without frames.
    pub(crate) const fn new(to: Receiver, data: Ppdu) -> Self {
        let frames = [(Kind::Data, 0); 4];
        Self { to, data, frames, count: 0, air_time: 0, to_data_end: 0, duration: 0 }
    }

    /// Adds a frame, a SIFS after the previous one. Frames that protect the data come first, then
    /// the data, then the response.
    #[inline]
    pub(crate) fn with(mut self, kind: Kind, duration: u64, sifs: u64) -> Self {
        let Some(place) = self.frames.get_mut(self.count) else { return self };
        *place = (kind, duration);
        self.duration += if self.count > 0 { sifs } else { 0 } + duration;
        self.count += 1;
        self.air_time += if kind.is_of_responder() { 0 } else { duration };
        if kind == Kind::Data {
            self.to_data_end = self.duration;
        }
        self
    }

    /// Its frames and their durations.
    #[inline]
    pub(crate) fn frames(&self) -> &[(Kind, u64)] {
        self.frames.get(..self.count).unwrap_or_default()
    }

    /// The addressee; `None` for a broadcast.
    #[inline]
    pub(crate) const fn addressee(&self) -> Option<u32> {
        self.to.station()
    }
}

/// An exchange that is under way, or the last one.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// The last plan for a packet.
    packet: Option<Plan>,
    /// The last plan for an own frame.
    own: Option<Plan>,
    /// That frame.
    own_frame: Option<OwnFrame>,
    is_own: bool,
    began: Instant,
    /// The number of frames that have begun.
    begun: usize,
    has_arrived: bool,
    /// Whether its addressee refused data frames when it began.
    is_refused: bool,
    /// The frame that errors will destroy, if that was drawn when the exchange began.
    to_be_lost: Option<Kind>,
    /// The MPDUs of an A-MPDU that errors destroy.
    lost_mpdus: MpduSet,
    /// Nanoseconds for which the initiator has transmitted, where several packets share them.
    air_time: u64,
    txop: Txop,
}

/// The TXOP of a contender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Txop {
    /// It has to gain the medium.
    #[default]
    None,
    /// It lasts until then.
    Until(Instant),
    /// A CF-End ends it.
    Ending,
}

impl Exchange {
    #[inline]
    pub(crate) const fn plan(&self) -> Option<&Plan> {
        if self.is_own { self.own.as_ref() } else { self.packet.as_ref() }
    }

    /// The addressee of its plan; `None` for a broadcast.
    #[inline]
    pub(crate) fn addressee(&self) -> Option<u32> {
        self.plan()?.addressee()
    }

    /// Prepares the exchange of a packet. Returns whether the last plan is for these MPDUs: consecutive
    /// frames often have the same receiver and length. If it is not, [`Self::set_plan`] follows.
    #[inline]
    pub(crate) fn is_for(&mut self, to: Receiver, psdu: Psdu) -> bool {
        self.is_own = false;
        self.packet.as_ref().is_some_and(|plan| plan.data.psdu == psdu && plan.to == to)
    }

    /// As [`Self::is_for`], of an own frame; [`Self::set_plan_of`] follows. Each exchange of a raw frame
    /// is planned anew.
    #[inline]
    pub(crate) fn is_of(&mut self, frame: OwnFrame, psdu: Psdu) -> bool {
        self.is_own = true;
        frame.is_of_mac()
            && self.own_frame == Some(frame)
            && self.own.as_ref().is_some_and(|plan| plan.data.psdu == psdu)
    }

    pub(crate) const fn set_plan(&mut self, plan: Plan) {
        self.packet = Some(plan);
    }

    pub(crate) const fn set_plan_of(&mut self, frame: OwnFrame, plan: Plan) {
        (self.own, self.own_frame) = (Some(plan), Some(frame));
    }

    /// Discards the plan for packets, so that the next exchange is planned anew.
    pub(crate) const fn forget_plan(&mut self) {
        self.packet = None;
    }

    /// Begins the planned exchange.
    #[inline]
    pub(crate) const fn begin(&mut self, now: Instant, is_refused: bool) {
        self.began = now;
        self.begun = 0;
        self.has_arrived = false;
        self.is_refused = is_refused;
    }

    #[inline]
    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    pub(crate) const fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Begins the next frame. Returns its kind, its duration, and for how long after its end it
    /// reserves the medium, in nanoseconds.
    #[inline]
    pub(crate) fn send(&mut self, sifs: u64) -> Option<(Kind, u64, u64)> {
        let (frame, rest) = self.plan()?.frames().get(self.begun..)?.split_first()?;
        let (kind, duration, after) = (frame.0, frame.1, rest.iter().map(|(_, rest)| sifs + rest).sum());
        self.begun += 1;
        Some((kind, duration, after))
    }

    /// Whether the data frame has begun, and whether it followed an RTS.
    pub(crate) fn has_sent_data(&self) -> (bool, bool) {
        let begun = self.plan().and_then(|plan| plan.frames().get(..self.begun)).unwrap_or_default();
        let data_sent = begun.iter().any(|(kind, _)| *kind == Kind::Data);
        (data_sent, data_sent && self.has_rts())
    }

    /// Whether its first frame is an RTS.
    pub(crate) fn has_rts(&self) -> bool {
        self.plan().is_some_and(|plan| matches!(plan.frames(), [(Kind::Rts, _), ..]))
    }

    /// The data has arrived.
    #[inline]
    pub(crate) const fn arrive(&mut self) {
        self.has_arrived = true;
    }

    #[inline]
    pub(crate) const fn has_arrived(&self) -> bool {
        self.has_arrived
    }

    /// Whether its data is an A-MPDU.
    #[inline]
    pub(crate) const fn has_ampdu(&self) -> bool {
        matches!(self.plan(), Some(plan) if plan.data.psdu.is_aggregate())
    }

    /// The MPDUs of its A-MPDU that errors destroy.
    pub(crate) const fn lost_mpdus(&self) -> &MpduSet {
        &self.lost_mpdus
    }

    pub(crate) const fn set_lost_mpdus(&mut self, mpdus: MpduSet) {
        self.lost_mpdus = mpdus;
    }

    /// Its TXOP, between and during exchanges.
    pub(crate) const fn txop(&self) -> Txop {
        self.txop
    }

    pub(crate) const fn set_txop(&mut self, txop: Txop) {
        self.txop = txop;
    }

    /// The initiator transmits for this number of nanoseconds.
    pub(crate) const fn transmit(&mut self, nanos: u64) {
        self.air_time += nanos;
    }

    /// Nanoseconds for which the initiator has transmitted in this exchange.
    pub(crate) const fn take_air_time(&mut self) -> u64 {
        std::mem::replace(&mut self.air_time, 0)
    }

    pub(crate) const fn to_be_lost(&self) -> Option<Kind> {
        self.to_be_lost
    }

    pub(crate) const fn lose(&mut self, kind: Option<Kind>) {
        self.to_be_lost = kind;
    }
}
