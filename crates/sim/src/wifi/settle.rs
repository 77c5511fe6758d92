//! Exchanges settled when they begin, where nobody can interfere: all stations of a domain hear each other and nobody else, only one
//! of them transmits, and no frame can be in error. Then the exchange succeeds; only its data frame's end and its own end are events.
//! Everything else goes frame by frame (`exchange`), by the same rules.

use lasthop_packet::Instant;

use super::events::Event;
use super::plan::Guard;
use super::wlan::Wlan;

impl Wlan {
    /// The stations whose back-offs have ended in a clique transmit: settles the exchange, if it can be.
    pub(crate) fn settle(&mut self, domain: u32, now: Instant) {
        let Some(index) = self.sure_winner(domain, now) else {
            self.begin_due(now);
            return;
        };
        self.due.clear();
        let Some(plan) = self.begin_attempt(index, now) else { return };
        let sifs = self.times.sifs;
        let (own, before_data) = match plan.guard {
            Guard::Nothing => (0, 0),
            Guard::CtsToSelf(cts) => (cts, cts + sifs),
            Guard::RtsCts { rts, cts } => (rts, rts + sifs + cts + sifs),
        };
        self.stations[index as usize].attempts.air_time += own + plan.data;
        self.settled[domain as usize] = index;
        self.settling += 1;
        let data_end = now.after_nanos(before_data + plan.data);
        self.events.push(data_end, Event::SettledData(domain));
        self.events
            .push(data_end.after_nanos(plan.ack.map_or(0, |ack| sifs + ack)), Event::SettledEnd(domain));
    }

    /// The only station that transmits, if it is sure to succeed.
    fn sure_winner(&self, domain: u32, now: Instant) -> Option<u32> {
        let [index] = self.due[..] else { return None };
        if !self.errors.is_none() {
            return None;
        }
        let nav = &self.domains[domain as usize].nav;
        let can_answer = |to: u32| {
            self.stations[to as usize].domain == domain && nav.ends_without(index) <= now && to != index
        };
        // A broadcast needs no answer.
        self.addressee(index).is_none_or(can_answer).then_some(index)
    }

    pub(crate) fn on_settled_data(&mut self, domain: u32, now: Instant) {
        let initiator = self.settled[domain as usize];
        match self.addressee(initiator) {
            Some(to) => self.receive(to, initiator),
            None => self.receive_broadcast(domain, initiator, (now, now)),
        }
    }

    pub(crate) fn on_settled_end(&mut self, domain: u32, now: Instant) {
        let initiator = self.settled[domain as usize];
        self.begin_idle(domain, now, true);
        match self.addressee(initiator) {
            Some(_) => self.succeed(initiator, now),
            None => self.broadcast_sent(initiator, now),
        }
        self.schedule_access(domain);
        self.settling -= 1;
        self.divide_if_moved(now);
    }
}
