//! A split: an agent that terminates a TCP connection on two legs, one towards each end.
//!
//! Each leg is a [`Connection`](lasthop_tcp::Connection) of its own, with its own round-trip time,
//! timers, loss recovery and congestion control. Data that arrives on one leg is sent on the other.
//!
//! [`Splits`] is the agent's table of all split connections, and [`Transparent`] adds to it those whose
//! handshake passes from end to end. The parts, of which only [`carried`] and [`legs`] are public:
//!
//! | module | contents |
//! |---|---|
//! | `opening` | a handshake that passes from end to end, and the legs that take its place |
//! | `openings` | the limits on these handshakes, in number and time |
//! | `pair` | the two legs of a connection |
//! | `vcache` | the store of each direction: data and FINs, from one leg to the other |
//! | `windows` | which connections share a window over the hop: those of a host, or all |
//! | `share` | one connection's share of that window |
//! | `late_acks` | ACKs that are late because they queue on their way back |
//! | `table` | all pairs |
//! | `account` | memory and obligations of all pairs together |
//! | `packets` | the processing of a packet of a pair's connection |
//! | `relay` | the transfer from one leg to the other |
//! | `lifetime` | timers, sleep and waking, the end of idle pairs |
//! | `inquiry` | keepalives to the ends of an idle pair |
//! | `liveness` | acknowledgments in the name of an end that may be gone |
//! | [`carried`] | the features that a SYN may request |
//! | `turns` | the order in which connections send over a hop |
//! | `passed_by`, `knowledge` | packets that bypassed the agent, and the state of pairs after that |
//! | `sleep` | the stored form of an idle pair |
//! | `transparent` | handshakes that pass, and the pairs that take their place |
//! | `transfer` | export and import of a pair |
//! | `rest` | the data of a pair that follows its state |
//! | `notifier` | an agent between the legs and the hop |
//! | `settings` | the settings |
//! | [`legs`] | the configuration of each leg |
//!
//! # Sequence numbers are kept
//!
//! With `opening` both legs continue with the sequence numbers, options and timestamps of the two
//! ends. So nothing is translated, and where nothing is owed, the connection continues when packets
//! bypass the agent, or when the agent is gone.
//!
//! # Ends
//!
//! A FIN is acknowledged only when the other end has acknowledged it and all data before it. So a
//! connection that ended in the ordinary way has delivered everything, whatever happened to the
//! agent. After a reset, or when a leg is given up, the other leg ends once it has delivered its
//! data.

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
mod rest;
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
pub use transfer::check_snapshot;
pub use transparent::Transparent;
