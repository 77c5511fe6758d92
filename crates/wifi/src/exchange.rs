//! Exchanges frame by frame, where others may interfere.

use lasthop_packet::Instant;

use super::contention::Due;
use super::events::Event;
use super::frame::Kind;
use super::medium::{OWN_POWER, Transmission};
use super::nav::Reservation;
use super::outcome::Failure;
use super::output::Output;
use super::plan::Guard;
use super::propagation::Position;
use super::station::{BackOff, Station};
use super::wlan::Wlan;
use crate::id::StationId;

impl Wlan {
    /// The stations whose back-offs have ended transmit, whatever begins before their moment has
    /// come.
    pub(crate) fn commit_due(&mut self) {
        for Due { station, at } in self.due.drain(..) {
            self.stations[station as usize].back_off = BackOff::Committed;
            self.committed += 1;
            self.events.push(at, station, Event::Begin(station));
        }
    }

    #[inline(never)]
    pub(crate) fn begin(&mut self, station: u32, now: Instant) {
        self.committed -= 1;
        self.begin_exchange(station, now);
    }

    fn begin_exchange(&mut self, index: u32, now: Instant) {
        let Some(plan) = self.begin_attempt(index, now).copied() else { return };
        let to = self.partner(index);
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
        let to = self.partner(index);
        self.transmit(index, to, Kind::Data, index, now, (plan.data, reserves));
    }

    #[inline(never)]
    pub(crate) fn send_data(&mut self, index: u32, now: Instant) {
        self.transmit_data(index, now);
    }

    #[inline(never)]
    pub(crate) fn send_cts(&mut self, index: u32, initiator: u32, now: Instant) {
        let Some(plan) = self.stations[initiator as usize].plan else { return };
        let Guard::RtsCts { cts, .. } = plan.guard else { return };
        let sifs = self.times.sifs;
        let reserves = sifs + plan.data + plan.ack.map_or(0, |ack| sifs + ack);
        self.transmit(index, Some(initiator), Kind::Cts, initiator, now, (cts, reserves));
    }

    #[inline(never)]
    pub(crate) fn send_ack(&mut self, index: u32, initiator: u32, now: Instant) {
        let Some(ack) = self.stations[initiator as usize].plan.and_then(|plan| plan.ack) else { return };
        self.transmit(index, Some(initiator), Kind::Ack, initiator, now, (ack, 0));
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
        #[cfg(test)]
        self.log_frame((from, to), kind, initiator, start, duration);
        let transmission = Transmission { from, to, kind, initiator, start, reserves };
        let key = if let Some(key) = self.vacant.pop() {
            self.transmissions[key as usize] = transmission;
            key
        } else {
            self.transmissions.push(transmission);
            self.transmissions.len() as u32 - 1
        };
        let Station { domain: home, position, .. } = self.stations[from as usize];
        for audience in 0..self.domains[home as usize].audience.len() {
            let at = self.domains[home as usize].audience[audience].domain;
            let power = self.power_at(at, from, position);
            let domain = &mut self.domains[at as usize];
            domain.turn_busy(start, &self.times, &mut self.stations, &mut self.due);
            domain.begins(key, start, power, self.capture);
        }
        self.commit_due();
        self.events.push(start.after_nanos(duration), from, Event::FrameEnd(key));
    }

    /// A station's power where a domain's members stand; no matter which, where it is asked for.
    pub(crate) fn power_at(&self, domain: u32, from: u32, position: Position) -> f64 {
        if self.capture.is_none() || self.stations[from as usize].domain == domain {
            return OWN_POWER;
        }
        let listener = self.domains[domain as usize].members[0];
        self.propagation.power(position, self.stations[listener as usize].position)
    }

