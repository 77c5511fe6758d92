//! The gateway: agents for the traffic of a Linux access point.
//!
//! | module | content |
//! |---|---|
//! | [`frame`], [`buffer`] | an Ethernet or IP frame with the kernel's metadata; its memory |
//! | [`io`], [`device`] | [`io::PacketIo`]: input and output of frames, and its backends; their devices |
//! | [`engine`] | [`Engine`]: frames in, agents, frames out; no clock, no device |
//! | [`config`] | [`Config`]: the daemon's configuration file |
//! | [`plan`] | [`Plan`]: the rules and bounds of the engine |
//! | [`selector`] | [`Selector`]: a selection of connections, by port and prefix |
//! | [`connection`], [`table`] | the state of each connection, and its lifetime |
//! | [`reaction`] | whether a sender slows down on loss |
//! | [`rule`], [`counters`] | a rule with its agent; the counters |
//! | [`clients`], [`hop_rtt`], [`hop_watch`] | counters of clients, and measurements of the hop |
//! | [`listing`] | lists of connections and clients: columns, filters, order |
//! | [`daemon`] | [`Gateway`]: a running gateway, on threads of its own |
//! | `handover` | the state saved for the next gateway |
//! | [`link`] | events of a link layer in this process |
//! | `workers`, [`packet_loop`] | the packet loops, each on a thread of its own |
//! | `requests`, `merged_reports` | requests to all packet loops, and the merged report |
//! | `listeners`, `housekeeping`, [`control`], [`metrics`], [`http`], `notify` | signals, the control socket, Prometheus, systemd |
//! | [`punctuality`], `presence`, `trouble` | the lateness of the loop, whether it takes traffic, and the rate limit of log messages |
//! | `descriptors`, `allocator` | open files and large tables of the process |
//! | `roaming` | clients that move between access points, and their connections; a feature |
//! | [`ports`], [`detect`], `backend_choice`, `translation` | the interfaces, and the backend that takes frames from them |
//! | [`check`], `flow_offload`, `nftables` | whether a gateway could start on this machine, and what would bypass it |
//!
//! To read the code, start with [`engine::Engine::on_frame`]; to run a gateway, with
//! [`daemon::Start`].

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-gateway speaks to a Linux kernel");

mod allocator;
mod backend_choice;
pub mod buffer;
pub mod check;
pub mod clients;
pub mod config;
pub mod connection;
pub mod control;
pub mod counters;
pub mod daemon;
mod descriptors;
pub mod detect;
pub mod device;
pub mod engine;
mod error;
mod flow_offload;
pub mod frame;
mod handover;
pub mod hop_rtt;
pub mod hop_watch;
mod housekeeping;
pub mod http;
pub mod io;
pub mod link;
mod listeners;
pub mod listing;
mod merged_reports;
pub mod metrics;
mod nftables;
mod notify;
pub mod packet_loop;
pub mod plan;
pub mod ports;
mod presence;
pub mod pseudonyms;
pub mod punctuality;
pub mod radio_probe;
pub mod reaction;
mod requests;
#[cfg(feature = "roaming")]
pub mod roaming;
pub mod rule;
pub mod selector;
pub mod table;
#[cfg(test)]
mod tests;
mod translation;
mod trouble;
mod workers;

pub use config::Config;
pub use daemon::{Gateway, Start};
pub use engine::{Engine, Outgoing};
pub use error::GatewayError;
pub use plan::Plan;
pub use selector::Selector;
