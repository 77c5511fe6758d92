//! A contender: an access category of a station, with its own queue, contention window, retry counters
//! and back-off. Stations of the distributed coordination function have one.
//!
//! | module | what is in it |
//! |---|---|
//! | `queue`, `turns`, `round` | frames that wait; flows or receivers that take turns |
//! | `attempts`, `report` | what became of a frame so far, and what is told of it |
//! | `exchange` | the frames of an exchange, and how far it has come |
//! | `rate_control` | the rates of its data frames |
//! | `back_off` | the contention window; where a back-off stands |

mod attempts;
mod back_off;
mod exchange;
mod queue;
mod rate_control;
mod report;
mod round;
mod turns;

use std::ops::Range;

use lasthop_packet::{Instant, Rng};

use super::config::MacConfig;
use super::frame::{MacFrame, OwnFrame, Receiver};
use super::output::Used;
use super::phy::{PhyConfig, Rate};
use super::station::{Scheduler, StationConfig};
pub(crate) use attempts::Attempts;
pub(crate) use back_off::{BackOff, Stage};
pub(crate) use exchange::{Exchange, Mpdu, Plan, Ppdu};
pub(crate) use queue::{Queue, Queued};
use rate_control::{FixedRate, RateControl};

/// A contender; its parts own their fields.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) back_off: BackOff,
    pub(crate) queue: Queue,
    pub(crate) exchange: Exchange,
    rate_control: FixedRate,
    /// What became of the frame in its hands.
    pub(crate) attempts: Attempts,
    /// What became of the frame at the head of the queue, while there is one of its own.
    set_aside: Attempts,
    /// A frame of its own, before that at the head of the queue, which it may have begun with.
    own: Option<OwnFrame>,
    /// The next one, while it transmits.
    next_own: Option<OwnFrame>,
    /// The sequence number of the packet at the head of the queue.
    sequence: u16,
    short_retry_limit: u32,
    used: Used,
}

/// Access categories of a station.
const CATEGORIES: u32 = 1;

impl Contender {
    /// Numbers of a station's contenders.
    pub(crate) const fn all_of(station: u32) -> Range<u32> {
        station * CATEGORIES..(station + 1) * CATEGORIES
    }

    /// The contender of a station for its packets, and for frames that its MAC makes itself.
    #[inline]
    pub(crate) const fn of(station: u32) -> u32 {
        station * CATEGORIES
    }

    /// The station of the contender with this number.
    #[inline]
    pub(crate) const fn station_of(contender: u32) -> u32 {
        contender / CATEGORIES
    }

    pub(crate) fn new(config: &StationConfig, phy: &PhyConfig, mac: &MacConfig, rng: Rng) -> Self {
        Self {
            back_off: BackOff::new((phy.cw_min, phy.cw_max), rng),
            queue: Queue::new(config.queue, config.scheduler),
            exchange: Exchange::default(),
            rate_control: FixedRate(config.rate.unwrap_or(phy.rate)),
            attempts: Attempts::default(),
            set_aside: Attempts::default(),
            own: None,
            next_own: None,
            sequence: 0,
            short_retry_limit: config.short_retry_limit.unwrap_or(mac.short_retry_limit),
            used: Used::default(),
        }
    }

    #[inline]
    pub(crate) const fn own(&self) -> Option<OwnFrame> {
        self.own
    }

    pub(crate) const fn sequence(&self) -> u16 {
        self.sequence
    }

    pub(crate) const fn used(&self) -> Used {
        self.used
    }

    /// The rate of its next data frame to a receiver.
    pub(crate) fn rate(&self, to: Receiver) -> Rate {
        self.rate_control.rate(to)
    }

    /// An exchange is over: its rate control hears of that.
    #[inline]
    pub(crate) fn adapt_rate(&mut self, acknowledged: bool) {
        if let Some(to) = self.exchange.plan().map(|plan| plan.to)
            && self.rate_control.on_outcome(to, acknowledged)
        {
            self.exchange.forget_plan();
        }
    }

    /// Whether the frame at the head of the queue has arrived.
    pub(crate) const fn has_arrived(&self) -> bool {
        if self.own.is_some() { self.set_aside.is_delivered() } else { self.attempts.is_delivered() }
    }

    /// What became of the frame at the head of the queue.
    pub(crate) const fn of_packet(&mut self) -> &mut Attempts {
        if self.own.is_some() { &mut self.set_aside } else { &mut self.attempts }
    }

