//! Exchanges that are simulated frame by frame, because others may interfere.

use lasthop_packet::Instant;

use super::Wlan;
use super::outcome::Failure;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::events::Event;
use crate::frame::{Kind, StationId};
use crate::medium::Transmission;
use crate::output::Output;
use crate::own_frame::OwnFrame;

impl<E: ErrorModel> Wlan<E> {
    #[inline(never)]
    pub(super) fn begin(&mut self, contender: u32, now: Instant) {
        self.committed -= 1;
        if self.plan(contender, now).is_some() {
            self.begin_attempt(contender, now);
            self.send(Contender::station_of(contender), contender, now);
        }
    }

    /// A station sends the next frame of an exchange.
    #[inline(never)]
    pub(super) fn send(&mut self, from: u32, initiator: u32, now: Instant) {
        let contender = &mut self.contenders[initiator as usize];
        let Some((kind, duration, reserves)) = contender.exchange.send(self.times.sifs) else { return };
        let by_initiator = from == Contender::station_of(initiator);
        let to = if by_initiator {
            contender.transmit(duration);
            contender.exchange.addressee()
        } else {
            Some(Contender::station_of(initiator))
        };
        #[cfg(test)]
        self.log_frame((from, to), kind, initiator, now, duration);
        let transmission = Transmission { from, to, kind, initiator, start: now, reserves };
        let key = self.medium.begin(transmission, &mut self.contenders);
        self.commit_due();
        self.events.push(now.after_nanos(duration), from, Event::FrameEnd(key));
    }

    #[inline(never)]
    pub(super) fn on_frame_end(&mut self, key: u32, now: Instant) {
        let Self { medium, contenders, receivers, .. } = self;
        let (transmission, reached) = medium.end(key, now, contenders, receivers);
        let Transmission { from, to, kind, initiator, start, .. } = transmission;
        if to.is_none() {
            self.receive_broadcast(initiator, (start, now));
        }
        let reached = reached && to.is_some_and(|to| self.listens_since(to, start));
        let arrives = match to {
            Some(to) if kind != Kind::CtsToSelf => {
                reached && !self.is_in_error(kind, (from, to), initiator, (start, now))
            }
            _ => true,
        };
        self.continue_exchange(&transmission, reached, arrives, now);
        if kind == Kind::Ack && self.power_save.is_some() {
            self.ack_sent(from, now);
        }
        let home = self.medium.home(from);
        for number in 0.. {
            let Some(domain) = self.medium.audience(home, number) else { break };
            self.schedule_access(domain);
        }
        self.tune_if_due(now);
    }

    fn continue_exchange(&mut self, sent: &Transmission, reached: bool, arrives: bool, now: Instant) {
        let initiator = sent.initiator;
        let next = match (sent.kind, sent.to) {
            (Kind::Rts | Kind::Data, Some(to)) if !arrives => {
                if reached {
                    self.medium.missed(to, now);
                    self.medium.part(to, &mut self.contenders);
                }
                None
            }
            (Kind::Rts | Kind::Data, Some(to)) => {
                let answers = self.answers(sent.kind, to, initiator, now);
                if answers && sent.kind == Kind::Data {
                    self.receive(to, initiator, now);
                } else if !answers {
                    self.medium.part(to, &mut self.contenders);
                }
                if answers {
                    let began = self.contenders[initiator as usize].exchange.began();
                    self.stations[to as usize].answer(initiator, began);
                }
                answers.then_some(to)
            }
            (Kind::Cts | Kind::Ack, _) if !arrives => {
                return self.fail(initiator, now, Failure::BadResponse);
            }
            (Kind::Ack, _) | (Kind::Data, None) => return self.succeed(initiator, now),
            (Kind::Cts | Kind::CtsToSelf | Kind::Rts, _) => Some(Contender::station_of(initiator)),
        };
        if let Some(from) = next {
            self.events.push(now.after_nanos(self.times.sifs), from, Event::Send(from, initiator));
        } else {
            self.events.push(now.after_nanos(self.times.timeout), initiator, Event::Timeout(initiator));
        }
    }

    /// Whether a station answers a frame that has reached it intact.
    fn answers(&mut self, kind: Kind, index: u32, initiator: u32, now: Instant) -> bool {
        if kind == Kind::Rts {
            //= IEEE 802.11-2020, 10.3.2.9: an RTS is not answered while the NAV says that the medium is busy.
            let answers = self.medium.nav_of(index) <= now;
            self.counters.refused += u64::from(!answers);
            return answers;
        }
        if self.drops_type(initiator) {
            return false;
        }
        let is_refused = self.contenders[initiator as usize].exchange.is_refused();
        self.counters.withheld += u64::from(is_refused);
        !is_refused
    }

    #[inline(never)]
    pub(super) fn on_timeout(&mut self, contender: u32, now: Instant) {
        self.fail(contender, now, Failure::NoResponse);
        self.tune_if_due(now);
    }

    /// Receives a broadcast at the stations that have decoded it. Errors are drawn for each of them.
    pub(super) fn receive_broadcast(&mut self, initiator: u32, (start, end): (Instant, Instant)) {
        let mut receivers = std::mem::take(&mut self.receivers);
        let from = Contender::station_of(initiator);
        match self.contenders[initiator as usize].own() {
            Some(OwnFrame::Beacon) => {
                self.receive_beacon(initiator, &receivers, (start, end));
                receivers.clear();
            }
            Some(OwnFrame::CfEnd) => receivers.clear(),
            _ => {}
        }
        let contender = &self.contenders[initiator as usize];
        let (packet, raw) = (contender.packet(), contender.raw());
        for index in receivers.drain(..) {
            if index == from
                || !self.listens_since(index, start)
                || self.is_in_error(Kind::Data, (from, index), initiator, (start, end))
            {
                continue;
            }
            if let Some((frame, ..)) = raw {
                self.report_raw(index, initiator, frame);
            }
            if let Some(frame) = packet {
                self.counters.delivered += 1;
                self.outputs.push_back(Output::Delivered {
                    at: StationId(index),
                    from: StationId(from),
                    frame,
                });
                if self.power_save.is_some() {
                    self.receive_group_frame(index, from, end);
                }
            }
        }
        self.receivers = receivers;
    }
}
