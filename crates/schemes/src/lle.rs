//! LLE-TCP: ACKs made from the link layer's own acknowledgments (Kliazovich, dissertation,
//! University of Trento 2006, chapter 3).
//!
//! On a wireless hop a TCP ACK costs nearly as much as the data: a preamble, a back-off and a
//! link-layer acknowledgment of its own. But the node that sends the data knows already that it
//! arrived, from the link layer. So an ARQ agent there makes the TCP ACK itself, and an ARQ agent
//! at the receiver keeps the real one off the air.
//!
//! | rule | section | where |
//! |---|---|---|
//! | SUCCESS releases an ACK of the segment, bare, in the receiver's name | 3.2.3 | `confirming`, `receiver` |
//! | the agent follows the receiver's ACK policy | 3.5.4 | [`Settings::acks`]: `delaying` |
//! | FAILURE asks the sender by three duplicate ACKs, for the first loss in a sequence only | 3.2.3 | `confirming` |
//! | bare ACKs that are no duplicates stay at the receiver, the third of a handshake that the sender opened to it and those of data and FIN included | 3.2.3, 3.2.4 | `receiving` |
//! | an ACK in data that says no more than was said loses its ACK bit | 3.2.4 | `confirming`, [`PiggybackedAcks`] |
//! | duplicate ACKs pass everywhere | 3.2.4 | `receiving`, `confirming` |
//! | the same between base station and mobile host; the ACKs go to the fixed host | 3.3 | [`Lle`] |
//! | the window in them is what is free in the base station's queue | 3.3 | [`Settings::queue`] |
//! | ACKs that tell an exhausted window pass | 3.3 | `receiving` |
//! | off where the base station does not have it | 3.3 | `mark` |
//! | only at the node whose next hop is the receiver itself | 3.4 | [`Lle`] |
//! | `LLE-TCP_CC`: a multi-hop sender's TCP gets an ACK for each segment that its first hop took over, with a window of one segment or none; the agent keeps the segment until the other end has it; a duplicate ACK resumes | 3.4 | `control` |
//!
//! What the paper leaves open, what we chose, and why:
//!
//! - *How the agents know of each other.* The paper names negotiation at registration as possible.
//!   Ours is in the segments themselves, in the urgent pointer of those without URG (`mark`): the
//!   sender's agent offers on what it sends over the hop, the receiver's accepts on what it lets
//!   pass, and from then on the sender's promises, segment by segment, to acknowledge what the link
//!   layer delivers. The receiver's agent keeps back only ACKs of promised data. So either may
//!   appear, restart or die at any time: data without a promise, and the ACKs are back; ACKs
//!   without acceptance, and no more is promised. At worst what was promised last is not
//!   acknowledged, the sender's timer expires, and its repetition is acknowledged as a repetition
//!   always is. Marks stay on the hop, but for what a host sends before it notices that the access
//!   point's agent has gone: the first SYN within [`Settings::registration`], or what was under
//!   way.
//! - *SUCCESS is no proof* that TCP has the segment: a queue in the host overflows, a driver
//!   resets, memory runs out. As published, such a segment is lost and the stream stalls for good;
//!   [`ACKNOWLEDGED_AND_LOST`](lasthop_agent::counter::ACKNOWLEDGED_AND_LOST) counts those that
//!   show. By default a segment is promised only if there is room to keep it, and it is kept until
//!   the receiver itself acknowledges it: an ACK of the receiver's passes now and then
//!   ([`Settings::evidence_segments`], [`Settings::evidence_interval`]), and where it does not, or
//!   the receiver complains, the segment is sent again from here, with the connection's latest
//!   TSval, or PAWS may refuse it. If the agent itself dies, what only it has is lost: what the
//!   link layer delivered, the receiver's TCP did not take, and the agent had not repaired yet, at
//!   most [`Settings::kept_octets`].
//! - *The window* in an ACK of ours. The paper copies or replaces it, and lets only exhausted ones
//!   pass, so that in between a sender may be told of room that is gone. By default we never allow
//!   an octet that the receiver has not allowed itself: the window ends where its last word had it
//!   end, and its own ACK passes before a quarter of the window is used up. As published: its last
//!   word, as it was.
//! - *Timestamps*: TSval is the receiver's last (one of ours could outrun its clock, and PAWS would
//!   drop its next segment), TSecr the TSval of the segment that moved the left edge, as the
//!   receiver would have it. Window scaling: connections whose handshake was not seen are left
//!   alone, unless [`Settings::join_unscaled`] says that nobody scales: where the last hop changes,
//!   the new one has not seen it (section 3.4 has the router before the receiver act, whichever
//!   that is).
//! - *The cleared ACK bit.* A TCP that follows RFC 9293 (section 3.10.7.4) drops a segment without
//!   it, and its data: as published, data towards the sender does not get through while ACKs are
//!   made for it. By default the number is raised instead.
//! - *When SUCCESS is acknowledged.* By section 3.2.3 each segment is, at once, and so it is by default
//!   and as published. Where the receiver acknowledges every second or fourth segment, that puts more
//!   ACKs on the hops behind than the receiver would. Section 3.5.4 compares LLE-TCP and TCP with the same
//!   policy of the receiver, and does not say whether the agent follows it:
//!   [`Settings::acks`] has it do so. No agent hears of the receiver's policy, so it is set. What
//!   fills a hole, SYN and FIN are acknowledged at once all the same (RFC 5681, section 4.2).
//! - *Delivered beyond a hole*: no ACK, unless [`Settings::selective_acks`] has it told in SACK
//!   blocks; the receiver's own duplicates pass, SACK blocks and all. A
//!   SACK sender makes nothing of three bare duplicates; it learns of the hole from those. Where
//!   nothing follows the lost segment and a copy is kept, that is sent once more in place of a
//!   question.
//! - *The sender repeats itself*: no promise, so the receiver's own answer passes. ACKs with SACK
//!   or D-SACK blocks, ECE, CWR, URG, unknown options, data or FIN pass always; window updates and
//!   answers to keep-alives and window probes are duplicates by number, and pass. What lies beyond
//!   the receiver's window is never promised.
//! - *Super-packets* are one segment here: one ACK for all of it.
//! - *Uploads through an access point.* That the access point has a segment proves nothing about a
//!   host behind it; section 3.4 has the agent act only before the receiver itself. So a mobile
//!   host's data is acknowledged by its agent only if the other end of its hop is the receiver
//!   (figure 3.1a); else its uploads are plain TCP, or, if [`Settings::sender_buffer`] is set,
//!   under `LLE-TCP_CC`, which keeps what it acknowledges and repairs it. It never acknowledges SYN
//!   or FIN itself: a host that closes is not told that all has arrived before it has.
//! - *Losses behind the first hop* under `LLE-TCP_CC` are the agent's to repair; the paper keeps
//!   the data and does not say how. Three duplicate ACKs, then one segment for each partial ACK as
//!   in RFC 6582, and a timer as in RFC 6298. The TCP above does not slow down for them: its window
//!   is that of the buffer.

mod agent;
mod confirming;
mod control;
mod delaying;
mod fates;
mod flow;
mod mark;
mod neighbours;
mod place;
mod ranges;
mod receiver;
mod receiving;
mod restoring;
mod scheme;
mod settings;
mod shares;
#[cfg(test)]
mod tests;
mod transfer;

pub use agent::Lle;
pub use place::Place;
pub use scheme::SCHEME;
pub use settings::{DeliveryAcks, PiggybackedAcks, Settings};

#[cfg(doc)]
use lasthop_agent::Report;
