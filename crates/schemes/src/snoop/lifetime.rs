//! The beginning and the end of what is known of a connection.

use std::net::IpAddr;

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Bypass, Context, Report, Slot};
use lasthop_packet::{FlowKey, Instant, Seq};

use super::Snoop;
use super::flow::{Receiver, SnoopFlow};
use super::uplink::Uplink;
use crate::last_hop::LastHop;

impl Snoop {
    /// Makes a flow; `None` if there is no room for it.
    pub(super) fn admit(&mut self, key: FlowKey, seq: Seq, cx: &mut Context<'_>) -> Option<Slot> {
        let most = cx.budget().flows;
        if let Some(idlest) = self.flows.next_to_go(most, cx.now(), |_| true) {
            self.forget(idlest, cx);
        }
        if self.flows.insert(key, SnoopFlow::new(&self.settings, seq), most, cx.now()).is_err() {
            cx.report(Report::of(&AT_BOUND).which("connections"));
            return None;
        }
        let slot = self.flows.find(key)?;
        if self.settings.local_window {
            let at = self.hop_to(key.destination.0, most, cx.now());
            if let Some((flow, hop)) = self.flows.get_mut(slot).zip(self.hops.get_mut(at)) {
                flow.hop = Some(at);
                hop.flows += 1;
            }
        }
        Some(slot)
    }

    /// The hop to a mobile host, made if it is not there; there are no more than `most`.
    fn hop_to(&mut self, host: IpAddr, most: usize, now: Instant) -> Slot {
        self.hops.find(host).unwrap_or_else(|| {
            self.hops.make_room(most);
            self.hops.insert(host, LastHop::new(now), (), now)
        })
    }

    /// Forgets a flow and its cache; what it holds is sent, unless the receiver is silent.
    pub(super) fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        cx.allow_bypass(Bypass { flow: key, limits: None });
        let Some(slot) = self.flows.find(key) else { return };
        if self.flows.get(slot).is_some_and(|flow| flow.receiver == Receiver::Answers) {
            self.flush(slot, cx);
        } else {
            self.give_up_held(slot, cx);
        }
        let Some(flow) = self.flows.remove(key) else { return };
        self.octets -= flow.charged;
        let Some((at, hop)) = flow.hop.and_then(|at| Some((at, self.hops.get_mut(at)?))) else { return };
        hop.in_flight -= flow.in_flight();
        hop.flows -= 1;
        if hop.flows == 0 {
            self.hops.remove(at);
            self.hops.release_memory();
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
