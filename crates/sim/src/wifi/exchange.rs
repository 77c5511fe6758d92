//! Exchanges frame by frame, where others may interfere.

use lasthop_packet::Instant;

use super::contention::Due;
use super::events::Event;
use super::frame::Kind;
use super::medium::{self, Transmission};
use super::outcome::Failure;
use super::output::Output;
use super::plan::Guard;
use super::station::BackOff;
use super::wlan::Wlan;
use crate::id::StationId;

impl Wlan {
    /// The stations whose back-offs have ended transmit. Others, elsewhere, whose back-offs end before they sense it will do so, too.
    pub(crate) fn begin_due(&mut self, now: Instant) {
        let mut next = 0;
        while let Some(&Due { station, at }) = self.due.get(next) {
            next += 1;
            if at > now {
                self.stations[station as usize].back_off = BackOff::Committed;
                self.committed += 1;
                self.events.push(at, Event::Begin(station));
            } else {
                self.begin_exchange(station, now);
            }
        }
        self.due.clear();
    }

    /// A station transmits, whatever has begun meanwhile.
    pub(crate) fn begin_committed(&mut self, station: u32, now: Instant) {
        self.committed -= 1;
        self.begin_exchange(station, now);
        self.begin_due(now);
    }

    fn begin_exchange(&mut self, index: u32, now: Instant) {
        let Some(plan) = self.begin_attempt(index, now) else { return };
        let to = self.addressee(index);
        let sifs = self.times.sifs;
        let rest = plan.ack.map_or(0, |ack| sifs + ack);
        match plan.guard {
            Guard::Nothing => self.transmit_data(index, now),
            Guard::CtsToSelf(cts) => {
                self.transmit(index, to, Kind::CtsToSelf, index, now, (cts, sifs + plan.data + rest));
            }
            Guard::RtsCts { rts, cts } => {
                let reserves = sifs + cts + sifs + plan.data + rest;
                self.transmit(index, to, Kind::Rts, index, now, (rts, reserves));
            }
        }
    }

    fn transmit_data(&mut self, index: u32, now: Instant) {
        let Some(plan) = self.stations[index as usize].plan else { return };
        self.stations[index as usize].attempts.data_sent = true;
        let reserves = plan.ack.map_or(0, |ack| self.times.sifs + ack);
        let to = self.addressee(index);
        self.transmit(index, to, Kind::Data, index, now, (plan.data, reserves));
    }

    pub(crate) fn send_data(&mut self, index: u32, now: Instant) {
        self.transmit_data(index, now);
        self.begin_due(now);
    }

    pub(crate) fn send_cts(&mut self, index: u32, initiator: u32, now: Instant) {
        let Some(plan) = self.stations[initiator as usize].plan else { return };
        let Guard::RtsCts { cts, .. } = plan.guard else { return };
        let sifs = self.times.sifs;
        let reserves = sifs + plan.data + plan.ack.map_or(0, |ack| sifs + ack);
        self.transmit(index, Some(initiator), Kind::Cts, initiator, now, (cts, reserves));
        self.begin_due(now);
    }

    pub(crate) fn send_ack(&mut self, index: u32, initiator: u32, now: Instant) {
        let Some(ack) = self.stations[initiator as usize].plan.and_then(|plan| plan.ack) else { return };
        self.transmit(index, Some(initiator), Kind::Ack, initiator, now, (ack, 0));
        self.begin_due(now);
    }

    /// A transmission begins, wherever it is sensed.
    fn transmit(
        &mut self,
        from: u32,
        to: Option<u32>,
        kind: Kind,
        initiator: u32,
        start: Instant,
        (duration, reserves): (u64, u64),
    ) {
        if from == initiator {
            self.stations[from as usize].attempts.air_time += duration;
        }
        let transmission = Transmission { from, to, kind, initiator, start, reserves };
        let key = if let Some(key) = self.vacant.pop() {
            self.transmissions[key as usize] = transmission;
            key
        } else {
            self.transmissions.push(transmission);
            self.transmissions.len() as u32 - 1
        };
        let (home, position) = (self.stations[from as usize].domain, self.stations[from as usize].position);
        for audience in 0..self.domains[home as usize].audience.len() {
            let index = self.domains[home as usize].audience[audience].domain as usize;
            let domain = &mut self.domains[index];
            domain.contention.freeze(start, &self.times, &mut self.stations, &mut self.due);
            let power = match self.capture {
                Some(_) => medium::power_at(&self.propagation, domain, (from, position)),
                None => 0.0,
            };
            domain.begins(key, start, power, self.capture);
        }
        self.events.push(start.after_nanos(duration), Event::FrameEnd(key));
    }

