//! Moves data that has arrived on one leg to the other, and lets both send.

use lasthop_agent::{Context, Side, Slot};
use lasthop_packet::FlowKey;

use super::lifetime::follow_timer;
use super::sleep::{Entry, SLEEPS_AFTER};
use super::table::Splits;
use super::vcache::Bounds;

impl Splits {
    /// Processes the effects of a change on either leg.
    pub(super) fn work(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        if let Some(slot) = self.pairs.find(key) {
            self.work_at(slot, cx);
        }
    }

    /// The same, for the pair in this slot.
    pub(super) fn work_at(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let (targets, taken) = (self.targets, self.taken());
        let Some(key) = self.pairs.key(slot) else { return };
        let Some(pair) = self.pairs.get_mut(slot).and_then(Entry::awake_mut) else { return };
        let now = cx.now();
        let mut on_hop = u64::from(pair.radio.flight().cwnd);
        let (mut demand, mut from_hop) = (u64::MAX, u64::MAX);
        let is_held_back = self.windows.all_share();
        if let (Some(share), Some(hop)) = (&mut pair.share, self.windows.of_mut(key)) {
            let progress = share.update(&pair.radio, hop, now);
            if progress.delivered + progress.lost > 0 {
                hop.on_progress(progress, key.destination.0, now, &targets);
            }
            on_hop = hop.octets();
            if is_held_back {
                from_hop = hop.octets().max(pair.min_upload_window());
                demand = hop.useful_window(
                    key.destination.0,
                    pair.core.rtt().estimate().map(|(smoothed, _)| smoothed),
                );
            }
        }
        if pair.is_passed_by() {
            pair.hand_over();
            while let Some(packet) = pair.core.poll_transmit(now) {
                if pair.may_send(&packet) {
                    cx.send(Side::Core, packet);
                }
            }
            self.transmit(slot, cx);
            self.update_accounts(slot, cx);
            return;
        }
        let octets = (self.settings.bound as u64).min(cx.budget().octets_per_flow as u64);
        let memory = cx.budget().room(pair.octets(), taken - pair.counted.octets + pair.footprint());
        let bounds = Bounds {
            octets,
            towards_hop: octets.min(demand),
            from_hop,
            memory,
            hop: on_hop,
            // A pair with its own numbers is never free: a closed window would only stall it.
            may_grow: cx.may_owe() || !pair.keeps_numbers(),
        };
        pair.pass_on(bounds, now);
        pair.update_ack_withholding(now);
        while let Some(packet) = pair.core.poll_transmit(now) {
            pair.liveness.on_sent(&packet, Side::Core, now);
            cx.send(Side::Core, packet);
        }
        self.transmit(slot, cx);
        if let Some(pair) = self.pairs.get_mut(slot).and_then(Entry::awake_mut) {
            pair.probe_waited_for(Side::Core, cx);
            pair.probe_waited_for(Side::Radio, cx);
        }
        self.update_accounts(slot, cx);
    }

    /// Updates the accounts, and removes a pair that is over.
    fn update_accounts(&mut self, slot: Slot, cx: &mut Context<'_>) {
        let Some(pair) = self.pairs.get_mut(slot).and_then(Entry::awake_mut) else { return };
        let counted = pair.count();
        self.account.change(std::mem::replace(&mut pair.counted, counted), counted);
        if pair.is_over() || (pair.is_passed_by() && pair.has_served()) {
            if let Some(key) = self.pairs.key(slot) {
                self.forget(key, cx);
            }
            return;
        }
        let is_quiet = pair.is_quiet();
        follow_timer(&mut self.pairs, slot);
        if is_quiet {
            self.pairs.set_timer_at(slot, cx.now() + SLEEPS_AFTER);
        }
    }
}
