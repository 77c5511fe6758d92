//! Explicit loss notification for uploads: a mobile host's sender learns that its losses occurred
//! on the wireless hop, and keeps its window.
//!
//! H. Balakrishnan, R. H. Katz, "Explicit Loss Notification and Wireless Web Performance", IEEE
//! Globecom Internet Mini-Conference 1998 ("the paper"; the mechanism is in H. Balakrishnan, V. N.
//! Padmanabhan, S. Seshan, R. H. Katz, "A Comparison of Mechanisms for Improving TCP Performance
//! over Wireless Links", IEEE/ACM Transactions on Networking 5(6), 1997, too). The scheme runs at
//! the base station, and with `preset = "published"` also in the mobile host's sender.
//!
//! # The published rules
//!
//! | rule | where |
//! |---|---|
//! | the base station records the holes in the data from the hop; it caches nothing | [`lasthop_hop::upload::holes`] |
//! | a hole is a loss on the hop only if there is no sign of an overflow of the hop's queue | [`lasthop_hop::upload::hop_delay`] |
//! | a duplicate ACK for such a hole is marked | `flow` |
//! | at a marked one the sender retransmits, and does not treat the loss as congestion | `sender` |
//!
//! # Unmodified senders (ours)
//!
//! Linux, and every TCP with RFC 4015, undoes a reduction when it learns that the segments that it
//! retransmitted were not lost: by an ACK that echoes a timestamp older than the first
//! retransmission (Eifel, RFC 3522), or by D-SACKs of all retransmissions (RFC 3708). The agent saw
//! the holes in the data from the hop, and their repairs. Once the receiver acknowledges those, the
//! agent reports it: every acknowledged octet has arrived, and only the cause of the loss is
//! corrected.
//!
//! - `undo = "timestamp"`: the ACK that ends the sender's recovery (of all data sent before the
//!   first repair) echoes the timestamp of the segment that showed the first hole: of data sent
//!   before the first retransmission of the hole. An earlier report would stop the repair of the
//!   remaining holes. If one recovery passes into the next, it echoes that of the first: as long as
//!   a retransmission is outstanding, Linux compares with the first (`retrans_stamp`). ACKs
//!   continue to echo it until data shows that the mobile host has received one of them, since an
//!   ACK may be lost, too. The sender measures a round-trip time that is too long with each, by at
//!   most a second; Linux uses the echo only for ACKs of retransmissions, and only RTO follows.
//! - `undo = "dsack"`: before such an ACK the agent sends others with its number, each with a
//!   D-SACK of one repair. If one is lost, or a retransmission is lost on the hop, the account
//!   stays incomplete, and so does the undo: this does less than the timestamp, but does not need
//!   one.
//!
//! # Losses that are not reported
//!
//! Possible congestion is not reported, and then TCP acts as without an agent:
//!
//! - a hole whose neighbors waited as long as the maximum there, unless packets with shorter waits
//!   are lost nearly as often, and a hole that occurs during a standing queue
//!   ([`lasthop_hop::upload::hop_delay`]); without timestamps these cannot be distinguished from
//!   others;
//! - all data up to an acknowledgment of everything sent, if a segment arrives that was here before
//!   (it, or the receiver's ACK, was lost on the wired path), if data carries CE, or if the
//!   receiver echoes ECE;
//! - more than 32 holes at a time.
//!
//! # What the paper leaves open, and what we chose
//!
//! *Which bit.* The first of the reserved bits of the TCP header ([`ELN`]). *Which duplicate ACK.*
//! The first marked one: the base station knows the segment to be missing. *How the sender
//! continues.* As in a recovery, but with its previous window. *A repair that is lost again.* The
//! sender's loss detection finds it, in the same recovery.
//!
//! # Why not by early SACK blocks
//!
//! The base station could at once report, in SACK blocks, data from the hop above a hole, a wired
//! round trip before the receiver does. For an unmodified sender that is harmful: all data still in
//! flight to the receiver is below those blocks, too, without a report, and RACK (RFC 8985) would
//! retransmit all of it. If the agent reported that as well, up to the octet after the last
//! acknowledgment, Linux would treat the next ACK as one of a receiver that reneges
//! (`tcp_check_sack_reneging`), and the agent would acknowledge data for the receiver that it may
//! never get.
//!
//! *It fails open.* The agent holds and drops no packets, and changes only one echoed timestamp, or
//! one bit. It sends no number that the receiver has not sent.

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
