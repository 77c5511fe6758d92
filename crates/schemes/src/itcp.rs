//! Indirect TCP: the access point (the paper's mobility support router) terminates the mobile
//! host's connection, and has a separate connection to the fixed host.
//!
//! A. Bakre, B. R. Badrinath, "I-TCP: Indirect TCP for Mobile Hosts", ICDCS 1995 ("the paper"). Its
//! text was not available. The rules are those that two other texts report: K. Ghaboosi, B. H.
//! Khalaj, PIMRC 2005 (sections II and III, "CICADA"), and D. Kliazovich's dissertation (University
//! of Trento 2006, section 2.4).
//!
//! | rule | source | file |
//! |---|---|---|
//! | two connections, each with sequence numbers of its own | CICADA, II | [`lasthop_hop::split`] |
//! | only a mobile host opens one | CICADA, II | `opened-by` in [`settings`]; by default either end |
//! | no selective acknowledgments | CICADA, III | `sack` in [`settings`] |
//! | both ends are standard TCPs of the time | CICADA, II: those of 4.3BSD | `congestion = "4.3bsd"`, `acks = "delayed"` in [`settings`]; by default Linux's |
//! | data acknowledged by one leg is delivered by the other, with its own retransmissions | dissertation, 2.4 | [`lasthop_hop::split`] |
//!
//! # What the texts leave open, and what we chose
//!
//! 1. *Addresses.* The paper's router has its own socket towards each end, and its mobile hosts a
//!    library that requests it. Here both legs have the ends' addresses and ports: no host is
//!    changed, and the router's kernel does not reset returning packets.
//! 2. *Opening.* The onward leg opens first; the opener is answered, or refused, as the other end
//!    has answered, and gets no answer if there is none. An end that acknowledges the opener's own
//!    number received the SYN before this agent started: that connection is left alone. So is one
//!    whose SYN requests a feature that no leg can provide in the other end's name: see
//!    [`lasthop_hop::split::carried`].
//! 3. *Closing.* Each leg closes independently: a FIN is acknowledged at once, and forwarded after
//!    the data. Here a sender may assume the delivery of data that never arrives: the violation of
//!    end-to-end semantics that CICADA's paper and the dissertation name.
//! 4. *Duplicate ACKs*, which I-TCP does not handle according to CICADA's paper: each leg is a
//!    standard endpoint, and handles them as such.
//! 5. *Resets and time-outs* of one leg end the other, after the data that it has to deliver.
//! 6. *Idle connections* stay, asleep, as long as both ends exist: the ends do not know each
//!    other's numbers. After `idle-timeout` they are probed, and reset if one of them is gone.
//! 7. *Hosts that are gone.* No data is acknowledged in the name of an end that has been silent for
//!    a while, and a keepalive leads to a probe of the other end: see
//!    `lasthop_hop::split::liveness`.
//! 8. *Urgent data* keeps its place: both legs carry the urgent pointer.
//!
//! # The cost when the agent stops
//!
//! Every connection breaks: the ends do not know each other's numbers. If the agent is killed,
//! their segments reach each other, and each is answered with a challenge ACK until their TCP, or
//! their application, gives up. If the agent only has to release a connection, it resets both ends.
//! A gateway that is drained or reloaded serves them to their end
//! ([`Obligation::Terminates`](lasthop_agent::Obligation::Terminates)), and one that is stopped
//! leaves them to its successor.

mod agent;
mod opening;
mod scheme;
pub mod settings;
#[cfg(test)]
mod tests;
mod transfer;

pub use agent::Itcp;
pub use scheme::SCHEME;
pub use settings::Settings;
