//! The beginning and the end of a flow's state.

use std::net::IpAddr;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Bypass, Context, MEMORY_IN_ALL, Report, Slot};
use lasthop_hop::last_hop::{Hops, LastHop};
use lasthop_packet::{FlowKey, Instant, Seq};

use super::agent::Snoop;
use super::flow::{Receiver, Recovery, SnoopFlow};
use super::uplink::Uplink;

impl<R: Recovery> Snoop<R> {
    /// Creates a flow; `None` if there is no memory for it.
    pub(super) fn admit(&mut self, key: FlowKey, seq: Seq, cx: &mut Context<'_>) -> Option<Slot> {
        let budget = cx.budget();
        let max_flows = self.flows.max_flows(budget, self.octets + self.other_octets, 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.forget(idlest, cx);
        }
        if self.flows.insert(key, SnoopFlow::new(&self.settings, seq), max_flows, cx.now()).is_err() {
            cx.report(Report::new(&AT_BOUND).which(budget.bound_at(max_flows)));
            return None;
        }
        self.charge_tables();
        let hop = self.settings.local_window.then(|| self.hop_to(key.destination.0, cx));
        if hop == Some(None) {
            self.flows.remove(key);
            self.charge_tables();
            cx.report(Report::new(&AT_BOUND).which(MEMORY_IN_ALL));
            return None;
        }
        let slot = self.flows.find(key)?;
        if let Some((at, flow)) = hop.flatten().zip(self.flows.get_mut(slot))
            && let Some(hop) = self.hops.get_mut(at)
        {
            flow.hop = Some(at);
            hop.join();
        }
        Some(slot)
    }

    /// The hop to a mobile host, created if it is new; `None` if there is no memory for it.
    fn hop_to(&mut self, host: IpAddr, cx: &Context<'_>) -> Option<Slot> {
        if let Some(known) = self.hops.find(host) {
            return Some(known);
        }
        let room = cx.budget().room(0, self.octets + self.other_octets).in_all;
        let room = room.checked_sub(LastHop::min_memory())?;
        let max_flows = self.hops.max_within(Hops::MAX_LEN, room);
        if self.hops.len() >= max_flows {
            return None;
        }
        self.hops.make_room(max_flows);
        let at = self.hops.insert(host, LastHop::new(cx.now()), (), cx.now());
        self.charge_tables();
        self.charge_hop(Some(at));
        Some(at)
    }

    /// Forgets a flow and its cache. Its waiting packets are sent, unless the receiver is silent.
    pub(super) fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        cx.allow_bypass(Bypass { flow: key, limits: None });
        let Some(slot) = self.flows.find(key) else { return };
        if self.flows.get(slot).is_some_and(|flow| flow.receiver == Receiver::Answers) {
            self.flush(slot, cx);
        } else {
            self.give_up_held(slot, cx);
        }
        let Some(flow) = self.flows.remove(key) else { return };
        self.octets -= flow.charged();
        self.charge_tables();
        let Some((at, hop)) = flow.hop.and_then(|at| Some((at, self.hops.get_mut(at)?))) else { return };
        if hop.leave(flow.in_flight()) {
            self.other_octets -= hop.memory();
            self.hops.remove(at);
            self.hops.release_memory();
            self.charge_tables();
        }
        self.send_held(Some(at), cx);
    }

    /// When the idlest flow is to be forgotten.
    pub(super) fn idle_deadline(&self) -> Option<Instant> {
        let upload = self.uplink.as_ref().and_then(Uplink::idle_since);
        let since = self.flows.idle_since().into_iter().chain(upload).min();
        since.map(|since| since + self.settings.idle_timeout)
    }

    /// The flow that has been idle longest.
    pub(super) fn idlest(&self) -> Option<FlowKey> {
        let upload = self.uplink.as_ref().and_then(Uplink::idlest);
        let idlest = self.flows.idlest().into_iter().chain(upload).min_by_key(|(last_used, _)| *last_used);
        idlest.map(|(_, key)| key)
    }
}
