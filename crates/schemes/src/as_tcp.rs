//! AS-TCP, augmented split TCP: connections are split at the access point, and ACKs on the hop are
//! generated from the link layer's acknowledgments.
//!
//! H. Jung, N. Choi, Y. Seok, T. Kwon, Y. Choi, "Augmented Split-TCP over Wireless LANs", Seoul
//! University ("the paper"). The scheme runs at the access point and at each mobile host.
//!
//! | rule | section | where |
//! |---|---|---|
//! | the access point splits each connection, with standard TCP to the sink | III.A, III.B | `lasthop_hop::split::transparent`, `edge` |
//! | connections open and close as in TCP: numbers are learned from the handshake, and the MAC ACK of a SYN or a FIN does not become a TCP ACK | III.B | `lasthop_hop::split::opening`; [`crate::lle::Place`] |
//! | TAS at the mobile host: a MAC ACK becomes a TCP ACK to the host's own TCP | III.B | [`crate::lle`], at either [end of the hop](crate::lle::Place::EndOfHop) |
//! | TAS at the access point: the TCP ACKs of the terminating half stay off the air, duplicates included | III.B | `evidence = false` in [`Settings`]; the same |
//! | if the MAC gives up there is no ACK, and the sender's timer acts | III.B | `loss-questions = false` in [`Settings`] |
//! | the access point withholds MAC ACKs while its queue is long | III.C.2 | `refuse-above` in [`Settings`]; `edge` |
//! | changes at the host only: real ACKs cross the air and are dropped at the host, except for their window | III.C.1 | `acks-on-air` in [`Settings`] |
//! | the split is at the nearest router | III.C.1 | `split-at = "router"` in [`Settings`] |
//!
//! # What the paper leaves open, and what we chose
//!
//! 1. *How both halves know of each other.* A host that waits for ACKs which the access point drops
//!    would wait forever. So ACKs stay off the air only if the other half has promised to generate
//!    them, segment by segment, as in LLE-TCP.
//! 2. *The window in a generated ACK.* By default its right edge is that of the access point's own
//!    last ACK. That ACK passes before a quarter of the window is used up, and whenever the window
//!    is nearly closed or opens again. So no octet is acknowledged that exceeds the connection's
//!    memory at the access point (`buffer`, and half of its memory budget). Memory that all
//!    connections share may still be exhausted: an advertised window cannot be retracted. Data
//!    without room then stays at the host, as in 4, and is counted. As published it is the last
//!    window of the access point, unchanged; ACKs with an exhausted window, or one that was halved
//!    or doubled, cross the hop.
//! 3. *Delivery above a hole* is not acknowledged. Once the hole is filled, all data is, in one
//!    ACK. By default three duplicate ACKs request the segment that the MAC gave up, as in LLE-TCP;
//!    as published the sender's timer acts. By default the split also learns at once, from SACK
//!    blocks, what its MAC has delivered above a hole (`selective-acks`): so it learns of a packet
//!    that was dropped before the MAC, whose fate the link layer does not report, when the next one
//!    is delivered. The mobile host's TCP does not: with such blocks, ten uploads of Linux's TCP
//!    had 15% less goodput (`docs/src/validation/as-tcp.md`).
//! 4. *Data that the MAC has delivered but the split has not received* (between an access point and
//!    a router, because its memory was full, or because it restarted) is by default kept at the
//!    host until the split's own ACK, and sent again if that does not arrive within
//!    [`Settings::evidence_timeout`]. Once two such copies in a row had an ACK that advanced no
//!    further, the rest of a run follows without waiting. After one it would be too early: the ACK
//!    may only have been late. As published such data is lost and the stream stalls. Once the split
//!    has repeated an ACK for `evidence-timeout`, its ACKs cross the hop, and the loss is counted.
//!    This also applies to a connection that the split has left since: it generates no more ACKs
//!    for it, but still observes them.
//! 5. *Close.* A FIN is acknowledged end to end, after all data: its MAC ACK does not become a TCP
//!    ACK. Data that the access point still has to deliver is then drained, and the host's FIN
//!    waits for it.
//! 6. *The queue* whose length is limited consists of the data that the access point has received
//!    from the hop and not sent to the sinks yet, of all connections together.
//! 7. *Connections that are not split* (see [`crate::cicada`] for which) get no generated ACKs: the
//!    MAC reports only on the hop, and their data has further to go.
//! 8. *Downloads.* The same rules hold in the other direction: the access point's MAC ACKs become
//!    ACKs for its leg, and the host's ACKs stay off the air.
//!
//! # Where it harms, or gains little
//!
//! - Data that the access point has acknowledged and not delivered is lost if it fails: see
//!   [`crate::cicada`] for these obligations.
//! - Stations that do not wait for ACKs contend more: with many of them collisions take the airtime
//!   that the ACKs had.
//! - As published, data that the MAC has delivered and the other half has not received is lost: see
//!   4.
//! - Without SACK, and as published, a packet that is dropped before the MAC (a full queue, or a
//!   full buffer of a station in power save) shows only in the mobile host's own ACKs; as published
//!   only the sender's timer detects it. In power save those ACKs are late, because a station sends
//!   its PS-Polls first; meanwhile the leg treats all data without an ACK as lost, and sends it
//!   again.
//! - `refuse-above` refuses every frame of every station, including ACKs of downloads. One stalled
//!   sink can fill the queue alone.

mod edge;
mod saved;
mod scheme;
mod settings;
#[cfg(test)]
mod tests;

pub use edge::AsTcpEdge;
pub use scheme::SCHEME;
pub use settings::{Settings, SplitAt};
