//! What follows from success and failure: one place for exchanges that are settled at once and
//! those that go frame by frame.

use lasthop_packet::Instant;

use super::frame::{Kind, OwnFrame, Receiver};
use super::output::Output;
use super::plan::Guard;
use super::station::{AfterFailure, BackOff, Station};
use super::times::Times;
use super::wlan::Wlan;
use crate::id::StationId;
use crate::output::Fate;

/// Why an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No response began within `ACKTimeout` or `CTSTimeout`.
    NoResponse,
    /// A response came, and was not decoded.
    BadResponse,
}

impl Wlan {
    /// Whether an undisturbed frame of an initiator's exchange is lost by errors on its way.
    pub(crate) fn is_in_error(
        &mut self,
        kind: Kind,
        (from, to): (u32, u32),
        initiator: u32,
        (start, end): (Instant, Instant),
    ) -> bool {
        if self.errors.is_none() {
            return false;
        }
        let Station { plan: Some(plan), attempts, own, .. } = &self.stations[initiator as usize] else {
            return false;
        };
        let is_control = kind.is_control() || matches!(own, Some(OwnFrame::PsPoll { .. }));
        if let Some(to_be_lost) = attempts.to_be_lost {
            return kind == to_be_lost;
        }
        let (rate, octets) = match kind {
            Kind::Data => (plan.data_rate, plan.data_octets),
            // Bit errors of control frames: at the rate of an ACK.
            Kind::Rts => (self.phy.response_rate(plan.data_rate), super::frame::RTS_OCTETS),
            Kind::Cts | Kind::CtsToSelf | Kind::Ack => {
                (self.phy.response_rate(plan.data_rate), super::frame::ACK_OCTETS)
            }
        };
        let link = (StationId(from), StationId(to));
        if kind == Kind::Data
            && let Some(packet) = self.stations[initiator as usize].packet()
        {
            self.errors.begins(link, packet.key, start);
        }
        let lost = self.errors.loses(link, is_control, (rate, octets), (start, end));
        self.outputs.extend(self.errors.changes());
        self.counters.errors += u64::from(lost);
        lost
    }

    /// Whether a station answers an RTS: unless its NAV says that the medium is taken (9.3.2.6).
    pub(crate) fn answers(&mut self, index: u32, now: Instant) -> bool {
        let answers = self.nav_of(index) <= now;
        self.counters.refused += u64::from(!answers);
        answers
    }

    /// An addressee has received a data frame intact, or a PS-Poll.
    pub(crate) fn receive(&mut self, index: u32, initiator: u32, now: Instant) {
        let sender = &mut self.stations[initiator as usize];
        sender.attempts.arrived = true;
        if sender.own.is_some() {
            self.receive_ps_poll(index, initiator, now);
            return;
        }
        let (sequence, is_retry) = (sender.sequence, sender.attempts.transmissions > 1);
        sender.attempts.delivered = true;
        let Some(frame) = sender.queue.front().map(|head| head.frame) else { return };
        if self.stations[index as usize].is_new(StationId(initiator), sequence, is_retry) {
            self.counters.delivered += 1;
            self.tell_transmission(initiator, now);
            self.outputs.push(Output::Delivered { at: StationId(index), from: StationId(initiator), frame });
        } else {
            self.counters.duplicates += 1;
        }
        if self.power_save.is_some() {
            self.hear_response(index, initiator, now);
        }
    }

    /// An addressee whose frame was in error keeps EIFS from its end.
    pub(crate) fn missed(&mut self, index: u32, end: Instant) {
        self.stations[index as usize].own_ifs = Some((end, self.times.eifs));
        self.part(index);
    }

    /// The exchange succeeded: post-back-off from CWmin (9.3.4.3).
    #[inline]
    pub(crate) fn succeed(&mut self, index: u32, now: Instant) {
        if self.stations[index as usize].attempts.options > 0 {
            self.note_options_acknowledged(index);
        }
        self.finish(index, now, Fate::Delivered);
        let station = &mut self.stations[index as usize];
        station.cw = self.phy.cw_min;
        let slots = station.draw();
        self.back_off(index, slots, now, self.slots_from(index));
        if self.power_save.is_some() {
            self.doze(index, now);
        }
    }

