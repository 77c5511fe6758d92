//! The receiver's side: ACKs that need not cross the hop.

mod saved;

use lasthop_packet::{Instant, Packet, Seq, Tcp, TcpFlags};
use serde::{Deserialize, Serialize};

use super::mark::Mark;
use super::settings::Settings;
pub(super) use saved::SavedReceiving;

/// The state of data from the hop, and of the local host's ACKs of it.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    /// Whether the last segment was marked: an agent at the other end is alive, and knows this
    /// connection.
    is_offered: bool,
    /// The highest number that the local host acknowledged.
    acknowledged: Option<Seq>,
    /// All data between an ACK that passed and this number arrived with a promise.
    promised: Option<Seq>,
    /// The end of the data with a promise, above a hole or not.
    promised_last: Option<Seq>,
    /// Whether promised data arrived that the host has not answered yet.
    has_unanswered: bool,
    /// When the host last acknowledged new data.
    advanced_at: Option<Instant>,
    /// The last ACK that passed.
    passed: Option<Passed>,
    /// The last ACK suppressed since one passed; it passes later.
    owed: Option<Packet>,
    /// When `owed` passes.
    owed_until: Option<Instant>,
    /// Whether data arrived without a promise: its ACK passes unconditionally.
    next_passes: bool,
    /// Whether a copy requested the host's own ACK: the next one passes.
    is_requested: bool,
    /// Octets of the largest segment received.
    segment: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Passed {
    ack: Seq,
    /// In octets.
    window: u32,
}

/// The decision on a segment of the host.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// It passes with this mark.
    Pass(Mark),
    /// It is suppressed: the other end of the hop has acknowledged this data already, or will.
    KeepBack,
}

impl Receiving {
    /// Processes a segment from the hop.
    pub(super) fn on_segment(&mut self, packet: &Packet, mark: Mark) {
        self.is_offered = mark.is_some();
        let Some(tcp) = packet.tcp().filter(|_| packet.segment_len() > 0) else { return };
        let (seq, end) = (tcp.seq, tcp.seq + packet.segment_len());
        let payload = packet.payload().len() as u32;
        let segment = packet.segment_size().map_or(payload, |size| u32::from(size.get()));
        self.segment = self.segment.max(segment);
        if !mark.has(Mark::PROMISE) {
            let is_requested = mark.has(Mark::EVIDENCE);
            self.is_requested |= is_requested;
            self.next_passes |= !is_requested;
            return;
        }
        if tcp.flags.has(TcpFlags::SYN) {
            // The ACK of a promised SYN is the third segment of the handshake: no ACK has passed
            // before it.
            (self.acknowledged, self.promised) = (Some(seq), Some(end));
            return;
        }
        self.promised_last = Some(self.promised_last.map_or(end, |to| to.later(end)));
        self.has_unanswered = true;
        // Above a hole the promise does not count: an agent acknowledges without gaps.
        self.promised = self.promised.map(|to| if seq.after(to) { to } else { to.later(end) });
    }

    /// Processes a segment of the host that is not a SYN. `shift` scales its windows; `None` if
    /// that is not known: then all segments pass.
    pub(super) fn on_sent(
        &mut self,
        packet: &Packet,
        shift: Option<u8>,
        settings: &Settings,
        now: Instant,
    ) -> Decision {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else {
            return Decision::Pass(Mark::NONE);
        };
        let accept = if self.is_offered { Mark::ACCEPT } else { Mark::NONE };
        let advances = self.acknowledged.is_none_or(|known| tcp.ack.after(known));
        self.acknowledged = Some(self.acknowledged.map_or(tcp.ack, |known| known.later(tcp.ack)));
        if advances {
            self.advanced_at = Some(now);
        }
        let is_answer = std::mem::take(&mut self.has_unanswered);
        if !advances && is_answer && self.is_of_a_hole(packet, shift, settings, now) {
            let is_on_air = settings.evidence_segments > 0;
            return if is_on_air {
                Decision::Pass(Mark::ACCEPT.with(Mark::EVIDENCE))
            } else {
                Decision::KeepBack
            };
        }
        let carries_nothing_else = advances && is_plain(packet);
        let Some(shift) = shift.filter(|_| carries_nothing_else && self.is_offered) else {
            self.passes(tcp, shift.unwrap_or(0));
            return Decision::Pass(accept);
        };
        let window = u32::from(tcp.window) << shift;
        // For data above a hole without a promise, the next ACK passes anyway.
        let promised = if settings.hole_acks { self.promised } else { self.promised_last.or(self.promised) };
        let is_promised = promised.is_some_and(|to| !tcp.ack.after(to));
        if std::mem::take(&mut self.next_passes) || self.is_news(window) {
            self.passes(tcp, shift);
            return Decision::Pass(accept);
        }
        if std::mem::take(&mut self.is_requested) || !is_promised || self.is_due(tcp.ack, window, settings) {
            self.passes(tcp, shift);
            return Decision::Pass(accept.with(Mark::EVIDENCE));
        }
        if settings.evidence_segments > 0 {
            let mut owed = packet.clone();
            accept.with(Mark::EVIDENCE).put(&mut owed);
            self.owed = Some(owed);
            self.owed_until.get_or_insert(now + settings.evidence_interval);
        }
        Decision::KeepBack
    }

