//! The wireless link of the 1997 thesis, as a model of its own: a two-state channel, a medium, a
//! stop-and-wait link layer, or one that sends on meanwhile and retransmits out of order.
//!
//! A link is full duplex by default: each direction has a medium to itself. Links that name a
//! common medium share it: one exchange at a time, granted in turn to the nodes that have something
//! to send, and at each node in turn to its peers (thesis, section 4.2, item 8). That arbitration
//! is ideal: no collisions and no contention overhead. With the 802.11 MAC they are links of a cell
//! ([`lasthop_wifi`]).

mod channels;
mod hop;
mod layer;
mod links;
mod medium;
mod outstanding;
mod received;
mod state_trace;

pub use crate::channel::{ChannelConfig, ForcedLoss, Sojourn, StateSource, StateTrace};
pub(crate) use hop::Hop;
pub use layer::{Arq, Feedback, LinkLayer};
pub(crate) use links::WirelessLinks;
pub use state_trace::{StateTraceError, parse_state_trace, state_trace_line};
