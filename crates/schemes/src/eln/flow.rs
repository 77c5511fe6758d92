//! The state of one connection's upload.

use lasthop_hop::upload::holes::{Arrival, Holes, Signs};
use lasthop_hop::upload::hop_delay::HopDelay;
use lasthop_packet::{Ecn, Instant, Packet, Seq, Tcp, TcpFlags};

use super::recovery::{Recovery, Repairs};
use super::settings::Settings;

/// The state of one connection's upload, of constant size.
#[derive(Debug)]
pub(super) struct ElnFlow {
    pub(super) holes: Holes,
    /// The highest acknowledgment sent to the mobile host.
    pub(super) acknowledged: Option<Seq>,
    pub(super) recovery: Recovery,
    pub(super) report: Option<PendingReport>,
    pub(super) delay: HopDelay,
}

/// An old timestamp that ACKs echo until the mobile host has received one of them: a single one may
/// be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingReport {
    /// The echoed timestamp.
    pub(super) echo: Seq,
    /// The first such ACK's own timestamp.
    since: Seq,
}

/// The meaning of an ACK for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckEffect {
    /// Nothing to report.
    None,
    /// It acknowledges more: what it covers of the repairs.
    New(Repairs),
    /// A duplicate for a segment that was lost on the hop.
    Missing,
}

impl ElnFlow {
    pub(super) fn new(seq: Seq, settings: &Settings) -> Self {
        Self {
            holes: Holes::new(seq),
            acknowledged: None,
            recovery: Recovery::default(),
            report: None,
            delay: HopDelay::new(settings.congestion_floor),
        }
    }

    /// Whether data belongs to another connection on the same ports.
    pub(super) fn is_another(&self, seq: Seq) -> bool {
        seq.is_out_of_reach(self.holes.next())
    }

    /// Processes data from the mobile host.
    pub(super) fn on_data(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) {
        if let Some(timestamps) = tcp.options.timestamps {
            let is_loss = tcp.seq.after(self.holes.next());
            self.delay.on_data(Seq(timestamps.value), Seq(timestamps.echo_reply), is_loss, now);
        }
        self.on_echo(tcp);
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        if self.acknowledged.is_some_and(|ack| !end.after(ack)) {
            // The receiver has it, and reports the duplicate itself.
            return;
        }
        let is_marked = packet.ip().ecn() == Ecn::Ce;
        let is_air = !is_marked && !self.delay.is_congested(now);
        let timestamp = tcp.options.timestamps.map(|timestamps| Seq(timestamps.value));
        let arrival = self.holes.on_data(seq, end, Signs { timestamp, is_air });
        if arrival == Arrival::Repair {
            self.recovery.on_repair(self.holes.next());
        }
        if arrival == Arrival::Again || is_marked {
            self.recovery.on_loss_elsewhere(self.holes.next());
        }
    }

    /// Ends a report once a packet's echo shows that the mobile host has received it.
    pub(super) fn on_echo(&mut self, tcp: &Tcp) {
        if let Some(timestamps) = tcp.options.timestamps {
            self.report = self.report.filter(|report| Seq(timestamps.echo_reply).before(report.since));
        }
    }

    /// Processes an acknowledgment from the receiver.
    pub(super) fn on_ack(&mut self, packet: &Packet, tcp: &Tcp, now: Instant) -> AckEffect {
        if let Some(timestamps) = tcp.options.timestamps {
            self.delay.on_ack(Seq(timestamps.value), now);
        }
        let ack = tcp.ack;
        if ack.after(self.holes.next()) || self.acknowledged.is_some_and(|last| ack.before(last)) {
            // Of data that never passed here, or late.
            return AckEffect::None;
        }
        if tcp.flags.has(TcpFlags::ECE) {
            self.recovery.on_loss_elsewhere(self.holes.next());
        }
        if self.acknowledged == Some(ack) {
            // A hole that was retransmitted since is not news for the sender.
            let is_missing = self.holes.missing().any(|hole| hole.is_air && ack.within(hole.seq, hole.end));
            return if is_missing && packet.payload().is_empty() {
                AckEffect::Missing
            } else {
                AckEffect::None
            };
        }
        self.acknowledged = Some(ack);
        AckEffect::New(self.recovery.judge(ack, &self.holes, now))
    }

    /// Starts a report: this and later ACKs echo an old timestamp; `false` without timestamps.
    pub(super) fn start_report(&mut self, echo: Seq, tcp: &Tcp) -> bool {
        let since = tcp.options.timestamps.map(|timestamps| Seq(timestamps.value));
        self.report = since.map(|since| PendingReport { echo, since });
        since.is_some()
    }
}
