//! Every scheme, once, as a pure state machine.
//!
//! | module | what is in it |
//! |---|---|
//! | [`snoop`] | Snoop (1995): an access point that caches, retransmits and keeps duplicate ACKs from the sender |
//! | [`wtcp`] | WTCP (1998): Snoop's place, its own timer and window, and the time that repairs take kept out of the sender's round trip |
//! | [`dda`] | DDA (1999): the mobile host holds duplicate ACKs back while the link layer repairs |
//! | [`ebsn`] | EBSN (1997): the sender restarts its timer at each attempt that failed |
//! | [`icmp`] | Simple and Refined ICMP (1997): the sender hears what the link layer sees |
//! | [`lle`] | LLE-TCP (2006): ACKs made from the link layer's acknowledgments, and the real ones kept off the air |
//! | [`eln`] | ELN (1998): a mobile host's sender learns that the hop lost what it misses; with senders as they are, too |
//! | [`c3tcp`] | C3TCP (2006): the window is the bandwidth-delay product that the 802.11 stations on the way have measured |
//! | [`packet_control`] | TCP packet control (2014): filters for hops on which segments overtake each other |
//! | [`itcp`] | I-TCP (1995): two connections in place of one |
//! | [`cicada`] | CICADA (2005): the same in the ends' own numbers, opened from either side |
//! | [`as_tcp`] | AS-TCP: a split whose hop has no TCP ACKs |
//! | [`scheme`] | what a scheme is to the worlds: settings to agents and TCP extensions, role by role |
//! | [`stack`] | schemes with their settings, on top of each other |
//! | [`catalogue`] | every scheme by name |
//!
//! What schemes share about a last hop is in [`lasthop_hop`].
//!
//! Start with the module doc of a scheme: it cites the paper, and says where each rule comes from
//! and what we chose.

pub mod as_tcp;
pub mod c3tcp;
pub mod catalogue;
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
