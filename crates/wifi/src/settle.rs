//! Exchanges settled when they begin, where nobody can interfere: all stations of a domain hear
//! each other and nobody else, and only one of them transmits. What errors do to its frames is
//! drawn at once, each link's in the order in which they are sent. If they spare them all the
//! exchange succeeds; only its data frame's end and its own end are events. If several begin at
//! the same moment nobody decodes anything: their stations wait in vain for responses. Everything
//! else, an exchange that an error ends among it, goes frame by frame (`exchange`), by the same
//! rules.

use lasthop_packet::Instant;

use super::contention::Due;
use super::events::Event;
use super::frame::Kind;
use super::plan::Guard;
use super::station::{Attempts, Station};
use super::wlan::Wlan;

impl Wlan {
    /// The stations whose back-offs have ended in a clique transmit: settles what comes of it, if it
    /// can be; then none of them is due.
    pub(crate) fn settle(&mut self, domain: u32, now: Instant) {
        if self.due.len() > 1 {
            self.settle_collision(domain, now);
        } else {
            self.settle_exchange(domain, now);
        }
    }

    fn settle_exchange(&mut self, domain: u32, now: Instant) {
        let Some(index) = self.only_winner(domain, now).filter(|index| !self.draws_a_loss(*index, now))
        else {
            return;
        };
        self.due.clear();
        let sifs = self.times.sifs;
        let Some(plan) = self.begin_attempt(index, now) else { return };
        let data = plan.data;
        let (own, before_data) = match plan.guard {
            Guard::Nothing => (0, 0),
            Guard::CtsToSelf(cts) => (cts, cts + sifs),
            Guard::RtsCts { rts, cts } => (rts, rts + sifs + cts + sifs),
        };
        self.stations[index as usize].attempts.air_time += own + data;
        self.settled[domain as usize] = index;
        self.settling += 1;
        let data_end = now.after_nanos(before_data + data);
        self.events.push(data_end, index, Event::SettledData(domain));
    }

    /// Several stations transmit at once.
    #[inline(never)]
    fn settle_collision(&mut self, domain: u32, now: Instant) {
        if self.committed > 0 || self.due.iter().any(|due| due.at > now) {
            return;
        }
        let mut due = std::mem::take(&mut self.due);
        let waits_for_response = |due: &Due| {
            let plan = self.plan(due.station).and_then(|station| station.plan);
            plan.is_some_and(|plan| plan.ack.is_some() && !matches!(plan.guard, Guard::CtsToSelf(_)))
        };
        if due.iter().all(waits_for_response) {
            let ends =
                due.drain(..).filter_map(|Due { station, .. }| Some((self.collide(station, now)?, station)));
            if let Some((last, station)) = ends.max() {
                self.settling += 1;
                self.events.push(last, station, Event::CollisionEnd(domain));
            }
        }
        self.due = due;
    }

    /// A station's frame begins that nobody decodes. Returns when it ends.
    fn collide(&mut self, index: u32, now: Instant) -> Option<Instant> {
        let plan = self.begin_attempt(index, now)?;
        let (duration, is_data) = match plan.guard {
            Guard::RtsCts { rts, .. } => (rts, false),
            _ => (plan.data, true),
        };
        let Station { attempts, own_ifs, .. } = &mut self.stations[index as usize];
        attempts.data_sent = is_data;
        attempts.air_time += duration;
        let end = now.after_nanos(duration);
        *own_ifs = Some((end, self.times.difs));
        self.events.push(end.after_nanos(self.times.timeout), index, Event::Timeout(index));
        Some(end)
    }

    pub(crate) fn on_collision_end(&mut self, domain: u32, now: Instant) {
        self.begin_idle(domain, now);
        self.schedule_access(domain);
        self.settling -= 1;
        self.divide_if_moved(now);
    }

    /// The only station that transmits, if nothing but errors can make it fail.
    fn only_winner(&self, domain: u32, now: Instant) -> Option<u32> {
        let [Due { station: index, .. }] = self.due[..] else { return None };
        if self.committed > 0 {
            return None;
        }
        let can_answer = |to: u32| {
            self.stations[to as usize].domain == domain
                && !self.stations[to as usize].refuses
                && self.nav_of(to) <= now
                && to != index
                && self.listens_since(to, now)
        };
        if self.drops_type(index) {
            return None;
        }
        // A broadcast needs no answer.
        self.addressee(index).is_none_or(can_answer).then_some(index)
    }

    /// Whether errors will end a station's exchange that nothing else can; if so it is known by
    /// which of its frames.
    fn draws_a_loss(&mut self, index: u32, now: Instant) -> bool {
        if self.errors.is_none() {
            return false;
        }
        // The receivers of a broadcast draw when it ends.
        let Some(to) = self.addressee(index) else { return false };
        let Some(plan) = self.plan(index).and_then(|station| station.plan) else { return false };
        let sifs = self.times.sifs;
        let (there, back) = ((index, to), (to, index));
        let mut start = now;
        let guard = match plan.guard {
            Guard::Nothing => [None; 2],
            Guard::CtsToSelf(cts) => {
                start = now.after_nanos(cts + sifs);
                [None; 2]
            }
            Guard::RtsCts { rts, cts } => [Some((Kind::Rts, there, rts)), Some((Kind::Cts, back, cts))],
        };
        let frames = [Some((Kind::Data, there, plan.data)), plan.ack.map(|ack| (Kind::Ack, back, ack))];
        for (kind, link, duration) in guard.into_iter().chain(frames).flatten() {
            let end = start.after_nanos(duration);
            if self.is_in_error(kind, link, index, (start, end)) {
                self.stations[index as usize].attempts.to_be_lost = Some(kind);
                return true;
            }
            start = end.after_nanos(sifs);
        }
        false
    }

    pub(crate) fn on_settled_data(&mut self, domain: u32, now: Instant) {
        let initiator = self.settled[domain as usize];
        let Station { plan, attempts: Attempts { began, .. }, .. } = &self.stations[initiator as usize];
        let (began, ack) = (*began, plan.as_ref().and_then(|plan| plan.ack));
        let (partner, rest) = (self.partner(initiator), ack.map_or(0, |ack| self.times.sifs + ack));
        self.events.push(now.after_nanos(rest), partner.unwrap_or(initiator), Event::SettledEnd(domain));
        if let Some(to) = partner {
            self.receive(to, initiator, now);
        } else {
            self.receivers.extend_from_slice(&self.domains[domain as usize].members);
            self.receive_broadcast(initiator, (began, now));
        }
    }

    /// A settled exchange is over, and the medium of its domain is idle. Returns whether the caller is to
    /// begin or schedule the domain's next access. Where stations have moved that is done here, because
    /// the domains are then divided anew.
    #[must_use]
    pub(crate) fn on_settled_end(&mut self, domain: u32, now: Instant) -> bool {
        let initiator = self.settled[domain as usize];
        self.domains[domain as usize].decoded_at = Some(now);
        self.begin_idle(domain, now);
        match self.partner(initiator) {
            Some(to) => {
                self.succeed(initiator, now);
                if self.power_save.is_some() {
                    self.ack_sent(to, now);
                }
            }
            None => self.broadcast_sent(initiator, now),
        }
        self.settling -= 1;
        if self.has_moved {
            self.schedule_access(domain);
            self.divide_if_moved(now);
            return false;
        }
        true
    }
}
