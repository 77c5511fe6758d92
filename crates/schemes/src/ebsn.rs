//! EBSN, explicit bad state notification: while the wireless hop is in a bad state, the base station
//! has the sender restart its retransmission timer, so that the timer does not expire during local
//! recovery.
//!
//! B. S. Bakshi, P. Krishna, N. H. Vaidya, D. K. Pradhan, "Improving performance of TCP over
//! wireless networks", ICDCS 1997 ("the paper"). Its text could not be had. The rules are those that
//! D. Kliazovich's dissertation (University of Trento 2006; section 2.4, tables 2.2 and 2.3) reports
//! of it; what is said of it elsewhere could not be checked.
//!
//! | rule | where it stands | file |
//! |---|---|---|
//! | the base station sends a message at each attempt to deliver a packet that failed | dissertation, 2.4 | `agent` |
//! | the base station keeps no state of connections for it | table 2.3: support at the link layer | `agent`; but see 2 |
//! | the sender restarts its timer, with the value that it had | dissertation, 2.4; that the value stays: said elsewhere | `sender` |
//! | nothing else changes: no window, no estimate of the round trip | said elsewhere | `sender` |
//!
//! # What is left open, what we chose
//!
//! 1. *The message's form*: that of Simple ICMP's DEFER with a code of its own
//!    ([`ControlMessage`](lasthop_hop::control_message::ControlMessage)). So a sender believes one only if it quotes data that is
//!    outstanding (RFC 5927, section 4.1).
//! 2. *How many*: a fast hop fails thousands of times a second, and each message crosses the wire.
//!    One per connection and `least-interval` is sent, by default 50 ms: a quarter of the least RTO
//!    of Linux, so that no timer expires between two of them. It takes an entry in a table for each
//!    connection; 0 is the paper's rule, without any.
//! 3. *How long*: a base station that is cut off, or an attacker who can see the connection, could
//!    keep a timer from expiring for ever. The sender stops listening `longest-deferral` after the
//!    first message since its last progress, by default 100 s, the least time for which a TCP has
//!    to go on trying (RFC 9293, section 3.8.3, R2).
//! 4. *Which segment*: any that is outstanding. The one that fails is seldom the one that the timer
//!    runs for, but the hop is the same.
//! 5. *Whose attempts*: TCP segments with data. A lost ACK is no business of the data sender's.
//! 6. *Duplicate ACKs* are left to TCP: a link layer that keeps order makes none, and one that does
//!    not is DDA's subject.
//! 7. *Tail loss probes* (RFC 8985) have a timer of their own, which the message leaves alone: a
//!    probe costs one segment and no window.

mod agent;
mod scheme;
mod sender;
mod settings;
#[cfg(test)]
mod tests;

pub use agent::BadStateNotifier;
pub use scheme::SCHEME;
pub use sender::EbsnSender;
pub use settings::Settings;
