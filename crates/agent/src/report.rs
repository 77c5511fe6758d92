//! Telemetry: typed, counted and written by the world, never by the agent.

use lasthop_packet::Seq;

use crate::agent::DropReason;

/// What an agent did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// It sent a segment again from its own cache.
    LocalRetransmit {
        /// The segment.
        seq: Seq,
        /// What made it do so.
        cause: Cause,
    },
    /// It kept a duplicate ACK from the sender.
    DuplicateAckSuppressed {
        /// The acknowledgment number.
        ack: Seq,
    },
    /// It sent an ACK in a receiver's name.
    AckGenerated {
        /// The acknowledgment number.
        ack: Seq,
    },
    /// It kept an ACK back that an agent nearer to the sender makes.
    AckSuppressed {
        /// The acknowledgment number.
        ack: Seq,
    },
    /// Data that an agent acknowledged in a receiver's name has not arrived, and nobody has it any more.
    AcknowledgedAndLost {
        /// Where it begins.
        seq: Seq,
    },
    /// It sent a control message to a TCP sender.
    ControlMessage {
        /// The segment that the message is about.
        seq: Seq,
        /// Which message, as the scheme calls it.
        name: &'static str,
    },
    /// It dropped data that was not the packet in hand, or a part of that: the tail of a super-packet that
    /// found no room, or what had waited here.
    Dropped {
        /// The data's first sequence number.
        seq: Seq,
        /// Octets of payload.
        octets: u32,
        /// Why.
        reason: DropReason,
    },
    /// A table or cache was full and something passed through untouched.
    AtBound {
        /// Which bound.
        bound: &'static str,
    },
}

/// What made an agent retransmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs.
    DuplicateAck,
    /// A local timer.
    Timer,
}
