//! Connections whose sender does as well without the agent, and which are left to it.
//!
//! The agent repairs a loss on the hop in a round trip over the hop, and the sender in that plus a
//! round trip over the core path. If the core path is the shorter one, as from a server next to the
//! access point, local repair gains little; if losses also leave the sender a window that is large
//! enough for its data in flight, it gains nothing, and costs time for each packet.

use lasthop_agent::{Context, Slot};

use super::agent::Snoop;
use super::flow::{Recovery, SnoopFlow};

impl<R: Recovery> Snoop<R> {
    /// Leaves a connection that has just had a loss to its sender, if that does as well without the
    /// agent. A world may still show its packets.
    pub(super) fn leave_to_sender(&mut self, slot: Slot, was_in_flight: u64, cx: &mut Context<'_>) {
        if !self.flows.get(slot).is_some_and(|flow| self.does_as_well_alone(flow, was_in_flight)) {
            return;
        }
        self.flush(slot, cx);
        let (Some(key), Some(flow)) = (self.flows.key(slot), self.flows.get_mut(slot)) else { return };
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.change_in_flight(flow.in_flight(), 0);
        }
        flow.leave_to_sender(&self.settings);
        flow.charge(&mut self.octets, cx.budget().beside(self.other_octets));
        self.flows.clear_timer_at(slot);
        cx.leave_alone(key);
    }

    /// Whether the sender of a flow with `in_flight` octets on the hop does as well without the
    /// agent. Its window is that, plus the data on the core path in proportion.
    fn does_as_well_alone(&self, flow: &SnoopFlow<R>, in_flight: u64) -> bool {
        let steps_aside = self.settings.steps_aside && self.uplink.is_none();
        let (Some(hop), true) = (flow.hop.and_then(|at| self.hops.get(at)), steps_aside) else {
            return false;
        };
        let over_hop = flow.rtt.smoothed();
        flow.core_path.min().is_some_and(|core_path| {
            let longer = 1.0 + core_path.as_secs_f64() / over_hop.as_secs_f64().max(f64::MIN_POSITIVE);
            core_path <= over_hop && hop.allows_twice(in_flight as f64 * longer)
        })
    }
}
