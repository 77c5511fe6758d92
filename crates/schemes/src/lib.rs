//! All schemes, as pure state machines.
//!
//! | module | contents |
//! |---|---|
//! | [`snoop`] | Snoop (1995): an access point that caches, retransmits and suppresses duplicate ACKs |
//! | [`wtcp`] | WTCP (1998): like Snoop, with its own timer and window, and the time of repairs hidden from the sender's round trip |
//! | [`dda`] | DDA (1999): the mobile host holds duplicate ACKs while the link layer repairs |
//! | [`ebsn`] | EBSN (1997): the sender restarts its timer at each failed attempt |
//! | [`icmp`] | Simple and Refined ICMP (1997): the sender learns of link-layer failures |
//! | [`lle`] | LLE-TCP (2006): ACKs generated from the link layer's acknowledgments, while the real ones stay off the air |
//! | [`eln`] | ELN (1998): a mobile host's sender learns that its losses occurred on the hop; also with unmodified senders |
//! | [`c3tcp`] | C3TCP (2006): the window is the bandwidth-delay product measured by the 802.11 stations on the path |
//! | [`packet_control`] | TCP packet control (2014): filters for hops on which segments overtake each other |
//! | [`itcp`] | I-TCP (1995): two connections instead of one |
//! | [`cicada`] | CICADA (2005): a split with the ends' own numbers, opened from either side |
//! | [`as_tcp`] | AS-TCP: a split without TCP ACKs on the hop |
//! | [`scheme`] | the interface of a scheme to the worlds: settings become agents and TCP extensions, role by role |
//! | [`stack`] | stacks of schemes with their settings |
//! | [`catalog`] | all schemes by name |
//!
//! Code about the last hop that schemes share is in [`lasthop_hop`].
//!
//! Start with the module doc of a scheme: it cites the paper, and states the source of each rule
//! and our choices.

pub mod as_tcp;
pub mod c3tcp;
pub mod catalog;
pub mod cicada;
pub mod dda;
pub mod ebsn;
#[cfg(test)]
mod edits;
pub mod eln;
pub mod icmp;
pub mod itcp;
pub mod layer_entry;
pub mod lle;
mod none;
pub mod packet_control;
pub mod scheme;
pub mod snoop;
pub mod stack;
pub mod wtcp;

pub use scheme::{Placement, Role, Scheme, SchemeError, Seat};
pub use stack::SchemeStack;
