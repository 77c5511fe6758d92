//! What an acknowledgment from the radio side brings about: repairs, edits, accounts.

use lasthop_agent::counter::{DUPLICATE_ACK, DUPLICATE_ACKS_SUPPRESSED, LOCAL_RETRANSMITS};
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side, Slot, Verdict};
use lasthop_hop::last_hop::Progress;
use lasthop_packet::Packet;

use super::ack_rewriting::AckRewrite;
use super::duplicates::AckEffect;
use super::flow::SnoopFlow;
use super::{Settings, Snoop};

impl Snoop {
    /// Decides what becomes of a packet from the radio side, by the acknowledgment in it.
    pub(super) fn on_radio(&mut self, packet: &mut Packet, slot: Slot, cx: &mut Context<'_>) -> Verdict {
        let now = cx.now();
        let Some(flow) = self.flows.touch_at(slot, now).filter(|flow| !flow.is_left_to_sender) else {
            return Verdict::Forward;
        };
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        let (before, was_in_flight) = (flow.octets(), flow.in_flight());
        let (verdict, progress) = if flow.board.is_some() {
            Self::on_radio_by_sack(&self.settings, flow, packet, cx)
        } else {
            let effect = flow.on_ack(packet, &self.settings, now);
            let delivered = (before - flow.octets()) as u64;
            let progress = Progress { delivered, sent: flow.take_sample(), ..Progress::default() };
            return self.on_radio_by_duplicates(packet, slot, effect, (was_in_flight, progress), cx);
        };
        self.settle(slot, was_in_flight, progress, cx);
        verdict
    }

    /// Repairs what an ACK shows to be lost, and edits the ACK.
    fn on_radio_by_sack(
        settings: &Settings,
        flow: &mut SnoopFlow,
        packet: &mut Packet,
        cx: &mut Context<'_>,
    ) -> (Verdict, Progress) {
        let now = cx.now();
        let summary = flow.process_ack(packet, settings, now);
        Self::repair_losses(settings, flow, Cause::DuplicateAck, cx);
        let rewrite = if settings.withholding {
            flow.rewrite_ack(packet, &summary, settings, now)
        } else {
            AckRewrite::Unchanged
        };
        let verdict = match (rewrite, packet.tcp()) {
            (AckRewrite::Suppressed, Some(tcp)) => {
                cx.report(Report::of(&DUPLICATE_ACKS_SUPPRESSED).at(tcp.ack));
                Verdict::Drop(&DUPLICATE_ACK)
            }
            _ => Verdict::Forward,
        };
        (verdict, summary.progress)
    }

    /// Sends copies of all that is known to be lost and can be repaired.
    pub(super) fn repair_losses(
        settings: &Settings,
        flow: &mut SnoopFlow,
        cause: Cause,
        cx: &mut Context<'_>,
    ) {
        while let Some(copy) = flow.next_repair(settings, cx.now()) {
            if let Some(tcp) = copy.tcp() {
                cx.report(Report::of(&LOCAL_RETRANSMITS).at(tcp.seq).which(cause.name()));
            }
            cx.send(Side::Radio, copy);
        }
    }

    /// Does what snoop.cc does on an ACK.
    fn on_radio_by_duplicates(
        &mut self,
        packet: &Packet,
        slot: Slot,
        effect: AckEffect,
        (was_in_flight, progress): (u64, Progress),
        cx: &mut Context<'_>,
    ) -> Verdict {
        let now = cx.now();
        match effect {
            AckEffect::None => Verdict::Forward,
            AckEffect::Advanced => {
                self.restart_timer(slot, now);
                self.settle(slot, was_in_flight, progress, cx);
                Verdict::Forward
            }
            AckEffect::Same => {
                if self.flows.timer_at(slot).is_none() {
                    self.restart_timer(slot, now);
                }
                Verdict::Forward
            }
            AckEffect::Duplicate { repair, suppress } => {
                if repair && !self.repair(slot, Cause::DuplicateAck, cx) {
                    return Verdict::Forward;
                }
                match packet.tcp().filter(|_| suppress && self.settings.withholding) {
                    Some(tcp) => {
                        cx.report(Report::of(&DUPLICATE_ACKS_SUPPRESSED).at(tcp.ack));
                        Verdict::Drop(&DUPLICATE_ACK)
                    }
                    None => Verdict::Forward,
                }
            }
        }
    }

    /// What follows from an ACK: accounts, the timer, and packets that there is room for now.
    fn settle(&mut self, slot: Slot, was_in_flight: u64, progress: Progress, cx: &mut Context<'_>) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.charge(&mut self.octets, cx.budget().beside(self.beside));
        let (in_flight, is_finished, has_board) =
            (flow.in_flight(), flow.is_finished(), flow.board.is_some());
        let hop = flow.hop;
        if let Some((host, hop)) = hop.and_then(|at| self.hops.key(at).zip(self.hops.get_mut(at))) {
            hop.in_flight = hop.in_flight - was_in_flight + in_flight;
            flow.pace.on_progress(&progress, hop, cx.now());
            hop.on_progress(progress, host, cx.now(), &self.aims);
            self.trust.on_progress(&progress, hop.segment());
        }
        if progress.lost > 0 {
            self.leave_to_sender(slot, was_in_flight, cx);
        }
        match self.flows.key(slot) {
            Some(key) if is_finished => self.forget(key, cx),
            _ if has_board => self.follow_timer(slot),
            _ => {}
        }
        self.follow_line(slot);
        self.send_reserved(slot, cx);
        self.send_held(hop, cx);
    }

    /// Retransmits the first cached packet of a flow and starts its timer anew; `false` if that is
    /// not to be done.
    pub(super) fn repair(&mut self, slot: Slot, cause: Cause, cx: &mut Context<'_>) -> bool {
        let now = cx.now();
        let limit = self.settings.local_retransmissions;
        // Not a use of the flow: else an agent that talks to itself would keep it from being idle.
        let Some(flow) = self.flows.get_mut(slot) else { return false };
        let was_in_flight = flow.in_flight();
        let copy = match cause {
            Cause::DuplicateAck => flow.repair(limit, now),
            Cause::Timer => flow.on_timer(limit, now),
        };
        let in_flight = flow.in_flight();
        self.count_in_flight(slot, was_in_flight, in_flight);
        let Some(copy) = copy else { return false };
        if let Some(tcp) = copy.tcp() {
            cx.report(Report::of(&LOCAL_RETRANSMITS).at(tcp.seq).which(cause.name()));
        }
        cx.send(Side::Radio, copy);
        self.restart_timer(slot, now);
        true
    }
}
