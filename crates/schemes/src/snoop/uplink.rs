//! Data from the mobile host: the base station reports losses on the hop to it at once (the paper,
//! "Data transfer from a mobile host"; D. Kliazovich, dissertation, University of Trento 2006,
//! section 2.4.1).
//!
//! The base station records the holes in the data from the hop, and caches nothing. For a hole that
//! more than `reordering` segments have overtaken it sends a negative acknowledgment: a copy of the
//! receiver's last ACK, with an option that lists holes (`nack`). The mobile host's TCP retransmits
//! them at once, without waiting for duplicate ACKs from the remote host and without reducing its
//! window (`sender`). While a hole persists, it is reported again with data that arrives two round
//! trips over the hop later.
//!
//! *A hole ends* when it is filled or acknowledged, at the end of the connection, or at a SYN or
//! RST.
//!
//! *Why no SACK blocks.* In the paper the base station sends selective acknowledgments. It would
//! acknowledge data for the receiver that may still be lost on the wired path, and unmodified
//! senders would suffer: see [`crate::eln`]. The option reports only what the base station knows.
//! Senders without Snoop's extension ignore it (RFC 9293, section 3.1, MUST-6): to them it is a
//! duplicate ACK without SACK blocks, which counts if SACK is not in use.
//!
//! Congestion stays a signal: losses while the hop's queue is full or does not drain are not
//! reported.

mod nack;
mod sender;
#[cfg(test)]
mod tests;

use std::time::Duration;

use lasthop_agent::counter::{AT_BOUND, CONTROL_MESSAGES};
use lasthop_agent::{Context, FlowTable, Report, Scope, Side};
use lasthop_hop::upload::holes::{Hole, Holes, Signs};
use lasthop_hop::upload::hop_delay::HopDelay;
use lasthop_packet::{FlowKey, Instant, Packet, Payload, SackBlocks, Seq, TcpFlags};

use super::settings::Settings;

pub use nack::Nack;
pub use sender::NackSender;

/// Queueing delay that never counts as congestion.
const FLOOR: Duration = Duration::from_millis(2);
/// The minimum time between two reports of a hole.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The state of uploads.
#[derive(Debug)]
pub(super) struct Uplink {
    flows: FlowTable<Upload>,
    reordering: u32,
    /// Octets that another owner has taken from the same memory budget.
    others: usize,
}

/// The upload of one connection. Its state has constant size.
#[derive(Debug)]
struct Upload {
    holes: Holes,
    delay: HopDelay,
    /// The last ACK sent to the mobile host, without its data.
    last_ack: Option<Packet>,
    /// Octets of the longest segment received.
    segment: u32,
    /// The end of the reported holes, and the time of the last report.
    reported: (Seq, Instant),
}

impl Uplink {
    pub(super) fn new(settings: &Settings) -> Self {
        let flows = FlowTable::new(settings.eviction_grace);
        Self { flows, reordering: settings.reordering, others: 0 }
    }

    /// Octets of allocated memory.
    pub(super) fn octets(&self) -> usize {
        self.flows.octets()
    }

    /// Reserves octets that another owner has taken from the same memory budget.
    pub(super) const fn leave_room(&mut self, octets: usize) {
        self.others = octets;
    }

    pub(super) fn forget(&mut self, key: FlowKey) {
        self.flows.remove(key);
    }

    /// Forgets uploads that move to another agent, which starts with the next data.
    pub(super) fn forget_of(&mut self, scope: Scope) {
        for key in scope.connections(&self.flows) {
            self.flows.remove(key);
        }
    }

