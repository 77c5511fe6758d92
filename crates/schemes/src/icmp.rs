//! Simple ICMP and Refined ICMP (Samir Goel, "Improving the Performance of TCP over Wireless
//! Links", M. Tech. thesis, IIT Kanpur, 1997; sections 5.4 and 5.5).
//!
//! The node that sends over the wireless link tells the TCP sender what the link layer sees, by
//! ICMP error messages; the sender does not take for congestion what was none. Both schemes share
//! the node's part, [`Notifier`]; they differ in which messages it sends and in the sender's part.
//!
//! | rule | where it stands |
//! |---|---|
//! | DEFER when the first transmission of a frame fails | 5.4.1 |
//! | RETRANSMIT when all local attempts have failed (refined) | 5.5.2 |
//! | message: IP header and first eight octets of the segment | 5.4.1; RFC 792 |
//! | DEFER for the segment that the timer runs for: the timer starts anew with one RTO | 5.4.1, 5.5.2 rule 1 |
//! | simple: time-out or third duplicate ACK for a deferred segment leaves ssthresh (and cwnd, after recovery) alone | 5.4.1 |
//! | refined: RETRANSMIT has the segment sent again at once; the first duplicate ACK for it begins fast recovery, after which cwnd is what it was | 5.5.2 rules 2 and 3 |
//! | everything else as TCP does it | 5.5.2 rules 4 and 5 |
//! | the wireless host notifies its own TCP: the scheme is symmetric | 5.5.4 |
//!
//! # What the thesis leaves open, what we chose, and on what evidence
//!
//! 1. *"Postpone the timer by RTO"*: it expires one RTO after the message came, not one RTO after
//!    it would have expired. Figure 5.3: with the first transmission failing 193 ms after the
//!    segment was sent, the message is back at 97,003 ms and the time-out is at 98,003 ms.
//! 2. *Back-off after a time-out that was spared (simple)*: none. Figure 5.3: the ACK at 98,354 ms
//!    is followed by the next time-out at 99,354 ms; backed off as Karn's rule has it, it would
//!    have come at 100,354 ms.
//! 3. *After a spared time-out (simple)*: that one segment is sent again and sending goes on where
//!    it was, no go-back-N. Figure 5.3: the ACK of the retransmission releases one new segment, not
//!    the second lost one.
//! 4. *Which segments a DEFER is remembered for (simple)*: each that it came for, whether the timer
//!    ran for it or not. Figure 5.3: the second lost segment's time-out is spared, too, although
//!    the timer ran for the first when its message came.
//! 5. *cwnd in fast recovery (refined)*: the window of that moment plus one segment for each
//!    duplicate ACK; the thesis says by what it grows and not from where. With a window bound by
//!    the receiver, as in all its experiments, it makes no difference.
//! 6. *A standard time-out* makes the sender send everything again, so what was remembered of
//!    earlier transmissions is discarded.
//! 7. *Which packets are reported*: TCP segments with data. The link's own losses of pure ACKs are
//!    no business of the data sender's.
//! 8. *A RETRANSMIT that nobody can have sent*: one whose number lies in the window and where no
//!    full segment begins is ignored. A sender that mixes lengths loses the benefit for what
//!    follows a short segment, and nothing else.
//! 9. *Type and code*: the thesis asks for a new type; ours are from the experimental range (see
//!    [`Message`]).

mod marks;
mod notifier;
mod refined;
mod scheme;
mod simple;

#[cfg(test)]
mod tests;

pub use lasthop_hop::control_message::ControlMessage as Message;
pub use notifier::Notifier;
pub use refined::RefinedSender;
pub use scheme::{REFINED, SIMPLE};
pub use simple::SimpleSender;
