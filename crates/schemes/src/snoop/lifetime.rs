//! The beginning and the end of what is known of a connection.

use lasthop_agent::counter::AT_BOUND;
use lasthop_agent::{Bypass, Context, Report};
use lasthop_packet::{FlowKey, Instant, Seq};

use super::Snoop;
use super::flow::SnoopFlow;
use super::uplink::Uplink;
use crate::last_hop::LastHop;

impl Snoop {
    /// Makes a flow; `false` if there is no room for it.
    pub(super) fn admit(&mut self, key: FlowKey, seq: Seq, cx: &mut Context<'_>) -> bool {
        let most = cx.budget().flows;
        if let Some(idlest) = self.flows.next_to_go(most, cx.now(), |_| true) {
            self.forget(idlest, cx);
        }
        let admitted = self.flows.insert(key, SnoopFlow::new(&self.settings, seq), most, cx.now()).is_ok();
        if !admitted {
            cx.report(Report::of(&AT_BOUND).which("connections"));
        } else if self.settings.local_window {
            self.hops.get_or_insert_with(key.destination.0, || LastHop::new(cx.now())).flows += 1;
        }
        admitted
    }

    /// Forgets a flow and its cache; what it holds is sent.
    pub(super) fn forget(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        self.flush(key, cx);
        cx.allow_bypass(Bypass { flow: key, limits: None });
        let Some(flow) = self.flows.remove(key) else { return };
        self.octets -= flow.charged;
        self.count_in_flight(key, flow.in_flight(), 0);
        let host = key.destination.0;
        if let Some(hop) = self.hops.get_mut(&host) {
            hop.flows -= 1;
            if hop.flows == 0 {
                self.hops.remove(&host);
            }
        }
        self.send_held(host, cx);
    }

    /// When the idlest flow is to be forgotten.
    pub(super) fn idle_deadline(&self) -> Option<(Instant, FlowKey)> {
        let upload = self.uplink.as_ref().and_then(Uplink::idlest);
        let idlest = self.flows.idlest().into_iter().chain(upload).min_by_key(|(last_used, _)| *last_used);
        idlest.map(|(last_used, key)| (last_used + self.settings.idle_timeout, key))
    }
}
