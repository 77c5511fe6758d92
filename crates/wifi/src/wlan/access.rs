//! Basic access to the medium (IEEE 802.11-2020, 10.3.4.2): at once if it is idle, otherwise after
//! a backoff.

use lasthop_packet::Instant;

use super::Wlan;
use crate::contender::{Contender, Stage, Txop};
use crate::errors::ErrorModel;
use crate::events::Event;
use crate::medium::Due;

impl<E: ErrorModel> Wlan<E> {
    /// A frame has come to a contender that had none. The contender transmits at once if the medium
    /// is idle, unless it has to back off in any case (`with_back_off`).
    #[inline]
    pub(super) fn contend(&mut self, now: Instant, index: u32, with_back_off: bool) {
        self.medium.contend(index, now, with_back_off, &mut self.contenders[index as usize]);
        self.schedule_access(self.medium.home(Contender::station_of(index)));
    }

    pub(super) fn schedule_access(&mut self, domain: u32) {
        if let Some(at) = self.medium.next_access(domain, &self.contenders) {
            self.schedule_access_at(domain, at);
        }
    }

    fn schedule_access_at(&mut self, domain: u32, at: Instant) {
        if self.medium.schedule(domain, at) {
            self.events.push(at, domain, Event::Access(domain));
        }
    }

    /// A domain's medium has become idle. If its next access comes before `horizon` and before
    /// every other event of the cell, nothing can change it: the access takes place at once, and
    /// its time is returned. Otherwise the access is scheduled.
    #[inline]
    pub(super) fn access_at_once(&mut self, domain: u32, horizon: Instant) -> Option<Instant> {
        let at = self.medium.next_access(domain, &self.contenders)?;
        if at >= horizon || self.events.next_at().is_some_and(|next| next <= at) {
            self.schedule_access_at(domain, at);
            return None;
        }
        self.access(domain, at);
        Some(at)
    }

    pub(super) fn on_access(&mut self, domain: u32, now: Instant) {
        if !self.medium.unschedule(domain, now) {
            return;
        }
        if self.medium.next_access(domain, &self.contenders) == Some(now) {
            self.access(domain, now);
        } else {
            self.schedule_access(domain);
        }
    }

    /// The contenders whose backoffs end now transmit.
    #[inline(never)]
    fn access(&mut self, domain: u32, now: Instant) {
        self.medium.access(domain, now, &mut self.contenders);
        if self.medium.is_clique(domain) {
            self.settle(domain, now);
        }
        if !self.medium.due().is_empty() {
            self.commit_due();
        }
    }

    /// The contenders whose backoffs have ended are committed to transmit at their times,
    /// regardless of what begins before.
    pub(super) fn commit_due(&mut self) {
        for Due { contender, at } in self.medium.take_due() {
            self.contenders[contender as usize].back_off.set(Stage::Committed);
            self.committed += 1;
            self.events.push(at, contender, Event::Begin(contender));
        }
    }

    /// Begins a contender's exchange as planned.
    #[expect(clippy::inline_always, reason = "every exchange; measured")]
    #[inline(always)]
    pub(super) fn begin_attempt(&mut self, index: u32, now: Instant) -> &mut Contender {
        let contender = &mut self.contenders[index as usize];
        // A station that refuses data frames answers PS-Polls and raw frames nevertheless, since they
        // carry no packet.
        let is_packet = contender.own().is_none();
        let is_refused = is_packet
            && contender.exchange.addressee().is_some_and(|to| self.stations[to as usize].refuses());
        debug_assert!(
            matches!(contender.back_off.stage(), Stage::Counting(_) | Stage::Apart | Stage::Committed),
            "{:?}",
            contender.back_off
        );
        contender.back_off.invalidate();
        contender.back_off.set(Stage::Exchanging);
        contender.attempts_mut().begin(now);
        contender.exchange.begin(now, is_refused);
        self.counters.attempts += u64::from(is_packet);
        if self.times.txop > 0 && contender.exchange.txop() == Txop::None {
            contender.exchange.set_txop(Txop::Until(now.after_nanos(self.times.txop)));
        }
        if self.aggregates && is_packet {
            contender.queue.begin_further(now);
            self.counters.attempts += contender.queue.further() as u64;
        }
        if self.power_save.is_some() {
            self.power_save_begins(index);
        }
        &mut self.contenders[index as usize]
    }
}