    /// Whether the answer to promised data repeats an ACK because of a hole, and must not cross the
    /// hop. If the repetition lasts longer than the sender's timer, it crosses: the hole is of data
    /// that the link layer delivered.
    fn is_of_a_hole(
        &mut self,
        packet: &Packet,
        shift: Option<u8>,
        settings: &Settings,
        now: Instant,
    ) -> bool {
        let (Some(tcp), Some(shift)) = (packet.tcp(), shift) else { return false };
        let is_repeated_for = now.since(*self.advanced_at.get_or_insert(now));
        !settings.hole_acks
            && self.is_offered
            && !self.next_passes
            && !self.is_requested
            && is_bare(packet)
            && !self.is_news(u32::from(tcp.window) << shift)
            && is_repeated_for < settings.evidence_timeout
    }

    /// Whether a window is news for the other end: it is exhausted, or was, or has been halved or
    /// doubled.
    fn is_news(&self, window: u32) -> bool {
        let Some(passed) = self.passed else { return false };
        let min = self.segment.max(1);
        window < min || passed.window < min || window < passed.window / 2 || window / 2 > passed.window
    }

    /// Whether an ACK of the receiver's own is due: data must not be kept too long, nor the window
    /// run out.
    fn is_due(&self, ack: Seq, window: u32, settings: &Settings) -> bool {
        let Some(passed) = self.passed.filter(|_| settings.evidence_segments > 0) else { return false };
        let max = settings.evidence_segments.saturating_mul(self.segment.max(1)).min(window / 4);
        ack.offset_from(passed.ack) >= max.cast_signed().max(1)
    }

    /// Records an ACK that passes: the other end knows its number and window.
    fn passes(&mut self, tcp: &Tcp, shift: u8) {
        self.passed = Some(Passed { ack: tcp.ack, window: u32::from(tcp.window) << shift });
        self.promised = Some(self.promised.map_or(tcp.ack, |to| to.later(tcp.ack)));
        self.promised_last = self.promised_last.map(|to| to.later(tcp.ack));
        (self.owed, self.owed_until) = (None, None);
    }

    /// Whether an agent at the other end is alive, and knows this connection.
    pub(super) const fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// Assumes that an agent at the other end was there before this connection.
    pub(super) const fn expect_offer(&mut self) {
        self.is_offered = true;
    }

    /// When the suppressed ACK has to pass.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.owed_until
    }

    /// Whether a suppressed ACK is still owed.
    pub(super) const fn owes(&self) -> bool {
        self.owed.is_some()
    }

    /// Takes the suppressed ACK, which passes now.
    pub(super) fn take_owed(&mut self, shift: u8) -> Option<Packet> {
        let owed = self.owed.take()?;
        if let Some(tcp) = owed.tcp() {
            self.passes(tcp, shift);
        }
        Some(owed)
    }
}

/// Whether a segment is only an ACK: no data, no FIN, no ECE or CWR, no SACK blocks, no unknown
/// option.
pub(super) fn is_plain(packet: &Packet) -> bool {
    is_bare(packet) && packet.tcp().is_some_and(|tcp| tcp.options.sack.is_empty())
}

/// Like [`is_plain`], with or without SACK blocks.
pub(super) fn is_bare(packet: &Packet) -> bool {
    let Some(tcp) = packet.tcp() else { return false };
    let flags = tcp.flags.0 & !TcpFlags::PSH.0;
    flags == TcpFlags::ACK.0 && packet.payload().is_empty() && tcp.options.unknown.is_none()
}
