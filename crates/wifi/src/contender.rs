//! A contender: an access category of a station, with its own queue, contention window, retry
//! counts and backoff. A station of the distributed coordination function (DCF) has one.
//!
//! The contender's *current frame* is its own frame if it has one, or else the frame at the head of
//! its queue. An own frame is one that carries no packet.
//!
//! | module | what is in it |
//! |---|---|
//! | `queue`, `round` | frames that wait; flows or receivers that take turns |
//! | `own` | own frames, which are sent before these |
//! | `attempts` | transmissions and retry counts of a frame so far |
//! | `exchange` | the frames of an exchange and its progress |
//! | `rate_control` | the rates of its data frames |
//! | `back_off` | the contention window; the stage of a backoff |

mod attempts;
mod back_off;
mod exchange;
mod own;
mod queue;
mod rate_control;
mod round;

use std::ops::Range;

use lasthop_packet::{Instant, Rng};

use super::config::MacConfig;
use super::frame::{MacFrame, Queued, Receiver, StationId};
use super::output::{Fate, FrameTimes, Output, Used};
use super::own_frame::{OwnFrame, RawFrame};
use super::phy::{PhyConfig, Rate};
use super::station::StationConfig;
pub(crate) use attempts::Attempts;
pub(crate) use back_off::{BackOff, Stage};
pub(crate) use exchange::{Exchange, MpduSet, Plan, Ppdu, Txop};
use own::OwnFrames;
pub use queue::Aggregate;
pub(crate) use queue::{Limits, Psdu, Queue};
use rate_control::RateControl;

/// A contender. Its parts own their fields.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) back_off: BackOff,
    pub(crate) queue: Queue,
    pub(crate) exchange: Exchange,
    rate_control: Rate,
    own: OwnFrames,
    short_retry_limit: u32,
    used: Used,
}

/// The number of a station's access categories.
const CATEGORIES: u32 = 1;

impl Contender {
    /// The indices of a station's contenders.
    pub(crate) const fn all_of(station: u32) -> Range<u32> {
        station * CATEGORIES..(station + 1) * CATEGORIES
    }

    /// The index of a station's contender for packets and for its own frames.
    #[inline]
    pub(crate) const fn index_of(station: u32) -> u32 {
        station * CATEGORIES
    }

    /// The station of a contender.
    #[inline]
    pub(crate) const fn station_of(contender: u32) -> u32 {
        contender / CATEGORIES
    }

    pub(crate) fn new(config: &StationConfig, phy: &PhyConfig, mac: &MacConfig, rng: Rng) -> Self {
        Self {
            back_off: BackOff::new((phy.cw_min, phy.cw_max), rng),
            queue: Queue::new(config.queue, config.scheduler),
            exchange: Exchange::default(),
            rate_control: config.rate.unwrap_or(phy.rate),
            own: OwnFrames::default(),
            short_retry_limit: config.short_retry_limit.unwrap_or(mac.short_retry_limit),
            used: Used::default(),
        }
    }

    #[inline]
    pub(crate) const fn own(&self) -> Option<OwnFrame> {
        self.own.current()
    }

    /// The current frame if it is a raw frame, its sequence number, and whether it was transmitted
    /// before its present transmission.
    pub(crate) fn raw(&self) -> Option<(RawFrame, u16, bool)> {
        self.own.raw()
    }

    /// The transmissions of the current frame.
    #[inline]
    pub(crate) const fn attempts(&self) -> &Attempts {
        match self.own.attempts() {
            Some(attempts) => attempts,
            None => self.queue.attempts(),
        }
    }

    #[inline]
    pub(crate) const fn attempts_mut(&mut self) -> &mut Attempts {
        match self.own.attempts_mut() {
            Some(attempts) => attempts,
            None => self.queue.attempts_mut(),
        }
    }

    pub(crate) const fn used(&self) -> Used {
        self.used
    }

    /// The rate of its next data frame to a receiver.
    pub(crate) fn rate(&self, to: Receiver) -> Rate {
        self.rate_control.rate(to)
    }

    /// Updates the rate control with the outcome of an exchange.
    #[inline]
    pub(crate) fn adapt_rate(&mut self, acknowledged: bool) {
        if let Some(to) = self.exchange.plan().map(|plan| plan.to)
            && self.rate_control.on_outcome(to, acknowledged)
        {
            self.exchange.forget_plan();
        }
    }

    /// Its station transmits for this number of nanoseconds for its current frame. Packets that go with that share it at the
    /// end of the exchange.
    #[inline]
    pub(crate) fn transmit(&mut self, nanos: u64) {
        if self.queue.further() > 0 && self.own().is_none() {
            self.exchange.transmit(nanos);
        } else {
            self.attempts_mut().transmit(nanos);
        }
    }

    /// Whether it has a current frame.
    #[inline]
    pub(crate) fn has_frame(&self) -> bool {
        self.own().is_some() || !self.queue.is_empty()
    }

    /// The packet of the current frame; `None` for an own frame.
    #[inline]
    pub(crate) fn packet(&self) -> Option<MacFrame> {
        self.queue.head().filter(|_| self.own().is_none()).map(|head| head.frame)
    }

