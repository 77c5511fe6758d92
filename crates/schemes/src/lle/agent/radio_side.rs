//! Packets from the radio side: the receiver's packets, and the actions on them.

use lasthop_agent::counter::{ACKNOWLEDGED, ACKNOWLEDGED_AND_LOST, ACKS_SUPPRESSED};
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side, Verdict};
use lasthop_hop::handshake::opening;
use lasthop_packet::{FlowKey, Packet, Seq, TcpFlags};

use super::Lle;
use crate::lle::confirming::{AckKind, AckMeaning};
use crate::lle::control;
use crate::lle::flow::LleFlow;
use crate::lle::mark::Mark;
use crate::lle::receiving::{is_bare, is_plain};
use crate::lle::shares::{on_wire_in_full, restate};

/// The meaning of a packet of the receiver, by the part that processes it.
enum Outcome {
    Hop(AckMeaning),
    Control(Box<control::AckOutcome>),
}

impl Lle {
    pub(super) fn on_radio(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let now = cx.now();
        let mark = Mark::take(packet);
        let Some(tcp) = packet.tcp() else { return Verdict::Forward };
        let (is_syn, is_reset) = (tcp.flags.has(TcpFlags::SYN), tcp.flags.has(TcpFlags::RST));
        if is_reset {
            self.forget(key, cx);
            return Verdict::Forward;
        }
        if mark.has(Mark::OFFER) {
            self.record_neighbor(true, cx);
        } else if is_syn {
            // The current host at the other end has no agent.
            self.record_neighbor(false, cx);
        }
        if let Some(opening) = opening(packet) {
            self.begin(key, Some(opening), cx);
        }
        if !self.find_or_begin(packet, key, cx) {
            return Verdict::Forward;
        }
        let (is_last_hop, receives) = (self.is_last_hop(key.destination.0, cx), self.receives());
        let meaning = self.with(key, cx.budget(), |flow, settings, shares| {
            if flow.is_late_copy(packet) || flow.is_stray(packet) {
                return Outcome::Hop(AckMeaning::Pass);
            }
            if is_syn {
                flow.on_syn(packet, Side::Radio);
            }
            let is_window_news = flow.receiver.on_packet(packet, flow.radio_shift().unwrap_or(0));
            flow.has_peer = mark.has(Mark::ACCEPT);
            if receives {
                flow.receiving.on_segment(packet, mark);
            }
            if let Some(control) = &mut flow.control {
                if is_syn && let Some(shift) = flow.radio_scale.with(flow.core_scale) {
                    control::align_segments(packet, shift);
                }
                // An ACK with ECE does not count as bare: the local TCP must receive it.
                let is_bare = packet.segment_len() == 0
                    && packet.tcp().is_some_and(|tcp| !tcp.flags.has(TcpFlags::ECE));
                return Outcome::Control(Box::new(control.on_ack(packet, is_bare, now)));
            }
            if !is_last_hop {
                return Outcome::Hop(AckMeaning::Pass);
            }
            let carries_nothing_else = is_plain(packet) || (!settings.hole_acks && is_bare(packet));
            let is_evidence = mark.has(Mark::EVIDENCE) && carries_nothing_else;
            let kind = AckKind { is_bare: packet.segment_len() == 0, is_window_news, is_evidence };
            let meaning = flow.confirming.on_ack(packet, &flow.receiver, kind, settings, now);
            if flow.is_left && !matches!(meaning, AckMeaning::Missing(_)) {
                return Outcome::Hop(AckMeaning::Pass);
            }
            if meaning == AckMeaning::Restate {
                restate(packet, flow, settings, shares);
            }
            Outcome::Hop(meaning)
        });
        match meaning {
            Some(Outcome::Hop(meaning)) => self.apply_meaning(packet, key, meaning, cx),
            Some(Outcome::Control(outcome)) => self.apply_control(packet, key, *outcome, cx),
            None => Verdict::Forward,
        }
    }

    fn apply_meaning(
        &self,
        packet: &mut Packet,
        key: FlowKey,
        meaning: AckMeaning,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let ack = packet.tcp().map_or(Seq(0), |tcp| tcp.ack);
        match meaning {
            AckMeaning::Pass | AckMeaning::Restate => {}
            AckMeaning::ClearAck => {
                if let Some(tcp) = packet.tcp_mut() {
                    tcp.flags = TcpFlags(tcp.flags.0 & !TcpFlags::ACK.0);
                }
            }
            AckMeaning::Known => {
                cx.report(Report::new(&ACKS_SUPPRESSED).at(ack));
                return Verdict::Drop(&ACKNOWLEDGED);
            }
            AckMeaning::Missing(Some(copy)) => {
                self.send_again(key, *copy, Cause::DuplicateAck, cx);
            }
            AckMeaning::Missing(None) => cx.report(Report::new(&ACKNOWLEDGED_AND_LOST).at(ack)),
        }
        Verdict::Forward
    }

    fn apply_control(
        &mut self,
        packet: &mut Packet,
        key: FlowKey,
        outcome: control::AckOutcome,
        cx: &mut Context<'_>,
    ) -> Verdict {
        if let Some(copy) = outcome.repair {
            self.send_again(key, copy, Cause::DuplicateAck, cx);
        }
        let shift = self.flows.peek(key).and_then(LleFlow::radio_shift).unwrap_or(0);
        let known = packet.tcp().map(|tcp| tcp.ack);
        let verdict = match outcome.fate {
            control::Fate::Pass => Verdict::Forward,
            control::Fate::Restate(ack, window) => {
                if let Some(tcp) = packet.tcp_mut() {
                    (tcp.ack, tcp.window) = (ack, on_wire_in_full(window, shift));
                }
                Verdict::Forward
            }
            control::Fate::Known => {
                if let Some(ack) = known {
                    cx.report(Report::new(&ACKS_SUPPRESSED).at(ack));
                }
                Verdict::Drop(&ACKNOWLEDGED)
            }
        };
        if let Some(resume) = outcome.resume {
            self.send_local_ack(key, resume, cx);
        }
        verdict
    }
}