    /// Whether there is a frame, in the queue or of its own.
    #[inline]
    pub(crate) fn has_frame(&self) -> bool {
        self.own.is_some() || !self.queue.is_empty()
    }

    /// The packet in its hands.
    #[inline]
    pub(crate) fn packet(&self) -> Option<MacFrame> {
        self.queue.head().filter(|_| self.own.is_none()).map(|head| head.frame)
    }

    /// Whom the frame in its hands is for.
    pub(crate) fn receiver(&self) -> Option<Receiver> {
        match self.own {
            None => self.queue.head().map(|head| head.frame.to),
            Some(own) => Some(own.receiver()),
        }
    }

    /// Puts a frame into the queue, if there is room.
    #[inline]
    pub(crate) fn push(&mut self, frame: MacFrame, now: Instant) -> bool {
        if self.queue.scheduler() == Scheduler::PerReceiver {
            return self.push_in_round(frame, now);
        }
        let is_head = self.queue.is_empty();
        let is_queued = self.queue.push(frame, now);
        if is_head {
            *self.of_packet() = Attempts::at_head(now);
        }
        is_queued
    }

    /// Puts frames before others that wait, with `first` before all of these.
    pub(crate) fn push_ahead(
        &mut self,
        frames: impl ExactSizeIterator<Item = Queued>,
        first: bool,
        now: Instant,
    ) {
        let had_head = !self.queue.is_empty();
        self.queue.push_ahead(frames, first);
        if !had_head {
            *self.of_packet() = Attempts::at_head(now);
        }
    }

    /// A transmission failed; `was_long`: it was the data frame after an RTS. Returns whether the frame is
    /// given up.
    pub(crate) const fn fail(&mut self, was_long: bool, long_retry_limit: u32) -> bool {
        //= IEEE 802.11-2020, 10.3.4.4: a short and a long retry count, each with its limit.
        let Attempts { short, long, .. } = &mut self.attempts;
        *(if was_long { &mut *long } else { &mut *short }) += 1;
        *short >= self.short_retry_limit || *long >= long_retry_limit
    }

    /// The frame in its hands is done with, and the next one is there.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, now: Instant, is_given_up: bool) {
        if self.own.is_some() {
            self.drop_own();
        } else {
            self.account(is_given_up);
            self.queue.pop();
            self.attempts = Attempts::at_head(now);
            self.sequence = (self.sequence + 1) & 0x0fff;
            if self.queue.scheduler() == Scheduler::PerReceiver {
                self.next_in_round(now);
            }
        }
        self.take_next_own(now);
    }

    /// The frame in its hands, or another that is next, will be transmitted again. Returns whether the
    /// packet has yielded to one for another receiver, whose turn it is.
    pub(crate) fn retry(&mut self, now: Instant) -> bool {
        let yields = self.queue.scheduler() == Scheduler::PerReceiver && self.yield_turn(now);
        self.take_next_own(now);
        yields
    }

    /// Puts a frame of its own before the queue; if it transmits, once that is over. Returns whether it
    /// is now to contend.
    #[cold]
    pub(crate) fn send_own(&mut self, frame: OwnFrame, now: Instant) -> bool {
        if self.back_off.is_transmitting() {
            self.next_own = Some(frame);
            return false;
        }
        let had_frame = self.has_frame();
        self.set_own(frame, now);
        !had_frame
    }

    /// An exchange is over: a frame of its own that has become due meanwhile is in its hands.
    #[inline]
    fn take_next_own(&mut self, now: Instant) {
        if let Some(own) = self.next_own.take() {
            self.set_own(own, now);
        }
    }

    fn set_own(&mut self, frame: OwnFrame, now: Instant) {
        if self.own.is_none() {
            self.own = Some(frame);
            self.set_aside = std::mem::replace(&mut self.attempts, Attempts::at_head(now));
        }
    }

    /// It has no sequence number that anybody filters.
    #[cold]
    const fn drop_own(&mut self) {
        self.own = None;
        self.attempts = self.set_aside;
    }

    /// Takes back frames of its own, but for one that it transmits.
    pub(crate) fn withdraw_own(&mut self) {
        self.next_own = None;
        if self.own.is_none() || self.back_off.is_transmitting() {
            return;
        }
        self.drop_own();
        if self.queue.is_empty() {
            self.back_off.stop_counting();
        }
    }
}
