//! EBSN, explicit bad state notification: while the wireless hop is in a bad state, the base
//! station makes the sender restart its retransmission timer, so that the timer does not expire
//! during local recovery.
//!
//! B. S. Bakshi, P. Krishna, N. H. Vaidya, D. K. Pradhan, "Improving performance of TCP over
//! wireless networks", ICDCS 1997 ("the paper"). Its text was not available. The rules are those
//! that D. Kliazovich's dissertation (University of Trento 2006; section 2.4, tables 2.2 and 2.3)
//! reports; rules from other sources could not be checked.
//!
//! | rule | source | file |
//! |---|---|---|
//! | the base station sends a message for each failed attempt to deliver a packet | dissertation, 2.4 | `agent` |
//! | the base station keeps no state of connections for it | table 2.3: support at the link layer | `agent`; but see 2 |
//! | the sender restarts its timer, with its current value | dissertation, 2.4; the unchanged value: another source | `sender` |
//! | nothing else changes: no window, no estimate of the round trip | another source | `sender` |
//!
//! # What the texts leave open, and what we chose
//!
//! 1. *The message's form*: that of Simple ICMP's DEFER with a code of its own
//!    ([`ControlMessage`](lasthop_hop::control_message::ControlMessage)). So a sender accepts one
//!    only if it quotes outstanding data (RFC 5927, section 4.1).
//! 2. *The number of messages*: a fast hop fails thousands of times a second, and each message
//!    crosses the wired path. At most one is sent per connection and `least-interval`, by default
//!    50 ms: a quarter of the minimum RTO of Linux, so that no timer expires between two of them.
//!    It takes an entry in a table for each connection; 0 is the paper's rule, without a table.
//! 3. *How long*: a base station that is cut off, or an on-path attacker, could keep a timer from
//!    expiring indefinitely. The sender ignores messages `longest-deferral` after the first one
//!    since its last progress, by default 100 s, the minimum time for which a TCP has to keep
//!    trying (RFC 9293, section 3.8.3, R2).
//! 4. *Which segment*: any that is outstanding. The one that fails is seldom the one that the timer
//!    runs for, but the hop is the same.
//! 5. *Which frames*: TCP segments with data. A lost ACK does not concern the data sender.
//! 6. *Duplicate ACKs* are left to TCP: a link layer that keeps order causes none, and one that
//!    does not is DDA's subject.
//! 7. *Tail loss probes* (RFC 8985) have a separate timer, which the message does not affect: a
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
