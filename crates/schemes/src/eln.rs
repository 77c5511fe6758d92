//! Explicit loss notification for uploads: a mobile host's sender learns that what it lost was lost
//! on the wireless hop, and keeps its window.
//!
//! H. Balakrishnan, R. H. Katz, "Explicit Loss Notification and Wireless Web Performance", IEEE
//! Globecom Internet Mini-Conference 1998 ("the paper"; the mechanism is in H. Balakrishnan, V. N.
//! Padmanabhan, S. Seshan, R. H. Katz, "A Comparison of Mechanisms for Improving TCP Performance
//! over Wireless Links", IEEE/ACM Transactions on Networking 5(6), 1997, too). Place: the base
//! station, and with `preset = "published"` the sender of the mobile host.
//!
//! # The published rules
//!
//! | rule | where |
//! |---|---|
//! | the base station keeps the holes in the data that comes off the hop; it caches nothing | [`lasthop_hop::upload::holes`] |
//! | a hole is the hop's loss only if nothing says that the hop's queue overflowed | [`lasthop_hop::upload::hop_delay`] |
//! | a duplicate ACK for what is missing there is marked | `flow` |
//! | at a marked one the sender sends again, and does not take it for congestion | `sender` |
//!
//! # For senders as they are (ours)
//!
//! Linux, and every TCP with RFC 4015, takes a reduction back when it learns that what it sent
//! again was not lost: by an ACK that echoes a timestamp older than the first retransmission
//! (Eifel, RFC 3522), or by D-SACKs of all that it sent again (RFC 3708). The agent saw what was
//! missing come off the hop, and come again. Once the receiver acknowledges it, the agent says so:
//! every octet acknowledged has arrived, and only the reason of the loss is corrected.
//!
//! - `undo = "timestamp"`: the ACK with which the sender has recovered (of all that had been sent when
//!   the first repair came) echoes the timestamp of the segment that
//!   showed the first hole: of data that the sender sent before it sent anything of the hole again. Told
//!   before, it would stop to repair what is still missing. Where a
//!   recovery passes into the next one, it echoes that of the first: as long as a retransmission
//!   is outstanding, Linux compares with the first (`retrans_stamp`). ACKs go on echoing it until
//!   data shows that the mobile host has one of them, for an ACK may be lost, too. The sender
//!   measures a round-trip time that is too long with each, at most by a second; Linux times only
//!   ACKs of retransmissions by their echo, and RTO alone follows.
//! - `undo = "dsack"`: ahead of such an ACK go others with its number, each with a D-SACK of one
//!   repair. One that is lost, and a retransmission that is lost on the hop, leaves the account
//!   open, and the reduction stays: it does less than the timestamp, and needs none.
//!
//! # What is not told
//!
//! Nothing is told of what may be congestion, and then TCP does what it does without an agent:
//!
//! - a hole whose neighbours waited as long as packets ever do there, unless packets that waited
//!   less are lost nearly as often, and a hole that shows while a queue stands
//!   ([`lasthop_hop::upload::hop_delay`]); without timestamps none can be told from these;
//! - everything up to an acknowledgment of all that had been sent, where a segment comes that was
//!   here before (it was lost on the wire, or the receiver's ACK was), where data carries CE, and
//!   where the receiver echoes ECE;
//! - more than 32 holes at a time.
//!
//! # What the paper leaves open, and what we chose
//!
//! *Which bit.* The first of the reserved bits of the TCP header ([`ELN`]). *Which duplicate ACK.*
//! The first marked one: the base station knows the segment to be missing. *How the sender goes on.*
//! As in a recovery, but with the window that it had. *A repair that is lost again.* Its sender's
//! loss detection finds it, in the same recovery.
//!
//! # Why not by early SACK blocks
//!
//! The base station could report at once, by SACK blocks, what came off the hop above a hole, a wired
//! round trip before the receiver does. To a sender as it is that does harm: all that is still on its
//! way to the receiver lies below those blocks too, unreported, and RACK (RFC 8985) would send all of
//! it again. To report that as well, up to the octet behind the last acknowledgment, would have Linux
//! take the next ACK for one of a receiver that reneges (`tcp_check_sack_reneging`), and would speak
//! for the receiver of what it may never get.
//!
//! *It fails open.* The agent holds nothing, drops nothing, and changes nothing but one echoed
//! timestamp, or one bit. It sends no number that the receiver has not sent.

mod agent;
mod flow;
mod recovery;
mod scheme;
mod sender;
mod settings;
#[cfg(test)]
mod tests;
mod transfer;

pub use agent::{Eln, LEFT, MARKED, TOLD};
pub use scheme::SCHEME;
pub use sender::{ELN, ElnSender};
pub use settings::{Settings, Undo};
