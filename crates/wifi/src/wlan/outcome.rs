//! The outcome of an exchange, whether it was settled or simulated frame by frame.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Contender, Stage, Txop};
use crate::errors::{ErrorModel, UndisturbedFrame};
use crate::frame::{ACK_OCTETS, Kind, RTS_OCTETS, StationId};
use crate::output::{Fate, Output};
use crate::own_frame::OwnFrame;

/// Why an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No response began within `ACKTimeout` or `CTSTimeout`.
    NoResponse,
    /// A response came, and was not decoded.
    BadResponse,
}

impl<E: ErrorModel> Wlan<E> {
    /// Whether an undisturbed frame of an initiator's exchange is lost by errors on its way.
    pub(super) fn is_in_error(
        &mut self,
        kind: Kind,
        (from, to): (u32, u32),
        initiator: u32,
        (start, end): (Instant, Instant),
    ) -> bool {
        if self.is_free_of_errors() {
            return false;
        }
        let contender = &self.contenders[initiator as usize];
        let Some(plan) = contender.exchange.plan() else { return false };
        let is_control = kind.is_control() || contender.own().is_some_and(OwnFrame::is_control);
        if let Some(to_be_lost) = contender.exchange.to_be_lost() {
            return kind == to_be_lost;
        }
        if kind == Kind::Data && contender.exchange.has_ampdu() {
            return self.loses_all_mpdus((from, to), initiator, (start, end));
        }
        let (rate, octets) = match kind {
            Kind::Data => (plan.data.rate, plan.data.psdu.octets),
            // The bit error rate of control frames is that of an ACK's rate.
            Kind::Rts => (self.phy.response_rate(plan.data.rate), RTS_OCTETS),
            Kind::Ack
                if contender.exchange.has_ampdu()
                    || matches!(contender.own(), Some(OwnFrame::BlockAckRequest { .. })) =>
            {
                (self.phy.response_rate(plan.data.rate), self.block_ack_octets())
            }
            Kind::Cts | Kind::CtsToSelf | Kind::Ack => (self.phy.response_rate(plan.data.rate), ACK_OCTETS),
        };
        let key = contender.packet().filter(|_| kind == Kind::Data).map(|packet| packet.key);
        let link = (StationId(from), StationId(to));
        let frame = UndisturbedFrame { link, key, is_control, rate, octets, start, end };
        self.loses(&frame)
    }

    pub(super) fn loses(&mut self, frame: &UndisturbedFrame) -> bool {
        // Both draw, whatever the other result is: each has random numbers of its own.
        let lost = (!self.errors.is_none() && self.errors.loses(frame)) | self.error_model.loses(frame);
        self.counters.errors += u64::from(lost);
        lost
    }

    /// Whether only collisions lose frames.
    #[inline]
    pub(super) fn is_free_of_errors(&self) -> bool {
        self.errors.is_none() && self.error_model.is_none()
    }

    /// An addressee has received a data frame intact, or an own frame.
    pub(super) fn receive(&mut self, index: u32, initiator: u32, now: Instant) {
        let from = Contender::station_of(initiator);
        let contender = &mut self.contenders[initiator as usize];
        contender.exchange.arrive();
        match contender.own() {
            None => {}
            Some(OwnFrame::Raw { .. }) => return self.receive_raw(index, initiator),
            Some(OwnFrame::BlockAckRequest { .. }) => {
                return self.receive_block_ack_request(index, initiator);
            }
            Some(_) => return self.receive_ps_poll(index, from, now),
        }
        if self.aggregates {
            return self.receive_mpdus(index, initiator, now);
        }
        contender.queue.attempts_mut().deliver();
        let is_retry = contender.queue.attempts().transmissions() > 1;
        let Some(frame) = contender.queue.head().map(|head| head.frame) else { return };
        let station = &mut self.stations[index as usize];
        if station.receive(initiator, contender.queue.sequence(), is_retry) {
            self.counters.delivered += 1;
            let from = StationId(from);
            if self.wanted.transmissions {
                self.outputs.extend(contender.transmission(from, now, self.times.difs));
            }
            self.outputs.push_back(Output::Delivered { at: StationId(index), from, frame });
        } else {
            self.counters.duplicates += 1;
        }
        if self.power_save.is_some() {
            self.receive_response(index, from, now);
        }
    }

    /// The exchange succeeded. A post-backoff follows, with CWmin.
    #[inline]
    pub(super) fn succeed(&mut self, index: u32, now: Instant) {
        if self.aggregates {
            self.succeed_aggregate(index, now);
        } else {
            self.succeed_frame(index, now);
        }
    }

    #[inline(never)]
    fn succeed_aggregate(&mut self, index: u32, now: Instant) {
        if self.contenders[index as usize].own().is_some() {
            return self.succeed_frame(index, now);
        }
        self.contenders[index as usize].exchange.arrive();
        self.conclude(index, now, true);
        self.follow_success(index, now, false);
    }

    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn succeed_frame(&mut self, index: u32, now: Instant) {
        let contender = &mut self.contenders[index as usize];
        contender.exchange.arrive();
        let is_beacon = contender.own() == Some(OwnFrame::Beacon);
        if contender.queue.attempts().options() > 0 {
            self.note_options_acknowledged(index);
        }
        self.finish(index, now, Fate::Delivered);
        self.follow_success(index, now, is_beacon);
    }

    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn follow_success(&mut self, index: u32, now: Instant, is_beacon: bool) {
        let contender = &mut self.contenders[index as usize];
        contender.adapt_rate(true);
        contender.back_off.reset_window();
        if self.times.txop == 0 || !self.continue_txop(index, now) {
            let contender = &mut self.contenders[index as usize];
            //= IEEE 802.11-2020, 10.3.4.3: a backoff follows each transmission, even if nothing waits.
            self.medium.back_off(index, now, now, contender);
        }
        if self.power_save.is_some() {
            let station = Contender::station_of(index);
            if is_beacon {
                self.release_group(station, now);
            }
            self.doze(station, now);
        }
    }

