//! The effects of time on pairs: their timers, sleep and waking, and the end of idle pairs.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Context, FlowTable, Report, Slot};
use lasthop_packet::{FlowKey, Instant};

use super::account::Counted;
use super::sleep::{Entry, SavedPair};
use super::table::Splits;
use super::windows::Windows;
use crate::last_hop::LastHop;

impl Splits {
    /// When a timer is next due.
    pub fn next_timer(&self) -> Option<Instant> {
        let idle = self.pairs.idle_since().map(|since| since + self.settings.idle_timeout);
        self.pairs.next_timer().into_iter().chain(idle).min()
    }

    /// Runs all timers that are due.
    pub fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.limit_notifier();
        while let Some(key) = self.pairs.pop_timer(cx.now()) {
            self.on_timer(key, cx);
        }
        while let Some((last_used, key)) = self.pairs.idlest()
            && last_used + self.settings.idle_timeout <= cx.now()
        {
            if self.obligation(key).is_free() {
                self.forget(key, cx);
            } else {
                self.pairs.touch(key, cx.now());
                self.probe_idle(key, cx);
            }
        }
    }

    fn on_timer(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        if pair.is_quiet() {
            self.put_to_sleep(key, cx);
            return;
        }
        pair.on_deadline(cx.now());
        pair.probe_ends(cx);
        self.work(key, cx);
    }

    /// Probes the ends of a pair in its own numbers, which cannot continue without it: the pair
    /// stays for as long as they answer. A pair in the ends' numbers that owes something has
    /// timers.
    fn probe_idle(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.wake(key, cx);
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        if !pair.keeps_numbers() {
            pair.inquiry.begin(cx.now());
            pair.probe_ends(cx);
            self.work(key, cx);
        }
    }

    /// Puts an idle pair to sleep. That does not count as use of the pair.
    fn put_to_sleep(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let hop = self.windows.of(key).map(LastHop::estimate);
        let Some(entry) = self.pairs.peek_mut(key) else { return };
        let Some(pair) = entry.awake_mut() else { return };
        let saved = SavedPair::new(pair, hop, cx.now());
        let mut awake = std::mem::replace(entry, Entry::Asleep(Box::new(saved)));
        self.account.change(Counted::default(), entry.counted());
        self.leave(key, &mut awake, cx);
    }

    /// Wakes a pair, if there is memory for it.
    pub(super) fn wake(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(Entry::Asleep(saved)) = self.pairs.peek(key) else { return };
        let octets = self.min_pair + Windows::octets_of_one();
        if let Some(bound) = cx.budget().room(0, self.taken() - saved.footprint()).lacks_in_all(octets) {
            cx.report(Report::new(&AT_BOUND).which(bound));
            return;
        }
        let Some(saved) = self.save(key, cx) else { return };
        let hop = saved.hop;
        // The state was saved from a pair here, so it is valid.
        let Ok(pair) = saved.wake(key, self.legs(), cx.now()) else { return };
        let limit = self.limit_with_one_more(cx);
        if self.insert(key, pair, limit, cx) {
            self.resume(key, hop, cx);
        }
    }

    /// The limit on connections, for a pair that has just made room for itself, even if the budget
    /// has shrunk since.
    fn limit_with_one_more(&self, cx: &Context<'_>) -> usize {
        cx.budget().flows.max(self.pairs.len() + 1)
    }
}

/// Sets the timer of a pair to its next deadline. A timer that will fire too early is left as it
/// is.
pub(super) fn follow_timer(pairs: &mut FlowTable<Entry>, slot: Slot) {
    let Some(pair) = pairs.get(slot).and_then(Entry::awake) else { return };
    match pair.deadline() {
        None => pairs.clear_timer_at(slot),
        Some(due) if pairs.timer_at(slot).is_none_or(|running| running > due.at) => {
            pairs.set_timer_at(slot, due.at);
        }
        Some(_) => {}
    }
}