    /// A broadcast is sent, and nobody says whether it arrived.
    pub(crate) fn broadcast_sent(&mut self, index: u32, now: Instant) {
        let is_beacon = self.stations[index as usize].own.is_some();
        self.stations[index as usize].attempts.arrived = true;
        self.finish(index, now, Fate::Delivered);
        let station = &mut self.stations[index as usize];
        station.cw = self.phy.cw_min;
        let slots = station.draw();
        self.back_off(index, slots, now, self.slots_from(index));
        if is_beacon {
            self.release_group(index, now);
        }
        if self.power_save.is_some() {
            self.doze(index, now);
        }
    }

    /// The exchange failed.
    pub(crate) fn fail(&mut self, index: u32, now: Instant, failure: Failure) {
        let long_limit = self.mac.long_retry_limit;
        let station = &mut self.stations[index as usize];
        station.attempts.to_be_lost = None;
        let is_packet = station.own.is_none();
        if is_packet {
            self.counters.failures += 1;
            self.counters.acks_lost += u64::from(station.attempts.arrived);
        }
        let data_sent = station.attempts.data_sent;
        // The data frame was out, or only its RTS.
        let was_long = station.attempts.data_sent
            && matches!(station.plan, Some(plan) if matches!(plan.guard, Guard::RtsCts { .. }));
        let after = station.failed(was_long, long_limit, (self.phy.cw_min, self.phy.cw_max));
        match after {
            AfterFailure::Retry => {
                if self.tells_attempts {
                    self.tell_attempt(index, false);
                }
                if self.stations[index as usize].attempts.transmissions == 1 {
                    self.tell_fate(index, Fate::FirstTransmissionFailed);
                }
                self.note_options_failed(index, now, data_sent);
                if self.stations[index as usize].receivers.is_some() {
                    self.yield_turn(index, now);
                }
                self.take_next_own(index, now);
            }
            AfterFailure::GiveUp => {
                self.counters.given_up += u64::from(is_packet);
                // It may have been the only transmission.
                self.note_options_failed(index, now, data_sent);
                self.note_options_given_up(index);
                if self.stations[index as usize].attempts.transmissions == 1 {
                    self.tell_fate(index, Fate::FirstTransmissionFailed);
                }
                self.finish(index, now, Fate::GivenUp);
            }
        }
        let slots = self.stations[index as usize].draw();
        let Times { difs, eifs, .. } = self.times;
        let from = match failure {
            Failure::NoResponse => self.slots_from(index).map(|from| from.max(now.after_nanos(difs))),
            Failure::BadResponse => {
                self.stations[index as usize].own_ifs = Some((now, eifs));
                self.slots_from(index)
            }
        };
        self.back_off(index, slots, now, from);
        // It may have moved away from whoever did not reach it, and then nobody else does this.
        self.schedule_access(self.stations[index as usize].domain);
        if self.power_save.is_some() {
            self.doze(index, now);
        }
    }

    /// The frame in a station's hands is done with.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    fn finish(&mut self, index: u32, now: Instant, fate: Fate) {
        debug_assert_eq!(self.stations[index as usize].back_off, BackOff::Exchanging);
        if self.tells_attempts {
            self.tell_attempt(index, fate == Fate::Delivered);
        }
        self.tell_fate(index, fate);
        if self.power_save.is_some() {
            self.power_save_ends(index);
        }
        self.stations[index as usize].pop(now);
        self.stations[index as usize].back_off = BackOff::None;
        self.take_next_own(index, now);
    }

    /// An exchange is over in which a frame of the station's own has become due.
    fn take_next_own(&mut self, index: u32, now: Instant) {
        if self.stations[index as usize].next_own.is_some() {
            self.stations[index as usize].take_next_own(now);
        }
    }

    /// A transmission failed, and its station's receivers take turns.
    #[cold]
    fn yield_turn(&mut self, index: u32, now: Instant) {
        if self.stations[index as usize].yield_turn(now) {
            self.outputs.push(Output::Departs { from: StationId(index) });
        }
    }

    /// The addressee of a station's exchange; `None` for a broadcast.
    pub(crate) fn partner(&self, index: u32) -> Option<u32> {
        match self.stations[index as usize].plan?.to {
            Receiver::Station(to) => Some(to.0),
            Receiver::Broadcast => None,
        }
    }

    /// The addressee of the frame in a station's hands; `None` for a broadcast.
    pub(crate) fn addressee(&self, index: u32) -> Option<u32> {
        match self.stations[index as usize].receiver()? {
            Receiver::Station(to) => Some(to.0),
            Receiver::Broadcast => None,
        }
    }
}
