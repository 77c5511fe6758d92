//! LLE-TCP: ACKs generated from the link layer's own acknowledgments (Kliazovich, dissertation,
//! University of Trento 2006, chapter 3).
//!
//! On a wireless hop a TCP ACK costs nearly as much as the data: it has its own preamble, back-off
//! and link-layer acknowledgment. But the node that sends the data already knows from the link
//! layer that it arrived. So an ARQ agent there generates the TCP ACK, and an ARQ agent at the
//! receiver keeps the real one off the air.
//!
//! | rule | section | where |
//! |---|---|---|
//! | SUCCESS triggers a bare ACK of the segment in the receiver's name | 3.2.3 | `confirming`, `receiver` |
//! | the agent follows the receiver's ACK policy | 3.5.4 | [`Settings::acks`]: `delaying` |
//! | FAILURE triggers three duplicate ACKs to the sender, for the first loss in a sequence only | 3.2.3 | `confirming` |
//! | bare ACKs that are not duplicates stay at the receiver, including the third segment of a handshake that the sender opened, and the ACKs of data and FIN | 3.2.3, 3.2.4 | `receiving` |
//! | an ACK in data that repeats a known number loses its ACK bit | 3.2.4 | `confirming`, [`PiggybackedAcks`] |
//! | duplicate ACKs pass everywhere | 3.2.4 | `receiving`, `confirming` |
//! | the same between base station and mobile host; the ACKs go to the fixed host | 3.3 | [`Lle`] |
//! | their window is the free room in the base station's queue | 3.3 | [`Settings::queue`] |
//! | ACKs with an exhausted window pass | 3.3 | `receiving` |
//! | off if the base station does not support it | 3.3 | `mark` |
//! | only at the node whose next hop is the receiver itself | 3.4 | [`Lle`] |
//! | `LLE-TCP_CC`: a multi-hop sender's TCP gets an ACK for each segment that its first hop accepted, with a window of one segment or none; the agent keeps the segment until the other end has it; a duplicate ACK resumes | 3.4 | `control` |
//!
//! What the paper leaves open, what we chose, and why:
//!
//! - *How the agents know of each other.* The paper names negotiation at registration as possible.
//!   Ours is in the segments themselves, in the urgent pointer of those without URG (`mark`): the
//!   sender's agent offers on segments that it sends over the hop, the receiver's accepts on
//!   segments that it passes, and from then on the sender's promises, segment by segment, to
//!   acknowledge data that the link layer delivers. The receiver's agent suppresses only ACKs of
//!   promised data. So either may appear, restart or fail at any time: data without a promise
//!   brings the ACKs back; ACKs without acceptance end the promises. At worst the last promised
//!   data is not acknowledged, the sender's timer expires, and its retransmission is acknowledged
//!   as usual. Marks stay on the hop, except for what a host sends before it notices that the
//!   access point's agent is gone: the first SYN within [`Settings::registration`], or segments in
//!   flight.
//! - *SUCCESS does not prove* that TCP has the segment: a queue in the host overflows, a driver
//!   resets, memory is exhausted. As published, such a segment is lost and the stream stalls
//!   permanently; [`ACKNOWLEDGED_AND_LOST`](lasthop_agent::counter::ACKNOWLEDGED_AND_LOST) counts
//!   the detected cases. By default a segment is promised only if there is room to keep it, and it
//!   is kept until the receiver itself acknowledges it: an ACK of the receiver passes now and then
//!   ([`Settings::evidence_segments`], [`Settings::evidence_interval`]). If it does not, or the
//!   receiver sends duplicate ACKs, the agent sends the segment again, with the connection's latest
//!   TSval, since PAWS might reject an older one. If the agent itself fails, data that only it has
//!   is lost: data that the link layer delivered, the receiver's TCP did not receive, and the agent
//!   had not repaired yet, at most [`Settings::kept_octets`].
//! - *The window* in a generated ACK. The paper copies or replaces it, and lets only exhausted ones
//!   pass, so that in between a sender may learn of room that is gone. By default the agent never
//!   allows an octet that the receiver has not allowed itself: the right edge of the window is that
//!   of its last ACK, and its own ACK passes before a quarter of the window is used up. As
//!   published: the last window of the receiver, unchanged.
//! - *Timestamps*: TSval is the receiver's last (a generated one could be ahead of its clock, and
//!   PAWS would drop its next segment), TSecr the TSval of the segment that moved the left edge, as
//!   the receiver would echo. Window scaling: connections whose handshake was not seen are left
//!   alone, unless [`Settings::join_unscaled`] states that no host scales: when the last hop
//!   changes, the new one has not seen the handshake (in section 3.4 the router before the receiver
//!   acts, whichever that is).
//! - *The cleared ACK bit.* A TCP that follows RFC 9293 (section 3.10.7.4) drops a segment without
//!   it, and its data: as published, data towards the sender is not accepted while ACKs are
//!   generated for it. By default the number is raised instead.
//! - *When SUCCESS is acknowledged.* By section 3.2.3 each segment is acknowledged at once, and so
//!   it is by default and as published. If the receiver acknowledges every second or fourth
//!   segment, this puts more ACKs on the hops upstream than the receiver would. Section 3.5.4
//!   compares LLE-TCP and TCP with the same ACK policy of the receiver, and does not say whether
//!   the agent follows it: [`Settings::acks`] makes it do so. No agent learns the receiver's
//!   policy, so it is a setting. A segment that fills a hole, SYN and FIN are still acknowledged at
//!   once (RFC 5681, section 4.2).
//! - *Delivery above a hole*: no ACK, unless [`Settings::selective_acks`] reports it in SACK
//!   blocks; the receiver's own duplicates pass, including SACK blocks. A SACK sender ignores three
//!   bare duplicates; it learns of the hole from the receiver's. If no segment follows the lost one
//!   and a copy is kept, that is sent again instead of duplicate ACKs.
//! - *Retransmissions by the sender*: no promise, so the receiver's own answer passes. ACKs with
//!   SACK or D-SACK blocks, ECE, CWR, URG, unknown options, data or FIN always pass; window updates
//!   and answers to keep-alives and window probes are duplicates by number, and pass. Data above
//!   the receiver's window is never promised.
//! - *Super-packets* are one segment here: one ACK for all of it.
//! - *Uploads through an access point.* That the access point has a segment proves nothing about a
//!   host beyond it; in section 3.4 the agent acts only next to the receiver itself. So a mobile
//!   host's data is acknowledged by its agent only if the other end of its hop is the receiver
//!   (figure 3.1a); otherwise its uploads are plain TCP, or, if [`Settings::sender_buffer`] is set,
//!   use `LLE-TCP_CC`, which keeps data that it acknowledges and repairs it. It never acknowledges
//!   SYN or FIN itself: a host that closes is not informed of the delivery of all data before it
//!   has happened.
//! - *Losses after the first hop* under `LLE-TCP_CC` are the agent's to repair; the paper keeps the
//!   data and does not say how. Three duplicate ACKs, then one segment for each partial ACK as in
//!   RFC 6582, and a timer as in RFC 6298. The local TCP does not slow down for them: its window is
//!   that of the buffer.
//! - *A window of one segment* of a host that scales its windows is a number of units, seldom a whole number of
//!   segments, and rounded up. Linux fills the rest with a short segment each time, which costs the hop nearly as much as
//!   a full one. Under `LLE-TCP_CC` the maximum segment size in the other end's SYN-ACK is lowered to a whole number of
//!   units where that costs at most a twentieth of a segment.

mod agent;
mod confirming;
mod control;
mod delaying;
mod fates;
mod flow;
mod mark;
mod neighbors;
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
