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
//! | [`split`] | what these three have in common: legs, and what goes from one to the other |
//! | [`control_message`] | what a link layer tells a TCP sender, by ICMP |
//! | `window_scale` | what the handshake says of windows |
//! | `timestamps` | the clocks that timestamps come from |
//! | `lately` | the least of what was seen lately |
//! | [`last_hop`] | how much may be on the hop to a mobile host: a window that keeps the queue there short |
//! | [`upload`] | what an access point can know of an upload: its holes, the hop's delay |
//! | [`scheme`] | what a scheme is to the worlds: settings to agents and TCP extensions, role by role |
//! | [`stack`] | schemes with their settings, on top of each other |
//! | [`catalogue`] | every scheme by name |
//!
//! Start with the module doc of a scheme: it cites the paper, and says where each rule comes from
//! and what we chose.

pub mod as_tcp;
pub mod c3tcp;
pub mod catalogue;
pub mod cicada;
pub mod control_message;
pub mod dda;
pub mod ebsn;
#[cfg(test)]
mod edits;
pub mod eln;
pub mod icmp;
pub mod itcp;
pub mod last_hop;
mod lately;
pub mod layer_entry;
pub mod lle;
mod none;
pub mod packet_control;
mod plain_ack;
pub mod scheme;
pub mod snoop;
pub mod split;
pub mod stack;
mod syn;
mod timestamps;
mod transfer;
pub mod upload;
mod window_scale;
pub mod wtcp;

pub use scheme::{Placement, Role, Scheme, SchemeError, Seat};
pub use stack::SchemeStack;
