//! A split: an agent that is an end of two TCP connections, one towards each end of a third.
//!
//! Each leg is a [`Connection`](lasthop_tcp::Connection) of its own, with its own round-trip time,
//! timers, loss recovery and congestion control. What arrives on one goes out on the other.
//!
//! | module | what is in it |
//! |---|---|
//! | `opening` | a handshake that passes from end to end, and the legs that take its place |
//! | `openings` | how many of these there may be, and for how long |
//! | `pair` | the two legs of a connection |
//! | `vcache` | the store of each direction: octets and ends, from one leg to the other |
//! | `windows` | which connections share a window over the hop: those of a host, or all |
//! | `share` | what one connection has of that window |
//! | `late_acks` | ACKs that are late because they queue on their way back |
//! | `table` | all pairs |
//! | `account` | what all pairs have taken, and owe, together |
//! | `packets` | what becomes of a packet of a pair's connection |
//! | `relay` | from one leg to the other |
//! | `lifetime` | timers, sleep and waking, the end of those that are idle |
//! | `inquiry` | whether the ends of one that is idle are still there |
//! | `presence` | what is said in the name of an end that may be gone |
//! | [`carried`] | what a SYN may ask for |
//! | `turns` | who may send over which hop |
//! | `passed_by`, `knowledge` | packets that went past the agent, and what pairs know after that |
//! | `sleep` | what is kept of a pair that nothing happens on |
//! | `transparent` | handshakes that pass, and the pairs that take their place |
//! | `transfer` | a pair as a value, for another agent |
//! | `notifier` | an agent between the legs and the hop |
//! | `settings` | what can be set |
//! | [`legs`] | how the endpoint of each leg is set |
//!
//! # Numbers are kept
//!
//! With `opening` both legs go on with the sequence numbers, options and timestamps of the two
//! ends. So nothing is translated, and where nothing is owed, packets may pass the agent by, or the
//! agent may be gone, and the connection goes on.
//!
//! # Ends
//!
//! A FIN is acknowledged only when the other end has acknowledged it, with all that comes before it.
//! So a connection that seems to have ended well has delivered everything, whatever happened to the
//! agent. A reset, or a leg that was given up, ends the other leg once that has delivered what it
//! has.

mod account;
pub mod carried;
mod inquiry;
mod knowledge;
mod late_acks;
pub mod legs;
mod lifetime;
mod liveness;
mod notifier;
mod opening;
mod openings;
mod packets;
mod pair;
mod passed_by;
mod relay;
mod settings;
mod share;
mod sleep;
mod table;
mod transfer;
mod transparent;
mod turns;
mod vcache;
mod windows;

pub use inquiry::ENDS_GONE;
pub use pair::Pair;
pub use settings::SplitSettings;
pub use table::Splits;
pub use transfer::check;
pub use transparent::Transparent;
