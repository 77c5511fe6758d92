//! What an access point can know of a mobile host's upload: which of its data came off the hop, what
//! is missing, what was sent again, and how long the hop takes.
//!
//! Snoop's uplink half and ELN go by it. It is bookkeeping alone: no packet is touched here.

pub mod holes;
pub mod hop_delay;
mod losses;