    /// The exchange failed.
    pub(super) fn fail(&mut self, index: u32, now: Instant, failure: Failure) {
        let contender = &mut self.contenders[index as usize];
        contender.exchange.lose(None);
        if self.aggregates && contender.own().is_none() {
            let is_given_up = self.conclude(index, now, false);
            return self.follow_failure(index, now, failure, is_given_up);
        }
        let is_given_up = self.fail_frame(index, now);
        if !is_given_up {
            self.retry(index, now);
        }
        self.follow_failure(index, now, failure, is_given_up);
    }

    /// A backoff follows a failed exchange.
    #[inline]
    fn follow_failure(&mut self, index: u32, now: Instant, failure: Failure, is_given_up: bool) {
        let station = Contender::station_of(index);
        let contender = &mut self.contenders[index as usize];
        //= IEEE 802.11-2020, 10.3.3: CW grows at each failure up to CWmax; it is reset to CWmin once the
        //= frame is delivered or given up.
        if is_given_up {
            contender.back_off.reset_window();
        } else {
            contender.back_off.double_window();
        }
        //= IEEE 802.11-2020, 10.3.2.9, 10.3.2.11: the exchange fails at the end of CTSTimeout or ACKTimeout,
        //= or, if a reception begins before, at the end of that.
        let earliest = match failure {
            Failure::NoResponse => now.after_nanos(self.times.difs),
            Failure::BadResponse => {
                self.medium.missed(station, now);
                now
            }
        };
        contender.adapt_rate(false);
        contender.exchange.set_txop(Txop::None);
        self.medium.back_off(index, now, earliest, contender);
        // If the station has moved out of range of the frame that it missed, nothing else schedules this.
        self.schedule_access(self.medium.home(station));
        if self.power_save.is_some() {
            self.doze(station, now);
        }
    }

    /// The exchange of a frame failed. Returns whether the frame is given up.
    fn fail_frame(&mut self, index: u32, now: Instant) -> bool {
        let contender = &mut self.contenders[index as usize];
        let is_packet = contender.own().is_none();
        if is_packet {
            self.counters.failures += 1;
            self.counters.acks_lost += u64::from(contender.exchange.has_arrived());
        }
        let (data_sent, was_long) = contender.exchange.has_sent_data();
        let is_first = contender.attempts().transmissions() == 1;
        let is_given_up = contender.fail(was_long, self.mac.long_retry_limit);
        if !is_given_up {
            self.report_attempt(index, false);
        }
        self.note_options_failed(index, now, data_sent);
        if is_first {
            self.report_fate(index, Fate::FirstTransmissionFailed);
        }
        if is_given_up {
            let contender = &mut self.contenders[index as usize];
            if let Some(OwnFrame::BlockAckRequest { to }) = contender.own() {
                contender.queue.owe_block_ack_request(to);
            }
            self.counters.given_up += u64::from(is_packet);
            self.note_options_given_up(index);
            self.finish(index, now, Fate::GivenUp);
        }
        is_given_up
    }

    /// A contender transmits again, or the frame of another receiver whose turn it is.
    #[expect(clippy::inline_always, reason = "every failure; measured")]
    #[inline(always)]
    pub(super) fn retry(&mut self, index: u32, now: Instant) {
        if self.contenders[index as usize].retry(now) {
            self.report_departure(index);
        }
    }

    /// Another packet is at the head of a contender's queue.
    #[cold]
    fn report_departure(&mut self, index: u32) {
        if let Some(head) = self.contenders[index as usize].queue.head() {
            let from = StationId(Contender::station_of(index));
            self.outputs.push_back(Output::Departs { from, frame: head.frame });
        }
    }

    /// Removes the frame that a contender has delivered or given up.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn finish(&mut self, index: u32, now: Instant, fate: Fate) {
        debug_assert_eq!(self.contenders[index as usize].back_off.stage(), Stage::Exchanging);
        self.report_attempt(index, fate == Fate::Delivered);
        self.report_fate(index, fate);
        if self.power_save.is_some() {
            self.power_save_ends(index);
        }
        let contender = &mut self.contenders[index as usize];
        if let Some(to) = contender.packet().and_then(|packet| packet.to.station()) {
            self.air_times_to[to as usize] += contender.queue.attempts().air_time();
        }
        contender.pop(now, fate == Fate::GivenUp);
        contender.back_off.set(Stage::None);
    }

    #[inline]
    fn report_attempt(&mut self, index: u32, acknowledged: bool) {
        if self.wanted.attempts {
            let from = StationId(Contender::station_of(index));
            self.outputs.extend(self.contenders[index as usize].attempt(from, acknowledged));
        }
    }

    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn report_fate(&mut self, index: u32, fate: Fate) {
        let contender = &self.contenders[index as usize];
        if contender.packet().is_some_and(|frame| self.wanted.has(fate, frame.to)) {
            self.outputs.extend(contender.fate(StationId(Contender::station_of(index)), fate));
        } else if matches!(contender.own(), Some(OwnFrame::Raw { .. })) {
            self.report_raw_fate(index, fate);
        }
    }

    /// The addressee of a contender's exchange; `None` for a broadcast.
    pub(super) fn partner(&self, index: u32) -> Option<u32> {
        self.contenders[index as usize].exchange.addressee()
    }

    /// The addressee of the frame that a contender transmits next; `None` for a broadcast.
    pub(super) fn addressee(&self, index: u32) -> Option<u32> {
        self.contenders[index as usize].receiver()?.station()
    }
}
