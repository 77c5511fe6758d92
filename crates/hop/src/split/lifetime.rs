//! What time does to pairs: their timers, sleep and waking, and the end of those that are idle.

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

    /// Does what is due.
    pub fn on_deadline(&mut self, cx: &mut Context<'_>) {
        self.leave_room_to_notifier();
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
                self.ask_ends(key, cx);
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
        pair.inquire(cx);
        self.work(key, cx);
    }

    /// The ends of a pair in its own numbers cannot do without it, so it stays for as long as they are
    /// there. One in theirs that owes something has timers.
    fn ask_ends(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.wake(key, cx);
        let Some(pair) = self.pairs.peek_mut(key).and_then(Entry::awake_mut) else { return };
        if !pair.keeps_numbers() {
            pair.inquiry.begin(cx.now());
            pair.inquire(cx);
            self.work(key, cx);
        }
    }

    /// A pair that nothing has happened on for a while. That is no use of it.
    fn put_to_sleep(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let hop = self.windows.of(key).map(LastHop::estimate);
        let Some(entry) = self.pairs.peek_mut(key) else { return };
        let Some(pair) = entry.awake_mut() else { return };
        let saved = SavedPair::of(pair, hop, cx.now());
        let mut awake = std::mem::replace(entry, Entry::Asleep(Box::new(saved)));
        self.account.change(Counted::default(), entry.counted());
        self.leave(key, &mut awake, cx);
    }

    /// The end of that, if there is memory for it.
    pub(super) fn wake(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let Some(Entry::Asleep(saved)) = self.pairs.peek(key) else { return };
        let octets = self.least_pair + Windows::octets_of_one();
        if let Some(bound) = cx.budget().room(0, self.taken() - saved.footprint()).lacks_in_all(octets) {
            cx.report(Report::of(&AT_BOUND).which(bound));
            return;
        }
        let Some(saved) = self.save(key, cx) else { return };
        let hop = saved.hop;
        // It was a pair's own: it makes sense.
        let Ok(pair) = saved.wake(key, self.legs(), cx.now()) else { return };
        let most = self.most_with_one_more(cx);
        if self.insert(key, pair, most, cx) {
            self.resume(key, hop, cx);
        }
    }

    /// The bound on connections for one that has just made room for itself, even if the budget has
    /// shrunk since.
    fn most_with_one_more(&self, cx: &Context<'_>) -> usize {
        cx.budget().flows.max(self.pairs.len() + 1)
    }
}

/// Has the timer of a pair run to when it is next due. One that runs and is due too early is left
/// alone.
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
