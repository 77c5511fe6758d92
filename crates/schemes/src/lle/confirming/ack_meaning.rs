//! The meaning of the receiver's own ACKs for data that was acknowledged in its name.

use lasthop_packet::{Instant, Packet, TcpFlags};

use super::Confirming;
use crate::lle::receiver::Receiver;
use crate::lle::settings::{PiggybackedAcks, Settings};

/// The meaning of a packet of the receiver for the sender.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lle) enum AckMeaning {
    /// It passes unchanged.
    Pass,
    /// It passes with the number acknowledged here, and the window from there.
    Restate,
    /// It passes without its ACK.
    ClearAck,
    /// It is dropped: the sender has that number already.
    Known,
    /// It passes unchanged, and the receiver lacks acknowledged data: this copy repairs it, if
    /// there is one.
    Missing(Option<Box<Packet>>),
}

/// The properties of an ACK.
#[derive(Clone, Copy, Debug)]
pub(in crate::lle) struct AckKind {
    /// It is only an ACK: no data, no SYN or FIN.
    pub(in crate::lle) is_bare: bool,
    /// Its window differs from the last.
    pub(in crate::lle) is_window_news: bool,
    /// It only acknowledges new data, according to the agent that let it pass.
    pub(in crate::lle) is_evidence: bool,
}

/// Duplicate ACKs without SACK blocks that prove a loss (RFC 5681, section 3.2); the number that
/// FAILURE triggers (section 3.2.3 of the paper).
pub(in crate::lle) const DUPLICATES: u32 = 3;

/// Consecutive ACKs, each only of the copy before it, after which the following data counts as lost
/// as well. One may have been in flight when the copy was sent, as after a spurious time-out (RFC
/// 5682); in a saturated cell ACKs wait for seconds.
const RUN_IS_LOST: u32 = 2;

impl Confirming {
    /// Processes an ACK of the receiver.
    pub(in crate::lle) fn on_ack(
        &mut self,
        packet: &Packet,
        receiver: &Receiver,
        kind: AckKind,
        settings: &Settings,
        now: Instant,
    ) -> AckMeaning {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else {
            return AckMeaning::Pass;
        };
        let ack = tcp.ack;
        let progress = self.begin(ack);
        if ack.after(progress.sent) {
            if !settings.join_unscaled {
                return AckMeaning::Pass;
            }
            // The acknowledged data took another path.
            progress.sent = ack;
        }
        let advances = ack.after(progress.proven);
        if advances {
            progress.proven = ack;
            progress.fated = progress.fated.later(ack);
            (self.duplicates, self.repairs) = (0, 0);
            let is_only_the_copy = self.copied_to.take() == Some(ack);
            self.only_copies = if is_only_the_copy { self.only_copies.saturating_add(1) } else { 0 };
            (self.advanced_at, self.silent_since) = (now, now);
            self.kept.forget_acknowledged(ack);
        }
        let Some(progress) = &mut self.progress else { return AckMeaning::Pass };
        if ack.after(progress.acknowledged) {
            progress.acknowledged = ack;
            progress.edge = progress.edge.later(receiver.edge.unwrap_or(ack));
            progress.confirmed = self.above.absorb(progress.confirmed.later(ack));
            self.requested = self.requested.filter(|hole| !progress.confirmed.after(*hole));
            if !progress.confirmed.after(ack) {
                self.delaying.on_acknowledged();
            }
            return AckMeaning::Pass;
        }
        let progress = *progress;
        let is_behind = ack.before(progress.acknowledged);
        if tcp.flags.has(TcpFlags::SYN) {
            return AckMeaning::Pass;
        }
        if !kind.is_bare {
            let was_generated = self.generated.is_some_and(|generated| !ack.after(generated));
            return match settings.piggybacked_acks {
                PiggybackedAcks::Clear if was_generated => AckMeaning::ClearAck,
                PiggybackedAcks::Raise if is_behind => AckMeaning::Restate,
                _ => AckMeaning::Pass,
            };
        }
        if advances
            && self.only_copies >= RUN_IS_LOST
            && let Some(missing) = self.missing(now)
        {
            return missing;
        }
        if kind.is_evidence {
            let is_short_of_window = receiver.edge.is_some_and(|edge| edge.after(progress.edge))
                && progress.edge.offset_from(progress.sent) < (receiver.window / 2).cast_signed();
            let has_another_window = !settings.keep_until_proven && kind.is_window_news;
            return if is_short_of_window || has_another_window {
                AckMeaning::Restate
            } else {
                AckMeaning::Known
            };
        }
        if is_behind && tcp.options.sack.is_empty() && (advances || kind.is_window_news) {
            return AckMeaning::Restate;
        }
        if advances || kind.is_window_news || !is_behind {
            return AckMeaning::Pass;
        }
        self.on_complaint(packet, settings, now)
    }

    /// Processes a repeated ACK of less than was acknowledged in the receiver's name.
    fn on_complaint(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckMeaning {
        let (Some(tcp), Some(progress)) = (packet.tcp(), self.progress) else { return AckMeaning::Pass };
        if self.filled_at.is_some_and(|at| now.since(at) < settings.evidence_timeout) {
            return AckMeaning::Pass;
        }
        // Without SACK blocks they may answer retransmissions by the sender, and newer data is in
        // flight after those.
        if now.since(self.advanced_at) >= settings.evidence_timeout {
            self.duplicates += 1;
        }
        let has_more = tcp.options.sack.as_slice().iter().any(|(left, _)| left.after(tcp.ack));
        if tcp.ack != progress.proven || !(has_more || self.duplicates >= DUPLICATES) {
            return AckMeaning::Pass;
        }
        if !settings.keep_until_proven {
            // No node has the data any more, unless it was in flight when that ACK was sent. Once
            // for each loss.
            if self.complaint.is_none_or(|(of, _)| of != tcp.ack) {
                self.complaint = Some((tcp.ack, Some(now)));
            }
            let Some((_, Some(since))) = self.complaint else { return AckMeaning::Pass };
            if now.since(since) < settings.evidence_timeout {
                return AckMeaning::Pass;
            }
            self.complaint = Some((tcp.ack, None));
            return AckMeaning::Missing(None);
        }
        let first = self.kept.first_mut();
        let is_under_way = first.is_some_and(|kept| {
            kept.notes.repaired.is_some_and(|at| now.since(at) < settings.evidence_timeout)
        });
        if is_under_way {
            return AckMeaning::Pass;
        }
        self.missing(now).unwrap_or(AckMeaning::Pass)
    }

    /// Sends a copy of the segment that the receiver misses, if it is kept.
    fn missing(&mut self, now: Instant) -> Option<AckMeaning> {
        let proven = self.progress?.proven;
        self.kept.first_mut().filter(|kept| !kept.seq.after(proven))?;
        self.send_first_again(now).map(|copy| AckMeaning::Missing(Some(Box::new(copy))))
    }
}
