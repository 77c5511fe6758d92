//! Exchanges that are settled when they begin.
//!
//! This is possible if nobody can interfere: all stations of a domain hear each other and nobody else,
//! and only one of them transmits. The errors of its frames are drawn at once, in the order in which the
//! frames are sent. If none is lost the exchange succeeds, and only the end of its data frame and its own
//! end are events. If several stations transmit at the same time, nobody decodes anything, and all of
//! them wait for a response until they time out. All other exchanges, among them those that an error
//! ends, are simulated frame by frame (`exchange`), with the same plans and the same outcome.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::Contender;
use crate::errors::ErrorModel;
use crate::events::Event;
use crate::frame::Kind;
use crate::medium::Due;

impl<E: ErrorModel> Wlan<E> {
    /// Settles the exchange or the collision of the contenders of a clique that are to transmit, if that is
    /// possible. If it is, none of them is due any more.
    pub(super) fn settle(&mut self, domain: u32, now: Instant) {
        if let [Due { contender, .. }] = *self.medium.due() {
            let plan = self.plan(contender, now);
            debug_assert!(plan.is_some(), "a contender that is due has a frame");
            self.settle_exchange(domain, contender, now);
        } else {
            self.settle_collision(domain, now);
        }
    }

    fn settle_exchange(&mut self, domain: u32, index: u32, now: Instant) {
        if !self.is_undisturbed(domain, index, now) || self.draws_a_loss(index, now) {
            return;
        }
        drop(self.medium.take_due());
        let contender = self.begin_attempt(index, now);
        let Some(plan) = contender.exchange.plan() else { return };
        let end = now.after_nanos(plan.to_data_end);
        let air_time = plan.air_time;
        contender.transmit(air_time);
        self.medium.begin_settled();
        self.events.push(end, index, Event::SettledData(domain, index));
    }

    /// Several contenders transmit at the same time.
    #[inline(never)]
    fn settle_collision(&mut self, domain: u32, now: Instant) {
        if self.committed > 0 || self.medium.due().iter().any(|due| due.at > now) {
            return;
        }
        let due = 0..self.medium.due().len();
        for number in due.clone() {
            let planned = self.plan(self.medium.due()[number].contender, now);
            debug_assert!(planned.is_some(), "a contender that is due has a frame");
        }
        if !due.clone().all(|number| self.waits_for_response(self.medium.due()[number].contender)) {
            return;
        }
        let ends = due.filter_map(|number| {
            let contender = self.medium.due()[number].contender;
            Some((self.collide(contender, now)?, contender))
        });
        if let Some((last, contender)) = ends.max() {
            self.medium.begin_settled();
            self.events.push(last, contender, Event::CollisionEnd(domain));
        }
        drop(self.medium.take_due());
    }

    /// Whether a contender's first frame is answered if it arrives.
    fn waits_for_response(&self, contender: u32) -> bool {
        let plan = self.contenders[contender as usize].exchange.plan();
        plan.and_then(|plan| plan.frames().get(1)).is_some_and(|(kind, _)| kind.is_of_responder())
    }

    /// A contender transmits a frame that nobody decodes. Returns the end of the frame.
    fn collide(&mut self, index: u32, now: Instant) -> Option<Instant> {
        let sifs = self.times.sifs;
        let contender = self.begin_attempt(index, now);
        let (_, duration, _) = contender.exchange.send(sifs)?;
        contender.transmit(duration);
        let end = now.after_nanos(duration);
        self.medium.sent(Contender::station_of(index), end);
        self.events.push(end.after_nanos(self.times.timeout), index, Event::Timeout(index));
        Some(end)
    }

    pub(super) fn on_collision_end(&mut self, domain: u32, now: Instant) {
        self.medium.end_settled(domain, now, false, &mut self.contenders);
        self.schedule_access(domain);
        self.change_if_due(now);
    }

    /// Whether only errors can make the exchange of the only contender that transmits fail.
    fn is_undisturbed(&self, domain: u32, index: u32, now: Instant) -> bool {
        let can_answer = |to: u32| {
            self.medium.home(to) == domain
                && !self.stations[to as usize].refuses()
                && self.medium.nav_of(to) <= now
                && to != Contender::station_of(index)
                && self.listens_since(to, now)
        };
        // A broadcast needs no answer.
        self.committed == 0 && !self.drops_type(index) && self.partner(index).is_none_or(can_answer)
    }

    /// Draws the errors of an exchange that nothing else can make fail. Returns whether a frame is lost; the
    /// exchange then knows which.
    fn draws_a_loss(&mut self, index: u32, now: Instant) -> bool {
        if self.is_free_of_errors() {
            return false;
        }
        let Some(plan) = self.contenders[index as usize].exchange.plan().copied() else { return false };
        // The errors of a broadcast are drawn when it ends.
        let Some(to) = plan.addressee() else { return false };
        let from = Contender::station_of(index);
        let mut start = now;
        for &(kind, duration) in plan.frames() {
            let end = start.after_nanos(duration);
            let link = if kind.is_of_responder() { (to, from) } else { (from, to) };
            if kind != Kind::CtsToSelf && self.is_in_error(kind, link, index, (start, end)) {
                self.contenders[index as usize].exchange.lose(Some(kind));
                return true;
            }
            start = end.after_nanos(self.times.sifs);
        }
        false
    }

    pub(super) fn on_settled_data(&mut self, domain: u32, initiator: u32, now: Instant) {
        let exchange = &self.contenders[initiator as usize].exchange;
        let Some(plan) = exchange.plan() else { return };
        let (partner, rest) = (plan.addressee(), plan.duration - plan.to_data_end);
        let began = exchange.began();
        self.events.push(
            now.after_nanos(rest),
            partner.unwrap_or(initiator),
            Event::SettledEnd(domain, initiator),
        );
        if let Some(to) = partner {
            self.receive(to, initiator, now);
        } else {
            self.receivers.extend_from_slice(self.medium.members(domain));
            self.receive_broadcast(initiator, (began, now));
        }
    }

    /// A settled exchange is over, and the medium of its domain is idle. Returns whether the caller must
    /// begin or schedule the domain's next access. If stations have moved or are tuned, this function has done
    /// that, because the domains are divided anew.
    #[must_use]
    pub(super) fn on_settled_end(&mut self, domain: u32, initiator: u32, now: Instant) -> bool {
        self.medium.end_settled(domain, now, true, &mut self.contenders);
        let responder = self.power_save.as_ref().and_then(|_| self.partner(initiator));
        self.succeed(initiator, now);
        if let Some(to) = responder {
            self.ack_sent(to, now);
        }
        if self.has_changes() {
            self.schedule_access(domain);
            self.change_if_due(now);
            return false;
        }
        true
    }
}