    #[inline(never)]
    pub(crate) fn on_frame_end(&mut self, key: u32, now: Instant) {
        let transmission = self.transmissions[key as usize];
        self.vacant.push(key);
        let Transmission { from, to, kind, initiator, start, reserves } = transmission;
        self.stations[from as usize].own_ifs = Some((now, self.times.difs));
        let home = self.stations[from as usize].domain;
        let target = to.map(|to| self.stations[to as usize].domain);
        let mut reached = false;
        for audience in 0..self.domains[home as usize].audience.len() {
            let at = self.domains[home as usize].audience[audience];
            let domain = &mut self.domains[at.domain as usize];
            let decoded = domain.ends(key) && at.decodes;
            if decoded {
                domain.decoded_at = Some(now);
                reached |= target == Some(at.domain);
                if reserves > 0 {
                    let addressee = if from == initiator { to.unwrap_or(from) } else { from };
                    let (until, may_be_reset) = (now.after_nanos(reserves), kind == Kind::Rts);
                    domain.nav.reserve(Reservation {
                        initiator,
                        addressee,
                        until,
                        set_at: now,
                        may_be_reset,
                    });
                }
                if to.is_none() {
                    self.receivers.extend_from_slice(&domain.members);
                }
            }
            if domain.is_silent() {
                self.begin_idle(at.domain, now);
                if at.domain == home {
                    self.part(from);
                }
            }
        }
        if to.is_none() {
            self.receivers.sort_unstable();
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
        for audience in 0..self.domains[home as usize].audience.len() {
            let index = self.domains[home as usize].audience[audience].domain;
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
                    self.missed(to, now);
                }
                self.events.push(timeout, initiator, Event::Timeout(initiator));
            }
            (Kind::Rts, Some(to)) => {
                if self.answers(to, now) {
                    self.events.push(later, to, Event::SendCts(to, initiator));
                } else {
                    self.part(to);
                    self.events.push(timeout, initiator, Event::Timeout(initiator));
                }
            }
            (Kind::Data, Some(to)) if self.drops_type(initiator) => {
                self.part(to);
                self.events.push(timeout, initiator, Event::Timeout(initiator));
            }
            (Kind::Data, Some(to)) if self.stations[initiator as usize].attempts.is_refused => {
                self.counters.withheld += 1;
                self.part(to);
                self.events.push(timeout, initiator, Event::Timeout(initiator));
            }
            (Kind::Data, Some(to)) => {
                self.receive(to, initiator, now);
                self.events.push(later, to, Event::SendAck(to, initiator));
            }
            (Kind::Data, None) => self.broadcast_sent(initiator, now),
            (Kind::Cts | Kind::Ack, _) if !arrives => self.fail(initiator, now, Failure::BadResponse),
            (Kind::Ack, _) => self.succeed(initiator, now),
            (Kind::Cts | Kind::CtsToSelf | Kind::Rts, _) => {
                self.events.push(later, initiator, Event::SendData(initiator));
            }
        }
    }

    #[inline(never)]
    pub(crate) fn on_timeout(&mut self, index: u32, now: Instant) {
        self.fail(index, now, Failure::NoResponse);
    }

    /// A broadcast that nothing overlapped where its receivers are: each draws its own errors.
    pub(crate) fn receive_broadcast(&mut self, initiator: u32, (start, end): (Instant, Instant)) {
        let mut receivers = std::mem::take(&mut self.receivers);
        if self.stations[initiator as usize].own.is_some() {
            self.receive_beacon(initiator, &receivers, (start, end));
            receivers.clear();
        }
        let frame = self.stations[initiator as usize].packet();
        for index in receivers.drain(..) {
            let Some(frame) = frame.filter(|_| index != initiator) else { continue };
            if self.listens_since(index, start)
                && !self.is_in_error(Kind::Data, (initiator, index), initiator, (start, end))
            {
                self.counters.delivered += 1;
                self.outputs.push(Output::Delivered {
                    at: StationId(index),
                    from: StationId(initiator),
                    frame,
                });
                if self.power_save.is_some() {
                    self.hear_group_frame(index, initiator, end);
                }
            }
        }
        self.receivers = receivers;
    }
}
