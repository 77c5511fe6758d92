//! Packets from the core side: data that may be promised, and ACKs that may be suppressed.

use lasthop_agent::counter::{ACKNOWLEDGED, ACKS_SUPPRESSED, AT_BOUND};
use lasthop_agent::{Context, Report, Side, Verdict};
use lasthop_hop::handshake::opening;
use lasthop_packet::{FlowKey, Packet, TcpFlags};

use super::Lle;
use crate::lle::confirming::Promise;
use crate::lle::mark::Mark;
use crate::lle::receiving::Decision;

impl Lle {
    pub(super) fn on_core(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let now = cx.now();
        if packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::RST)) {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        if let Some(opening) = opening(packet) {
            self.begin(key, Some(opening), cx);
        }
        let is_of_another = self
            .flows
            .peek(key)
            .is_some_and(|flow| flow.is_stray(packet) || flow.confirming.is_of_another(packet));
        if is_of_another || !self.find_or_begin(packet, key, cx) {
            Mark::NONE.put(packet);
            return Verdict::Forward;
        }
        if self.flows.peek(key).is_some_and(|flow| flow.is_left) {
            let _ = self.with(key, cx.budget(), |flow, _, _| flow.confirming.on_plain_data(packet));
            Mark::NONE.put(packet);
            return Verdict::Forward;
        }
        let (is_last_hop, receives) = (self.is_last_hop(key.destination.0, cx), self.receives());
        let (registered, may_owe) = (self.has_registered(cx), cx.may_owe());
        let is_promisable = may_owe && self.place.confirms(packet);
        let decision = self.with(key, cx.budget(), |flow, settings, shares| {
            flow.record_sent(packet);
            let mut mark = Mark::NONE;
            if packet.tcp().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN)) {
                flow.on_syn(packet, Side::Core);
                if receives && (flow.receiving.is_offered() || (registered && opening(packet).is_some())) {
                    flow.receiving.expect_offer();
                    mark = Mark::ACCEPT;
                }
            } else if receives {
                match flow.receiving.on_sent(packet, flow.core_shift(), settings, now) {
                    Decision::Pass(answer) => mark = answer,
                    Decision::KeepBack => return Err(()),
                }
            }
            let mut is_full = false;
            if is_last_hop {
                mark = mark.with(Mark::OFFER);
            }
            if packet.segment_len() == 0 {
                // No data to acknowledge.
            } else if is_last_hop {
                if is_promisable && flow.has_peer && flow.radio_shift().is_some() {
                    let promise = flow.confirming.on_data(packet, &mut flow.receiver, settings, shares.room);
                    is_full = promise == Promise::NoRoom;
                    if promise == Promise::Made {
                        mark = mark.with(Mark::PROMISE);
                    } else {
                        flow.confirming.on_plain_data(packet);
                    }
                } else {
                    flow.confirming.on_plain_data(packet);
                }
            } else if let Some(control) = flow.control.as_mut().filter(|_| may_owe) {
                control.on_data(packet, shares.room, now);
            }
            mark.put(packet);
            Ok(is_full)
        });
        match decision {
            Some(Err(())) => {
                if let Some(tcp) = packet.tcp() {
                    cx.report(Report::new(&ACKS_SUPPRESSED).at(tcp.ack));
                }
                Verdict::Drop(&ACKNOWLEDGED)
            }
            Some(Ok(true)) => {
                cx.report(Report::new(&AT_BOUND).which("kept octets"));
                Verdict::Forward
            }
            _ => Verdict::Forward,
        }
    }
}