    /// The receiver of the current frame.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        match self.own() {
            None => self.queue.head().map(|head| head.frame.to),
            Some(own) => Some(own.receiver()),
        }
    }

    /// Counts a failed transmission; `was_long`: it was the data frame after an RTS. Returns
    /// whether the frame is given up.
    pub(crate) fn fail(&mut self, was_long: bool, long_retry_limit: u32) -> bool {
        let limits = self.retry_limits(long_retry_limit);
        let chain = self.own.retry_chain();
        let attempts = self.attempts_mut();
        let is_over = attempts.fail(was_long, limits);
        chain.map_or(is_over, |chain| attempts.transmissions() >= chain.tries())
    }

    /// Removes the current frame, which was delivered or given up. The next one becomes current.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Instant, is_given_up: bool) {
        if self.own().is_some() {
            self.own.pop();
        } else {
            self.queue.attempts().account(&mut self.used, is_given_up);
            self.queue.pop(now);
        }
        self.own.advance();
    }

    /// As [`Self::pop`], of the packets of an exchange: `fate` receives each of them with its sequence number and its
    /// transmissions, and says whether it is delivered or given up.
    pub(crate) fn conclude(
        &mut self,
        now: Instant,
        mut fate: impl FnMut(u16, &Queued, &mut Attempts) -> Option<Fate>,
    ) {
        let further = self.queue.further() as u64;
        if further > 0 {
            let air_time = self.exchange.take_air_time();
            let share = air_time / (further + 1);
            self.queue.all_attempts_mut().for_each(|attempts| attempts.transmit(share));
            self.queue.attempts_mut().transmit(air_time - share * (further + 1));
        }
        let Self { queue, used, .. } = self;
        queue.conclude(now, |sequence, queued, attempts| {
            let fate = fate(sequence, queued, attempts);
            if let Some(fate) = fate {
                attempts.account(used, fate == Fate::GivenUp);
            }
            fate.is_some()
        });
        self.exchange.set_lost_mpdus(MpduSet::default());
    }

    /// The short and the long retry limit of its packets.
    pub(crate) const fn retry_limits(&self, long: u32) -> (u32, u32) {
        (self.short_retry_limit, long)
    }

    /// Prepares another transmission after a failed one: of the current frame, or of a frame for
    /// another receiver whose turn it is. Returns whether the packet has yielded to one for another
    /// receiver.
    #[inline]
    pub(crate) fn retry(&mut self, now: Instant) -> bool {
        let yields = self.own().is_none() && self.queue.yield_turn(now);
        self.own.advance();
        yields
    }

    /// Puts a frame of the MAC before the queue, now or after the present exchange. Returns whether the
    /// contender has to begin to contend.
    #[cold]
    pub(crate) fn send_own(&mut self, frame: OwnFrame) -> bool {
        let had_frame = self.has_frame();
        self.own.send(frame, self.back_off.is_transmitting());
        !had_frame
    }

    /// Between exchanges, makes the next of its own frames the current one.
    pub(crate) fn advance(&mut self) {
        self.own.advance();
    }

    /// Appends a raw frame to its own frames if there is room. Returns whether there was.
    #[cold]
    pub(crate) fn push_raw(&mut self, frame: RawFrame) -> bool {
        let has_room = self.own.push(frame);
        if !self.back_off.is_transmitting() {
            self.own.advance();
        }
        has_room
    }

    /// Withdraws frames of the MAC, except one that is being transmitted.
    pub(crate) fn withdraw_own(&mut self) {
        let is_transmitting = self.back_off.is_transmitting();
        self.own.withdraw(is_transmitting);
        if !is_transmitting && !self.has_frame() {
            self.back_off.stop_counting();
        }
    }

    /// Removes all packets, while it does not transmit. Returns them with their transmissions.
    pub(crate) fn flush(&mut self, now: Instant) -> Vec<(MacFrame, Attempts)> {
        let mut frames = Vec::new();
        while let Some(head) = self.queue.head() {
            frames.push((head.frame, *self.queue.attempts()));
            self.queue.remove_head(now);
        }
        if !self.has_frame() {
            self.back_off.stop_counting();
        }
        frames
    }

    /// The report of a transmission of the current packet.
    pub(crate) fn attempt(&self, from: StationId, acknowledged: bool) -> Option<Output> {
        let (packet, lost) = ((from, self.packet()?), !self.exchange.has_arrived());
        Some(self.queue.attempts().attempt(packet, self.exchange.began(), lost, acknowledged))
    }

    /// The times of its data frame, which has just ended and has arrived.
    pub(crate) fn transmission(&self, from: StationId, now: Instant, difs: u64) -> Option<Output> {
        let (head, plan) = (self.queue.head()?, self.exchange.plan()?);
        let times = FrameTimes {
            queued: head.arrived,
            departed: self.queue.attempts().head(),
            began: Instant::from_nanos(now.as_nanos() - plan.data.duration),
            over: now.after_nanos(plan.duration - plan.to_data_end + difs),
        };
        let has_options = self.queue.attempts().options() > 0;
        Some(Output::Transmission { from, frame: head.frame, has_options, times })
    }

    /// The report of the current packet's fate.
    #[inline]
    pub(crate) fn fate(&self, from: StationId, fate: Fate) -> Option<Output> {
        let head = self.queue.head().filter(|_| self.own().is_none())?;
        Some(self.queue.attempts().fate(from, head, fate))
    }
}
