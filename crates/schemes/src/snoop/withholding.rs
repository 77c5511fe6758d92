//! What the sender hears of the receiver's state: nothing of the holes that are being repaired here.
//!
//! An ACK passes with its number as it is, always and at once. Only reports of data above a hole are kept back, and an ACK that
//! then says nothing new. So the sender never hears of data that the receiver does not have.

use lasthop_packet::{Instant, Packet, SackBlocks};

use super::flow::Flow;
use super::hearing::{Heard, reports_duplicate_data};
use super::settings::Settings;

/// What becomes of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// It goes on as it came.
    All,
    /// It went through our hands: it tells less.
    Less,
    /// It would tell nothing: it is dropped.
    Nothing,
}

impl Flow {
    /// Takes out of an ACK what would tell the sender of a hole of ours.
    pub fn withhold(&self, packet: &mut Packet, heard: &Heard, settings: &Settings, now: Instant) -> Telling {
        let Some((tcp, board)) = packet.tcp().zip(self.board.as_ref()) else { return Telling::All };
        let blocks = tcp.options.sack;
        if !heard.understood || (blocks.is_empty() && !heard.duplicate) {
            return Telling::All;
        }
        // The sender's own timer knows the hop's round-trip time too.
        let longest = settings.longest_withholding.saturating_add(self.rtt.smoothed().saturating_mul(2));
        let hole = board.first_own_hole(now, longest);
        if blocks.is_empty() {
            // A receiver without SACK: a duplicate ACK speaks of the hole at its number.
            let is_ours = !board.sack_seen && hole == Some(tcp.ack);
            return if is_ours { Telling::Nothing } else { Telling::All };
        }
        let mut told = SackBlocks::NONE;
        let mut rest = blocks.as_slice();
        if reports_duplicate_data(tcp)
            && let [(left, right), others @ ..] = rest
        {
            rest = others;
            if !board.is_our_copy(*left, *right) {
                told.push(*left, *right);
            }
        }
        for (left, right) in rest {
            match hole {
                Some(hole) if !left.before(hole) => {}
                Some(hole) => told.push(*left, right.earlier(hole)),
                None => told.push(*left, *right),
            }
        }
        if told == blocks {
            return Telling::All;
        }
        // Where the first hole of all is the sender's, its duplicate ACKs count.
        let says_nothing = hole == Some(tcp.ack) || rest.is_empty();
        if told.is_empty() && heard.duplicate && says_nothing {
            return Telling::Nothing;
        }
        if let Some(tcp) = packet.tcp_mut() {
            tcp.options.sack = told;
        }
        Telling::Less
    }
}
