//! Excludes the time of repairs from the round trip that the sender measures: the echo in an ACK
//! becomes the time at which the segment would have been sent without its wait here.

use lasthop_agent::{Agent as _, Context, Side, Slot, Verdict};
use lasthop_packet::{FlowKey, Instant, Packet, Seq, TcpFlags};

use super::Wtcp;
use super::flow::{Retransmitted, WtcpFlow};
use crate::snoop::flow::SnoopFlow;
use crate::snoop::today::Today;

/// The state that an ACK is about to clear.
#[derive(Clone, Copy, Debug)]
struct Before {
    acknowledged: Seq,
    /// When the segment that the ACK is for was sent, and whether it was sent more than once.
    departure: (Instant, bool),
    is_outage: bool,
}

impl Wtcp {
    /// Processes a packet from the radio side and returns the verdict on it.
    pub(super) fn on_radio(&mut self, packet: &mut Packet, key: FlowKey, cx: &mut Context<'_>) -> Verdict {
        let before = self.state_before(packet, key);
        let verdict = self.local.on_packet(packet, Side::Radio, cx);
        if let Some(slot) = self.follow(key, cx.budget(), cx.now()) {
            self.hide_repair(packet, (key, slot), before, cx.now());
        }
        verdict
    }

    /// The state of the segment that the mobile host acknowledges next, whose TSval it echoes (RFC
    /// 7323, section 4.3), also in a delayed ACK.
    fn state_before(&self, packet: &Packet, key: FlowKey) -> Option<Before> {
        let local = self.local.flow(key)?;
        let acknowledged = local.acknowledged()?;
        packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK) && tcp.ack.after(acknowledged))?;
        let departure = local.last_departure(acknowledged)?;
        Some(Before { acknowledged, departure, is_outage: local.silence().is_some() })
    }

    /// Sets the echo in an ACK to the sender's clock at the time when the segment would have been
    /// sent.
    fn hide_repair(
        &mut self,
        packet: &mut Packet,
        (key, slot): (FlowKey, Slot),
        before: Option<Before>,
        now: Instant,
    ) {
        let Some(flow) = self.flows.get_mut(slot) else { return };
        flow.last_packet = Some(now);
        let (Some(before), Some(local)) = (before, self.local.flow(key)) else { return };
        if before.is_outage && local.acknowledged() != Some(before.acknowledged) {
            flow.outage_ended = Some(now);
        }
        // At most the hop's minimum round trip ago: an earlier copy may have arrived.
        let (left, is_repair) = before.departure;
        let latest = now.as_nanos().saturating_sub(local.min_round_trip().as_nanos() as u64);
        let left = left.min(Instant::from_nanos(latest));
        let is_known = packet.tcp().is_some_and(|tcp| tcp.options.unknown.is_none());
        let echo =
            packet.tcp().and_then(|tcp| tcp.options.timestamps).map(|timestamps| Seq(timestamps.echo_reply));
        if let Some(echo) = echo.filter(|_| is_known)
            && let Some(later) = flow.echo_without_wait(echo, left, is_repair, self.settings.hidden_time)
            && let Some(timestamps) = packet.tcp_mut().and_then(|tcp| tcp.options.timestamps.as_mut())
        {
            timestamps.echo_reply = later.0;
        }
        let is_over = |again: &Retransmitted| {
            local.acknowledged().is_some_and(|acknowledged| !acknowledged.before(again.until))
        };
        flow.retransmitted = flow.retransmitted.filter(|again| !is_over(again));
    }
}

impl WtcpFlow {
    /// Updates the sender's clock.
    pub(super) fn update_clock(&mut self, packet: &Packet, now: Instant) {
        if let Some(timestamps) = packet.tcp().and_then(|tcp| tcp.options.timestamps) {
            self.clock.record(Seq(timestamps.value), now);
        }
    }

    /// Records a retransmission by the sender.
    pub(super) fn record_retransmission(&mut self, packet: &Packet, local: &SnoopFlow<Today>) {
        let Some(tcp) = packet.tcp() else { return };
        let (until, acknowledged) = (local.arrived(), local.acknowledged());
        let is_again = packet.segment_len() > 0
            && tcp.seq.before(until)
            && acknowledged.is_none_or(|ack| !tcp.seq.before(ack));
        if let Some(timestamps) = tcp.options.timestamps.filter(|_| is_again) {
            self.retransmitted.get_or_insert(Retransmitted { tsval: Seq(timestamps.value), until });
        }
    }
}
