//! AS-TCP, augmented split TCP: a split at the access point, and on its hop ACKs that are made from
//! the link layer's acknowledgments.
//!
//! H. Jung, N. Choi, Y. Seok, T. Kwon, Y. Choi, "Augmented Split-TCP over Wireless LANs", Seoul
//! National University ("the paper"). Place: the access point, and each mobile host.
//!
//! | rule | section | where |
//! |---|---|---|
//! | the access point splits each connection, and goes on with the sink by ordinary TCP | III.A, III.B | `lasthop_hop::split::transparent`, `edge` |
//! | opening and closing are those of TCP: numbers are learned from the handshake, and the MAC ACK of a SYN or a FIN says nothing to TCP | III.B | `lasthop_hop::split::opening`; [`crate::lle::Place`] |
//! | TAS at the mobile host: a MAC ACK becomes a TCP ACK to the host's own TCP | III.B | [`crate::lle`], at either [end of the hop](crate::lle::Place::EndOfHop) |
//! | TAS at the access point: the TCP ACKs that the terminating half makes stay off the air, duplicates included | III.B | `evidence = false` in [`Settings`]; the same |
//! | where the MAC gives up there is no ACK, and the sender's timer acts | III.B | `loss-questions = false` in [`Settings`] |
//! | the access point withholds MAC ACKs while its queue is long | III.C.2 | `refuse-above` in [`Settings`]; `edge` |
//! | the host alone: real ACKs cross the air and are dropped at the host, but for the window that they tell | III.C.1 | `acks-on-air` in [`Settings`] |
//! | the split is at the nearest router | III.C.1 | `split-at = "router"` in [`Settings`] |
//!
//! # What the paper leaves open, what we chose
//!
//! 1. *How both halves know of each other.* A host that waits for ACKs which the access point drops
//!    would wait for ever. So ACKs stay off the air only where the other half has promised to make
//!    them, segment by segment, as in LLE-TCP.
//! 2. *The window in an ACK that is made.* By default it ends where the access point's own last word
//!    had it end. That word passes before a quarter of the window is used up, and whenever the window
//!    is nearly closed or opens again. So no octet is acknowledged for which the connection has no room
//!    at the access point (`buffer`, and half the memory that a connection may take). Memory that all
//!    connections share may run out all the same: windows that were told before cannot be taken
//!    back. What finds no room then is kept at the host, as in 4, and counted.
//!    As published it is the window that the access point told last, as it was; ACKs that tell an
//!    exhausted window, or one that was halved or doubled, cross the hop.
//! 3. *Delivery beyond a hole* is not acknowledged. Once the hole is filled all of it is, in one
//!    ACK. By default the sender is asked for what the MAC gave up by three duplicate ACKs, as in
//!    LLE-TCP; as published its timer acts. The split is also told at once, by default, what its MAC
//!    has delivered beyond a hole, in SACK blocks (`selective-acks`): so it learns of a packet that was
//!    dropped in front of the MAC, of whose fate the link layer says nothing, when the next one is
//!    delivered. The mobile host's TCP is not told: ten uploads of Linux's TCP had 15% less goodput
//!    where it was (`docs/src/validation/as-tcp.md`).
//! 4. *What the MAC has delivered and the split has not got* (between an access point and a router,
//!    because its memory was full, or because it was started again) is by default kept at the host
//!    until the split's own ACK, and sent again if that does not come within
//!    [`Settings::evidence_timeout`]. Once two such copies in a row had an ACK that went no further, the
//!    rest of a run follows without waiting. After one it would be too early: the ACK may only have
//!    been late. As published such data is lost and the stream stalls. Once the split has repeated an
//!    ACK for `evidence-timeout`, its ACKs cross the hop, and the loss is counted. That holds also of a
//!    connection that the split has left meanwhile: it makes no more ACKs for it, and still hears them.
//! 5. *Close.* A FIN is acknowledged end to end, behind all data: its MAC ACK becomes no TCP ACK. What
//!    the access point still has to deliver then drains on its own, and the FIN of the host waits for it.
//! 6. *The queue* that is too long is what the access point has taken off the hop and has not sent
//!    on to the sinks yet, of all connections together.
//! 7. *Connections that are not split* (see [`crate::cicada`] for which) have no ACKs made for them:
//!    the MAC's word is about the hop alone, and their data has further to go.
//! 8. *Downloads.* The same rules hold in the other direction: the access point's MAC ACKs become
//!    ACKs for its leg, and the host's ACKs stay off the air.
//!
//! # Where it does harm, or little
//!
//! - What the access point has acknowledged and not delivered is lost if it fails: see
//!   [`crate::cicada`], whose obligations these are.
//! - Stations that wait for no ACKs contend more: with many of them collisions take the air time that
//!   the ACKs had.
//! - As published, what the MAC has delivered and the other half has not got is lost: see 4.
//! - Without SACK, and as published, a packet that is dropped in front of the MAC (a full queue, or a
//!   full buffer of a station in power save) shows only in the mobile host's own ACKs; as published only the sender's timer
//!   notices it. In power save those ACKs come late, because a station sends its PS-Polls first;
//!   meanwhile the leg takes all that has no ACK for lost, and sends it again.
//! - `refuse-above` refuses every frame of every station, ACKs of downloads among them. One sink that
//!   stands still can fill the queue alone.

mod edge;
mod saved;
mod scheme;
mod settings;
#[cfg(test)]
mod tests;

pub use edge::AsTcpEdge;
pub use scheme::SCHEME;
pub use settings::{Settings, SplitAt};
