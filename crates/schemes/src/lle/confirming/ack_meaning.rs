//! What the receiver's own ACKs say of data that was acknowledged on its behalf.

use lasthop_packet::{Instant, Packet, TcpFlags};

use super::Confirming;
use crate::lle::receiver::Receiver;
use crate::lle::settings::{PiggybackedAcks, Settings};

/// What a packet of the receiver's means for the sender.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lle) enum AckMeaning {
    /// It goes on as it is.
    Pass,
    /// It goes on with what was acknowledged, and the window from there.
    Restate,
    /// It goes on without its ACK.
    ClearAck,
    /// The sender knows it.
    Known,
    /// It goes on as it is; and the receiver lacks what was acknowledged: this segment of ours
    /// repairs it, if there is one.
    Missing(Option<Box<Packet>>),
}

/// What an ACK is like.
#[derive(Clone, Copy, Debug)]
pub(in crate::lle) struct AckKind {
    /// Nothing but an ACK: no data, no SYN or FIN.
    pub(in crate::lle) is_bare: bool,
    /// Its window is another than before.
    pub(in crate::lle) is_window_news: bool,
    /// It says nothing but that, and the agent that let it pass says so.
    pub(in crate::lle) is_evidence: bool,
}

/// Duplicate ACKs without SACK blocks that prove a loss (RFC 5681, section 3.2); what FAILURE sends
/// (section 3.2.3 of the paper).
pub(in crate::lle) const DUPLICATES: u32 = 3;

/// ACKs in a row, each of which says no more than that the copy before it has arrived, after which what
/// follows is taken for lost as well. One may have been under way when the copy was sent, as after a
/// spurious time-out (RFC 5682); in a full cell ACKs wait for seconds.
const RUN_IS_LOST: u32 = 2;

impl Confirming {
    /// The receiver acknowledges something.
    pub(in crate::lle) fn on_heard(
        &mut self,
        packet: &Packet,
        receiver: &Receiver,
        manner: AckKind,
        settings: &Settings,
        now: Instant,
    ) -> AckMeaning {
        let Some(tcp) = packet.tcp().filter(|tcp| tcp.flags.has(TcpFlags::ACK)) else {
            return AckMeaning::Pass;
        };
        let ack = tcp.ack;
        let told = self.begin(ack);
        if ack.after(told.sent) {
            if !settings.join_unscaled {
                return AckMeaning::Pass;
            }
            // What it acknowledges went another way.
            told.sent = ack;
        }
        let advances = ack.after(told.proven);
        if advances {
            told.proven = ack;
            told.fated = told.fated.later(ack);
            (self.duplicates, self.repairs) = (0, 0);
            let is_only_the_copy = self.copied_to.take() == Some(ack);
            self.only_copies = if is_only_the_copy { self.only_copies.saturating_add(1) } else { 0 };
            (self.advanced_at, self.silent_since) = (now, now);
            self.kept.forget_acknowledged(ack);
        }
        let Some(told) = &mut self.told else { return AckMeaning::Pass };
        if ack.after(told.acknowledged) {
            told.acknowledged = ack;
            told.edge = told.edge.later(receiver.edge.unwrap_or(ack));
            told.confirmed = self.above.absorb(told.confirmed.later(ack));
            self.asked_for = self.asked_for.filter(|hole| !told.confirmed.after(*hole));
            if !told.confirmed.after(ack) {
                self.delaying.on_acknowledged();
            }
            return AckMeaning::Pass;
        }
        let told = *told;
        let is_behind = ack.before(told.acknowledged);
        if tcp.flags.has(TcpFlags::SYN) {
            return AckMeaning::Pass;
        }
        if !manner.is_bare {
            let was_said = self.said.is_some_and(|said| !ack.after(said));
            return match settings.piggybacked_acks {
                PiggybackedAcks::Clear if was_said => AckMeaning::ClearAck,
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
        if manner.is_evidence {
            let is_short_of_window = receiver.edge.is_some_and(|edge| edge.after(told.edge))
                && told.edge.offset_from(told.sent) < (receiver.window / 2).cast_signed();
            let is_told_another = !settings.keep_until_proven && manner.is_window_news;
            return if is_short_of_window || is_told_another {
                AckMeaning::Restate
            } else {
                AckMeaning::Known
            };
        }
        if is_behind && tcp.options.sack.is_empty() && (advances || manner.is_window_news) {
            return AckMeaning::Restate;
        }
        if advances || manner.is_window_news || !is_behind {
            return AckMeaning::Pass;
        }
        self.on_complaint(packet, settings, now)
    }

    /// The receiver repeats an ACK of less than was acknowledged on its behalf.
    fn on_complaint(&mut self, packet: &Packet, settings: &Settings, now: Instant) -> AckMeaning {
        let (Some(tcp), Some(told)) = (packet.tcp(), self.told) else { return AckMeaning::Pass };
        if self.filled_at.is_some_and(|at| now.since(at) < settings.evidence_timeout) {
            return AckMeaning::Pass;
        }
        // Without SACK blocks they may be answers to what the sender repeats, and newer data is on
        // its way behind that.
        if now.since(self.advanced_at) >= settings.evidence_timeout {
            self.duplicates += 1;
        }
        let has_more = tcp.options.sack.as_slice().iter().any(|(left, _)| left.after(tcp.ack));
        if tcp.ack != told.proven || !(has_more || self.duplicates >= DUPLICATES) {
            return AckMeaning::Pass;
        }
        if !settings.keep_until_proven {
            // Nobody has it any more, if it is not just under way behind the complaint. Once for
            // each loss.
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

    /// The receiver lacks the segment that it would acknowledge next, which is kept.
    fn missing(&mut self, now: Instant) -> Option<AckMeaning> {
        let proven = self.told?.proven;
        self.kept.first_mut().filter(|kept| !kept.seq.after(proven))?;
        self.send_first_again(now).map(|copy| AckMeaning::Missing(Some(Box::new(copy))))
    }
}
