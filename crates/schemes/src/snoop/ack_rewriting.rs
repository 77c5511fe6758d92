//! What the sender hears of the receiver's state: nothing of the holes that are being repaired
//! here.
//!
//! An ACK passes with its number as it is, always and at once. Only reports of data above a hole
//! are kept back, and an ACK that then says nothing new. So the sender never hears of data that the
//! receiver does not have.

use lasthop_packet::{Instant, Packet, SackBlocks};

use super::ack_processing::AckSummary;
use super::flow::SnoopFlow;
use super::settings::Settings;

/// What becomes of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRewrite {
    /// It goes on as it came.
    Unchanged,
    /// SACK blocks about holes that are repaired here were taken out.
    Stripped,
    /// It would then report nothing: it is dropped.
    Suppressed,
}

impl SnoopFlow {
    /// Takes out of an ACK what reports a hole that is repaired here.
    pub fn rewrite_ack(
        &self,
        packet: &mut Packet,
        summary: &AckSummary,
        settings: &Settings,
        now: Instant,
    ) -> AckRewrite {
        let Some((tcp, board)) = packet.tcp().zip(self.board.as_ref()) else { return AckRewrite::Unchanged };
        let blocks = tcp.options.sack;
        // A signature would not fit what is left of it.
        let is_understood = summary.understood && tcp.options.unknown.is_none();
        if !is_understood || (blocks.is_empty() && !summary.duplicate) {
            return AckRewrite::Unchanged;
        }
        // The sender's own timer knows the hop's round-trip time too.
        let longest = settings.longest_withholding.saturating_add(self.rtt.smoothed().saturating_mul(2));
        let hole = board.first_own_hole(now, longest);
        if blocks.is_empty() {
            // A receiver without SACK: a duplicate ACK speaks of the hole at its number.
            let is_ours = !board.sack_seen && hole == Some(tcp.ack);
            return if is_ours { AckRewrite::Suppressed } else { AckRewrite::Unchanged };
        }
        let mut told = SackBlocks::NONE;
        let (duplicate, rest) = tcp.sack_reports();
        if let Some((left, right)) = duplicate
            && !board.is_our_copy(left, right)
        {
            told.push(left, right);
        }
        for (left, right) in rest {
            match hole {
                Some(hole) if !left.before(hole) => {}
                Some(hole) => told.push(*left, right.earlier(hole)),
                None => told.push(*left, *right),
            }
        }
        if told == blocks {
            return AckRewrite::Unchanged;
        }
        // Where the first hole of all is the sender's, its duplicate ACKs count.
        let says_nothing = hole == Some(tcp.ack) || rest.is_empty();
        if told.is_empty() && summary.duplicate && says_nothing {
            return AckRewrite::Suppressed;
        }
        if let Some(tcp) = packet.tcp_mut() {
            tcp.options.sack = told;
        }
        AckRewrite::Stripped
    }
}
