//! Connections whose sender needs nobody: left alone.
//!
//! A loss on the hop is repaired here in a round trip over the hop, and by the sender in that and a
//! round trip over the path beyond. Where the path beyond is the shorter one, as from a server beside
//! the access point, little is gained; and if losses leave the sender a window that is large enough for
//! its share of the hop, nothing. Then each packet that is brought here costs only time.

use lasthop_agent::{Context, Slot};

use super::Snoop;
use super::flow::SnoopFlow;

impl Snoop {
    /// Leaves a connection alone that has just lost something, if its sender does as well without us.
    /// A world may go on showing it all the same.
    pub(super) fn leave_to_sender(&mut self, slot: Slot, cx: &mut Context<'_>) {
        if !self.flows.get(slot).is_some_and(|flow| self.needs_nobody(flow)) {
            return;
        }
        self.flush(slot, cx);
        let (Some(key), Some(flow)) = (self.flows.key(slot), self.flows.get_mut(slot)) else { return };
        if let Some(hop) = flow.hop.and_then(|at| self.hops.get_mut(at)) {
            hop.in_flight -= flow.in_flight();
        }
        let SnoopFlow { charged, limits, hop, .. } = *flow;
        *flow = SnoopFlow::new(&self.settings, flow.highest);
        (flow.is_left_alone, flow.charged, flow.limits, flow.hop) = (true, charged, limits, hop);
        flow.charge(&mut self.octets, cx.budget());
        self.flows.clear_timer_at(slot);
        cx.leave_alone(key);
    }

    fn needs_nobody(&self, flow: &SnoopFlow) -> bool {
        let (Some(hop), true) = (flow.hop.and_then(|at| self.hops.get(at)), self.settings.steps_aside) else {
            return false;
        };
        let over_hop = flow.rtt.smoothed();
        flow.beyond.least().is_some_and(|beyond| {
            beyond <= over_hop && hop.leaves_senders_their_share(beyond.saturating_add(over_hop))
        })
    }
}
