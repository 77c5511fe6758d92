//! Floor 2: every scheme, once, as a pure state machine.
//!
//! | module | what is in it |
//! |---|---|
//! | [`snoop`] | Snoop (1995): an access point that caches, retransmits and keeps duplicate ACKs from the sender |
//! | [`settings`] | how a scheme's settings write durations and amounts of data |
//!
//! Start with the module doc of a scheme: it cites the paper, and says where each rule comes from and what we chose.

pub mod settings;
pub mod snoop;