    pub(crate) fn on_frame_end(&mut self, key: u32, now: Instant) {
        let transmission = self.transmissions[key as usize];
        self.vacant.push(key);
        let Transmission { from, to, kind, initiator, start, reserves } = transmission;
        let home = self.stations[from as usize].domain as usize;
        let target = to.map(|to| self.stations[to as usize].domain);
        let mut reached = false;
        for audience in 0..self.domains[home].audience.len() {
            let at = self.domains[home].audience[audience];
            let domain = &mut self.domains[at.domain as usize];
            let decoded = domain.ends(key) && at.decodes;
            reached |= decoded && target == Some(at.domain);
            if decoded && reserves > 0 {
                let addressee = if from == initiator { to.unwrap_or(from) } else { from };
                let until = now.after_nanos(reserves);
                domain.nav.update(now, until, (initiator, addressee), kind == Kind::Rts);
            }
            if domain.is_silent() {
                self.begin_idle(at.domain, now, decoded);
            }
            if to.is_none() && decoded {
                self.receive_broadcast(at.domain, initiator, (start, now));
            }
        }
        let arrives = match to {
            Some(to) if kind != Kind::CtsToSelf => {
                reached && !self.is_in_error(kind, (from, to), initiator, (start, now))
            }
            _ => true,
        };
        self.continue_exchange(&transmission, reached, arrives, now);
        for audience in 0..self.domains[home].audience.len() {
            let index = self.domains[home].audience[audience].domain;
            self.schedule_access(index);
        }
    }

    fn continue_exchange(&mut self, sent: &Transmission, reached: bool, arrives: bool, now: Instant) {
        let initiator = sent.initiator;
        let later = now.after_nanos(self.times.sifs);
        let timeout = now.after_nanos(self.times.timeout);
        match (sent.kind, sent.to) {
            (Kind::Rts | Kind::Data, Some(to)) if !arrives => {
                if reached {
                    self.missed(to, initiator, now);
                }
                self.events.push(timeout, Event::Timeout(initiator));
            }
            (Kind::Rts, Some(to)) => {
                if self.answers(to, initiator, now) {
                    self.events.push(later, Event::SendCts(to, initiator));
                } else {
                    self.refused(to, initiator, now);
                    self.events.push(timeout, Event::Timeout(initiator));
                }
            }
            (Kind::Data, Some(to)) => {
                self.receive(to, initiator);
                self.events.push(later, Event::SendAck(to, initiator));
            }
            (Kind::Data, None) => self.broadcast_sent(initiator, now),
            (Kind::Cts | Kind::Ack, _) if !arrives => self.fail(initiator, now, Failure::BadResponse),
            (Kind::Ack, _) => self.succeed(initiator, now),
            (Kind::Cts | Kind::CtsToSelf | Kind::Rts, _) => {
                self.events.push(later, Event::SendData(initiator));
            }
        }
    }

    pub(crate) fn on_timeout(&mut self, index: u32, now: Instant) {
        self.fail(index, now, Failure::NoResponse);
        self.schedule_access(self.stations[index as usize].domain);
    }

    /// A broadcast that nothing overlapped in a domain: each member draws its own errors.
    pub(crate) fn receive_broadcast(
        &mut self,
        domain: u32,
        initiator: u32,
        (start, end): (Instant, Instant),
    ) {
        let Some(frame) = self.stations[initiator as usize].queue.front().map(|head| head.frame) else {
            return;
        };
        for member in 0..self.domains[domain as usize].members.len() {
            let index = self.domains[domain as usize].members[member];
            if index == initiator || self.is_in_error(Kind::Data, (initiator, index), initiator, (start, end))
            {
                continue;
            }
            self.counters.delivered += 1;
            self.outputs.push(Output::Delivered { at: StationId(index), from: StationId(initiator), frame });
        }
    }
}
