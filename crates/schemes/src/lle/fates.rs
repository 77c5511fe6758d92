//! Processing of the link layer's reports and of timers.

use lasthop_agent::counter::ACKS_GENERATED;
use lasthop_agent::report::Cause;
use lasthop_agent::{Context, Report, Side};
use lasthop_packet::{FlowKey, Instant, Packet};

use super::agent::Lle;
use super::confirming::{DUPLICATES, Delivery, Loss, loss};
use super::shares::acknowledgment;

impl Lle {
    /// Processes SUCCESS.
    pub(super) fn on_delivered(
        &mut self,
        packet: &Packet,
        key: FlowKey,
        is_promised: bool,
        cx: &mut Context<'_>,
    ) {
        let now = cx.now();
        self.on_fate(packet, key);
        let for_local = self.with(key, cx.budget(), |flow, settings, shares| {
            if let Some(control) = &mut flow.control {
                return control.on_delivered(packet);
            }
            if !is_promised || flow.is_left {
                return None;
            }
            let latest = match flow.confirming.on_delivered(packet, settings, now) {
                Delivery::InOrder => None,
                Delivery::AboveHole(latest) if flow.is_selective(settings) => Some(latest),
                Delivery::None | Delivery::AboveHole(_) => return None,
            };
            acknowledge(acknowledgment(flow, key, (settings, shares), latest, now)?, cx);
            None
        });
        if let Some(local) = for_local.flatten() {
            self.send_local_ack(key, local, cx);
        }
    }

    /// Processes FAILURE.
    pub(super) fn on_given_up(
        &mut self,
        packet: &Packet,
        key: FlowKey,
        is_promised: bool,
        cx: &mut Context<'_>,
    ) {
        let now = cx.now();
        self.on_fate(packet, key);
        let done = self.with(key, cx.budget(), |flow, settings, shares| {
            if !is_promised || flow.is_left || !settings.loss_questions || flow.control.is_some() {
                return None;
            }
            match flow.confirming.on_given_up(packet, now) {
                Loss::Ignored => None,
                Loss::Repaired(copy) => Some(Err(copy)),
                Loss::Requested => {
                    // An ACK with a new number is not a duplicate.
                    let number = DUPLICATES + u32::from(flow.confirming.lags());
                    Some(Ok((number, acknowledgment(flow, key, (settings, shares), None, now)?)))
                }
            }
        });
        match done.flatten() {
            Some(Ok((number, ack))) => {
                for _ in 0..number {
                    acknowledge(ack.clone(), cx);
                }
            }
            Some(Err(copy)) => self.send_again(key, *copy, Cause::Timer, cx),
            None => {}
        }
    }

    /// Processes the expiry of a flow's timer.
    pub(super) fn on_timer(&mut self, key: FlowKey, cx: &mut Context<'_>) {
        let now = cx.now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut lost = None;
        let sent = self.with(key, cx.budget(), |flow, settings, shares| {
            let mut sent = [const { None }; 3];
            if is_due(flow.receiving.deadline()) {
                sent[0] = flow.receiving.take_owed(flow.core_shift().unwrap_or(0));
            }
            if is_due(flow.confirming.ack_due())
                && flow.confirming.stop_delaying()
                && let Some(ack) = acknowledgment(flow, key, (settings, shares), None, now)
            {
                acknowledge(ack, cx);
            }
            if is_due(flow.confirming.deadline(settings)) {
                sent[1] = flow.confirming.repair(settings, now);
                if sent[1].is_none() {
                    lost = flow.confirming.give_up();
                    flow.has_peer = false;
                }
            }
            if let Some(control) = flow.control.as_mut().filter(|control| is_due(control.deadline())) {
                sent[2] = control.on_timeout(now);
            }
            sent
        });
        let [owed, copies @ ..] = sent.unwrap_or([const { None }; 3]);
        if let Some(owed) = owed {
            cx.send(Side::Radio, owed);
        }
        for copy in copies.into_iter().flatten() {
            self.send_again(key, copy, Cause::Timer, cx);
        }
        if let Some(lost) = lost {
            cx.report(loss(lost));
        }
    }
}

/// Sends an ACK in the receiver's name.
fn acknowledge(ack: Packet, cx: &mut Context<'_>) {
    if let Some(tcp) = ack.tcp() {
        cx.report(Report::new(&ACKS_GENERATED).at(tcp.ack));
    }
    cx.send(Side::Core, ack);
}
