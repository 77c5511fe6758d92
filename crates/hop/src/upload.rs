//! What an access point knows of a mobile host's upload: the data that has come off the hop, the
//! missing data, the retransmissions, and the delay of the hop.
//!
//! Snoop's uplink half and ELN use it. This is bookkeeping only: it changes no packet.

pub mod holes;
pub mod hop_delay;
mod losses;
