//! What the sender learns about the receiver's state: all but the holes that are being repaired
//! here.
//!
//! The acknowledgment number always passes unchanged and at once. Only reports of data above a hole
//! are withheld, and an ACK without other information. So the sender never receives an
//! acknowledgment of data that the receiver does not have.

use lasthop_agent::counter::{DUPLICATE_ACK, DUPLICATE_ACKS_SUPPRESSED};
use lasthop_agent::{Context, Report, Verdict};
use lasthop_packet::{Packet, SackBlocks};

use super::Today;
use super::acknowledgments::AckSummary;
use crate::snoop::flow::SnoopFlow;
use crate::snoop::settings::Settings;

impl SnoopFlow<Today> {
    /// Removes reports of a hole that is repaired here from an ACK. An ACK without other
    /// information is dropped.
    pub(super) fn rewrite_ack(
        &self,
        packet: &mut Packet,
        summary: &AckSummary,
        settings: &Settings,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let Some(tcp) = packet.tcp().filter(|_| settings.withholding) else { return Verdict::Forward };
        let (scoreboard, now) = (&self.recovery.scoreboard, cx.now());
        let mut suppress = || {
            cx.report(Report::new(&DUPLICATE_ACKS_SUPPRESSED).at(tcp.ack));
            Verdict::Drop(&DUPLICATE_ACK)
        };
        let blocks = tcp.options.sack;
        // A signature would not match the edited ACK.
        let is_understood = summary.understood && tcp.options.unknown.is_none();
        if !is_understood || (blocks.is_empty() && !summary.duplicate) {
            return Verdict::Forward;
        }
        // The sender's own timer includes the hop's round-trip time, too.
        let longest = settings.longest_withholding.saturating_add(self.rtt.smoothed().saturating_mul(2));
        let hole = scoreboard.first_own_hole(now, longest);
        if blocks.is_empty() {
            // A receiver without SACK: a duplicate ACK indicates the hole at its number.
            let is_ours = !scoreboard.sack_seen && hole == Some(tcp.ack);
            return if is_ours { suppress() } else { Verdict::Forward };
        }
        let mut reported = SackBlocks::NONE;
        let (duplicate, rest) = tcp.sack_reports();
        if let Some((left, right)) = duplicate
            && !scoreboard.is_our_copy(left, right)
        {
            reported.push(left, right);
        }
        for (left, right) in rest {
            match hole {
                Some(hole) if !left.before(hole) => {}
                Some(hole) => reported.push(*left, right.earlier(hole)),
                None => reported.push(*left, *right),
            }
        }
        if reported == blocks {
            return Verdict::Forward;
        }
        // If the first hole of all is the sender's, its duplicate ACKs count.
        let carries_nothing = hole == Some(tcp.ack) || rest.is_empty();
        if reported.is_empty() && summary.duplicate && carries_nothing {
            return suppress();
        }
        if let Some(tcp) = packet.tcp_mut() {
            tcp.options.sack = reported;
        }
        Verdict::Forward
    }
}
