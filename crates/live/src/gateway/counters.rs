//! What the engine counts.

use lasthop_agent::{DropReason, Verdict};
use serde::Serialize;

use super::rule::RuleCounters;
use crate::frame::Untouched;

/// What the engine counted since it was made. Frames unless it says otherwise; a super-packet counts once.
///
/// Nothing is lost between the lines: `received` is the sum of `passed` and what the agents saw, and what they saw the sum of what
/// they forwarded, dropped and absorbed. A test holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Came in by a port.
    pub received: u64,
    /// Octets of those, link headers included.
    pub received_octets: u64,
    /// Of those, went out again in the same octets without an agent seeing them, by reason.
    pub passed: Passed,
    /// Copies of frames that went on in the kernel without asking, as their agents let them. No other count has these.
    pub copies: u64,
    /// Packets that an agent made and that nobody knows where to send: their connection is forgotten.
    pub unaddressed: u64,
    /// Packets that an agent made too large for IP.
    pub too_large: u64,
    /// Connections seen.
    pub connections: u64,
    /// Connections forgotten because they were idle.
    pub expired: u64,
    /// Connections forgotten to make room for others.
    pub evicted: u64,
    /// Connections set aside because only one direction passes here.
    pub aside_one_way: u64,
    /// Connections set aside because their sender does not slow down on loss.
    pub aside_unresponsive: u64,
    /// Connections set aside by the control socket.
    pub aside_asked: u64,
}

/// Why frames passed without an agent seeing them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// No IP packet, a kind of packet that no agent understands, a damaged one, or a checksum or segmentation in an odd place.
    pub not_understood: u64,
    /// A checksum was wrong.
    pub wrong_checksum: u64,
    /// UDP or ICMP.
    pub not_tcp: u64,
    /// No rule wants it.
    pub unwanted: u64,
    /// The table was full of connections in use.
    pub table_full: u64,
    /// Its connection was set aside.
    pub aside: u64,
    /// The gateway was told to drain, and passes everything on.
    pub drained: u64,
    /// Only one direction of its connection was seen so far.
    pub one_way: u64,
    /// Its rule's agent has panicked, now or too often before.
    pub broken_agent: u64,
}

impl Passed {
    /// All of them.
    pub const fn sum(&self) -> u64 {
        let Self {
            not_understood,
            wrong_checksum,
            not_tcp,
            unwanted,
            table_full,
            aside,
            drained,
            one_way,
            broken_agent,
        } = self;
        *not_understood
            + *wrong_checksum
            + *not_tcp
            + *unwanted
            + *table_full
            + *aside
            + *drained
            + *one_way
            + *broken_agent
    }

    pub(super) const fn count(&mut self, why: &Untouched) {
        match why {
            Untouched::WrongChecksum => self.wrong_checksum += 1,
            Untouched::NotIp | Untouched::Malformed(_) | Untouched::Opaque | Untouched::OddOffload => {
                self.not_understood += 1;
            }
        }
    }
}

impl RuleCounters {
    pub(super) const fn count_verdict(&mut self, verdict: Verdict) {
        self.seen += 1;
        match verdict {
            Verdict::Forward => self.forwarded += 1,
            Verdict::Drop(DropReason::DuplicateAck) => self.dropped_duplicate_ack += 1,
            Verdict::Drop(DropReason::Full) => self.dropped_full += 1,
            Verdict::Drop(DropReason::Acknowledged) => self.dropped_acknowledged += 1,
            Verdict::Absorb => self.absorbed += 1,
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            shown: self.shown + other.shown,
            seen: self.seen + other.seen,
            forwarded: self.forwarded + other.forwarded,
            dropped_duplicate_ack: self.dropped_duplicate_ack + other.dropped_duplicate_ack,
            dropped_full: self.dropped_full + other.dropped_full,
            dropped_acknowledged: self.dropped_acknowledged + other.dropped_acknowledged,
            dropped_held: self.dropped_held + other.dropped_held,
            absorbed: self.absorbed + other.absorbed,
            sent: self.sent + other.sent,
            local_retransmits: self.local_retransmits + other.local_retransmits,
            duplicate_acks_suppressed: self.duplicate_acks_suppressed + other.duplicate_acks_suppressed,
            acks_generated: self.acks_generated + other.acks_generated,
            acks_suppressed: self.acks_suppressed + other.acks_suppressed,
            acknowledged_and_lost: self.acknowledged_and_lost + other.acknowledged_and_lost,
            control_messages: self.control_messages + other.control_messages,
            at_bound: self.at_bound + other.at_bound,
            panics: self.panics + other.panics,
        }
    }
}
