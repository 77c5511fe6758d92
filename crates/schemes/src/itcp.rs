//! Indirect TCP: the access point (the paper's mobility support router) ends the mobile host's
//! connection, and has one of its own to the fixed host.
//!
//! A. Bakre, B. R. Badrinath, "I-TCP: Indirect TCP for Mobile Hosts", ICDCS 1995 ("the paper"). Its
//! text could not be had. The rules are those that two others report of it: K. Ghaboosi, B. H.
//! Khalaj, PIMRC 2005 (sections II and III, "CICADA"), and D. Kliazovich's dissertation (University
//! of Trento 2006, section 2.4).
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | two connections, each with sequence numbers of its own | CICADA, II | [`lasthop_hop::split`] |
//! | only a mobile host opens one | CICADA, II | `opened-by` in [`settings`]; by default either end |
//! | no selective acknowledgments | CICADA, III | `sack` in [`settings`] |
//! | both ends are ordinary TCPs of the time | CICADA, II: those of 4.3BSD | `congestion = "4.3bsd"`, `acks = "delayed"` in [`settings`]; by default Linux's |
//! | what one leg has acknowledged, the other delivers, with its own retransmissions | dissertation, 2.4 | [`lasthop_hop::split`] |
//!
//! # What is left open, what we chose
//!
//! 1. *Addresses.* The paper's router has a socket of its own towards each end, and its mobile
//!    hosts a library that asks for it. Here both legs have the ends' addresses and ports: no host
//!    is changed, and the router's kernel does not reset what comes back.
//! 2. *Opening.* The leg onward opens first; the end that asked is answered, or refused, as the
//!    other one has answered, and hears nothing if that does not answer. An end that knows the opener
//!    by its own number has had the SYN before this agent was there: that connection is left alone.
//!    So is one whose SYN asks for what no leg can answer in the other end's name: see
//!    [`lasthop_hop::split::carried`].
//! 3. *Closing.* Each leg closes by itself: a FIN is acknowledged at once, and goes on behind the
//!    data. Here a sender may take for delivered what never arrives: the
//!    violation of end-to-end semantics that CICADA's paper and the dissertation name.
//! 4. *Duplicate ACKs*, of which CICADA's paper says that I-TCP does not settle them: each leg is
//!    an ordinary endpoint, and does with them what that does.
//! 5. *Resets and time-outs* of one leg end the other, behind the data that it has to deliver.
//! 6. *Idle connections* stay for as long as both ends are there, asleep: the ends do not know each
//!    other's numbers. After `idle-timeout` they are asked, and reset where one of them is gone.
//! 7. *Hosts that are gone.* Nothing is acknowledged in the name of an end that was not heard from
//!    lately, and a keepalive becomes a question to the other end: see `lasthop_hop::split::presence`.
//! 8. *Urgent data* keeps its place: both legs carry the urgent pointer.
//!
//! # What it costs when the agent goes away
//!
//! Every connection breaks: the ends do not know each other's numbers. Where it is killed, their
//! segments reach each other, and each is answered with a challenge ACK until their TCP, or their
//! application, gives up. Where it only has to part with one, it resets both ends. A gateway that is drained or
//! reloaded serves them to their end
//! ([`Obligation::Terminates`](lasthop_agent::Obligation::Terminates)), and one that is told to end
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
