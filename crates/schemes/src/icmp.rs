//! Simple ICMP and Refined ICMP (Samir Goel, "Improving the Performance of TCP over Wireless
//! Links", M. Tech. thesis, IIT Kanpur, 1997; sections 5.4 and 5.5).
//!
//! The node that sends over the wireless link reports link-layer events to the TCP sender in ICMP
//! error messages, so that the sender does not mistake such losses for congestion. Both schemes
//! share the node's side, [`Notifier`]; they differ in its messages and in the sender's side.
//!
//! | rule | source |
//! |---|---|
//! | DEFER when the first transmission of a frame fails | 5.4.1 |
//! | RETRANSMIT when all local attempts have failed (refined) | 5.5.2 |
//! | message: IP header and first eight octets of the segment | 5.4.1; RFC 792 |
//! | DEFER for the segment that the timer runs for: the timer restarts with one RTO | 5.4.1, 5.5.2 rule 1 |
//! | simple: time-out or third duplicate ACK for a deferred segment leaves ssthresh (and cwnd, after recovery) alone | 5.4.1 |
//! | refined: at RETRANSMIT the segment is sent again at once; the first duplicate ACK for it begins fast recovery, after which cwnd has its previous value | 5.5.2 rules 2 and 3 |
//! | everything else as in TCP | 5.5.2 rules 4 and 5 |
//! | the wireless host notifies its own TCP: the scheme is symmetric | 5.5.4 |
//!
//! # What the thesis leaves open, and what we chose on what evidence
//!
//! 1. *"Postpone the timer by RTO"*: it expires one RTO after the message arrives, not one RTO
//!    after it would have expired. Figure 5.3: the first transmission fails 193 ms after the
//!    segment was sent; the message arrives at 97,003 ms and the time-out is at 98,003 ms.
//! 2. *Back-off after a time-out without a reduction (simple)*: none. Figure 5.3: the ACK at 98,354
//!    ms is followed by the next time-out at 99,354 ms; with back-off by Karn's rule, it would have
//!    been at 100,354 ms.
//! 3. *After a time-out without a reduction (simple)*: only that segment is retransmitted and
//!    sending continues where it was, without go-back-N. Figure 5.3: the ACK of the retransmission
//!    releases one new segment, not the second lost one.
//! 4. *Which segments a DEFER is remembered for (simple)*: each that it arrived for, whether the
//!    timer ran for it or not. Figure 5.3: the second lost segment's time-out causes no reduction
//!    either, although the timer ran for the first when its message arrived.
//! 5. *cwnd in fast recovery (refined)*: the window at that moment plus one segment for each
//!    duplicate ACK; the thesis states its growth and not its start. With a window limited by the
//!    receiver, as in all its experiments, it makes no difference.
//! 6. *A standard time-out* makes the sender retransmit everything, so the marks of earlier
//!    transmissions are discarded.
//! 7. *Which packets are reported*: TCP segments with data. The link's losses of pure ACKs do not
//!    concern the data sender.
//! 8. *An implausible RETRANSMIT*: one whose number is in the window but not at the start of a full
//!    segment is ignored. A sender that mixes lengths loses only the benefit for segments that
//!    follow a short one.
//! 9. *Type and code*: the thesis requires a new type; ours are from the experimental range (see
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
