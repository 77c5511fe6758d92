//! Connections whose sender does as well without us: left to it.
//!
//! A loss on the hop is repaired here in a round trip over the hop, and by the sender in that and a
//! round trip over the path beyond. Where the path beyond is the shorter one, as from a server beside
//! the access point, local repair gains little; where losses also leave the sender a window that is
//! large enough for what it has on its way, it gains nothing, and costs time for each packet.

use lasthop_agent::{Context, Slot};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// Leaves a connection alone that has just lost something, if its sender does as well without us.
    /// A world may go on showing it all the same.
    pub(super) fn leave_to_sender(&mut self, slot: Slot, was_in_flight: u64, cx: &mut Context<'_>) {
        if !self.flows.get(slot).is_some_and(|flow| self.does_as_well_alone(flow, was_in_flight)) {
            return;
        }
        self.flush(slot, cx);
        let (Some(key), Some(flow)) = (self.flows.key(slot), self.flows.get_mut(slot)) else { return };
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.recount(flow.in_flight(), 0);
        }
        flow.leave_to_sender(&self.settings);
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        self.flows.clear_timer_at(slot);
        cx.leave_alone(key);
    }

    /// Whether the sender of a flow with this much on the hop does as well alone. Its window is that, and
    /// in proportion what is on the path beyond.
    fn does_as_well_alone(&self, flow: &SnoopFlow<R>, in_flight: u64) -> bool {
        let steps_aside = self.settings.steps_aside && self.uplink.is_none();
        let (Some(hop), true) = (flow.hop.and_then(|at| self.hops.get(at)), steps_aside) else {
            return false;
        };
        let over_hop = flow.rtt.smoothed();
        flow.beyond.least().is_some_and(|beyond| {
            let longer = 1.0 + beyond.as_secs_f64() / over_hop.as_secs_f64().max(f64::MIN_POSITIVE);
            beyond <= over_hop && hop.leaves_twice(in_flight as f64 * longer)
        })
    }
}