    /// When the idlest upload was last used.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.flows.idle_since()
    }

    /// The idlest upload, and when it was last used.
    pub(super) fn idlest(&self) -> Option<(Instant, FlowKey)> {
        self.flows.idlest()
    }

    /// Processes a packet of a connection, and reports the holes that it shows to the mobile host.
    pub(super) fn on_packet(&mut self, packet: &Packet, key: FlowKey, from: Side, cx: &mut Context<'_>) {
        let Some(tcp) = packet.tcp() else { return };
        if from == Side::Core {
            if let Some(upload) = self.flows.touch(key, cx.now()) {
                upload.on_ack(packet, cx.now());
            }
            return;
        }
        if packet.segment_len() == 0 || tcp.options.unknown.is_some() {
            return;
        }
        let is_far = |upload: &Upload| tcp.seq.is_out_of_reach(upload.holes.next());
        if self.flows.peek(key).is_none_or(is_far) && !self.admit(key, tcp.seq, cx) {
            return;
        }
        let Some(upload) = self.flows.touch(key, cx.now()) else { return };
        upload.on_data(packet, cx.now());
        if let Some(nack) = upload.due(self.reordering, cx.now()) {
            cx.report(Report::new(&CONTROL_MESSAGES).at(tcp.seq).which("NACK"));
            cx.send(Side::Radio, nack);
        }
    }

    fn admit(&mut self, key: FlowKey, seq: Seq, cx: &mut Context<'_>) -> bool {
        let max_flows = self.flows.max_flows(cx.budget(), self.others + self.octets(), 0);
        if let Some(idlest) = self.flows.eviction_candidate(max_flows, cx.now(), |_| true) {
            self.flows.remove(idlest);
        }
        let upload = Upload {
            holes: Holes::new(seq),
            delay: HopDelay::new(FLOOR),
            last_ack: None,
            segment: 1,
            reported: (seq, cx.now()),
        };
        let admitted = self.flows.insert(key, upload, max_flows, cx.now()).is_ok();
        if !admitted {
            cx.report(Report::new(&AT_BOUND).which(cx.budget().bound_at(max_flows)));
        }
        admitted
    }
}

impl Upload {
    fn on_ack(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else { return };
        if let Some(timestamps) = tcp.options.timestamps {
            self.delay.on_ack(Seq(timestamps.value), now);
        }
        let is_old =
            self.last_ack.as_ref().and_then(Packet::tcp).is_some_and(|last| tcp.ack.before(last.ack));
        if tcp.options.unknown.is_some() || is_old || tcp.ack.after(self.holes.next()) {
            return;
        }
        self.holes.on_ack(tcp.ack);
        let mut tcp = tcp.clone();
        // Without the packet's data, the ACK has the next sequence number.
        tcp.seq += packet.segment_len();
        (tcp.flags, tcp.options.sack) = (TcpFlags::ACK, SackBlocks::NONE);
        self.last_ack = Some(Packet::tcp_segment(*packet.ip(), tcp, Payload::EMPTY));
    }

    fn on_data(&mut self, packet: &Packet, now: Instant) {
        let Some(tcp) = packet.tcp() else { return };
        self.segment = self.segment.max(packet.segment_payload());
        if let Some(timestamps) = tcp.options.timestamps {
            let is_loss = tcp.seq.after(self.holes.next());
            self.delay.on_data(Seq(timestamps.value), Seq(timestamps.echo_reply), is_loss, now);
        }
        let is_acknowledged =
            |ack: &Packet| ack.tcp().is_some_and(|last| !(tcp.seq + packet.segment_len()).after(last.ack));
        if !self.last_ack.as_ref().is_some_and(is_acknowledged) {
            let timestamp = tcp.options.timestamps.map(|timestamps| Seq(timestamps.value));
            let signs = Signs { timestamp, is_air: !self.delay.is_congested(now) };
            self.holes.on_data(tcp.seq, tcp.seq + packet.segment_len(), signs);
        }
    }

    /// A report of the holes that are due, if any.
    fn due(&mut self, reordering: u32, now: Instant) -> Option<Packet> {
        let (reported, at) = self.reported;
        let again = self.delay.round_trip().map_or(MIN_INTERVAL, |min| MIN_INTERVAL.max(2 * min));
        let from = if now.since(at) >= again { self.holes.as_slice().first()?.seq } else { reported };
        // A super-packet counts as the segments that it contains; a short segment counts as one.
        let overtaken = reordering.saturating_mul(self.segment);
        let next = self.holes.next();
        let is_due = |hole: &&Hole| is_overtaken(hole, from, next, overtaken);
        let mut nack = Nack::default();
        for hole in self.holes.missing().filter(is_due) {
            nack.push(hole.seq, hole.end);
        }
        let end = nack.end()?;
        let mut ack = self.last_ack.clone()?;
        ack.tcp_mut()?.options.unknown = Some(nack.to_option());
        self.reported = (reported.later(end), now);
        Some(ack)
    }
}

/// Whether a hole is at or above a number, is a loss on the hop, and was overtaken by more octets
/// than reordering explains.
fn is_overtaken(hole: &Hole, from: Seq, next: Seq, overtaken: u32) -> bool {
    hole.is_air && !hole.seq.before(from) && next - hole.end > overtaken
}
