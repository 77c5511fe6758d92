//! The gateway, agents on a Linux access point's own traffic.
//!
//! | module | what is in it |
//! |---|---|
//! | [`frame`], [`buffer`] | what crosses a port: an Ethernet or IP frame with what the kernel says about it; its octets |
//! | [`io`], [`device`] | [`io::PacketIo`]: ports that frames come from and go to, and its backends; their devices |
//! | [`engine`] | [`Engine`]: frames in, agents, frames out; no clock, no device |
//! | [`config`] | [`Config`]: the daemon's configuration file |
//! | [`plan`] | [`Plan`]: what the engine is to do |
//! | [`selector`] | [`Selector`]: which connections, by port and prefix |
//! | [`connection`], [`table`] | what is remembered of each connection, and for how long |
//! | [`reaction`] | whether a sender slows down on loss |
//! | [`rule`], [`counters`] | a rule with its agent; what is counted |
//! | [`clients`], [`hop_rtt`], [`hop_watch`] | what is counted of clients, and measured of the hop |
//! | [`listing`] | lists of connections and clients: columns, filters, order |
//! | [`daemon`] | [`Gateway`]: one that runs, on threads of its own |
//! | `handover` | what it leaves to the one that takes its place |
//! | [`link`] | what a link layer in this process tells it |
//! | `workers`, [`packet_loop`] | the packet loops, each on a thread of its own |
//! | `requests`, `together` | questions to all packet loops, and one report of all of them |
//! | `listeners`, `housekeeping`, [`control`], [`metrics`], [`http`], `notify` | signals, the control socket, Prometheus, systemd |
//! | [`punctuality`], `presence`, `trouble` | whether the loop was there when it should have been, whether it takes traffic, and what the log says of it |
//! | `descriptors`, `allocator` | open files and large tables of the whole process |
//! | [`ports`], [`detect`], `choice`, `translation` | which interfaces are which, and how frames are taken from them |
//! | [`check`], `flow_offload`, `nftables` | whether it could start on this machine, and what would bypass it |
//!
//! Start with [`engine::Engine::on_frame`], or with [`daemon::Start`] to run one.

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-gateway speaks to a Linux kernel");

mod allocator;
pub mod buffer;
pub mod check;
mod choice;
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
pub mod metrics;
mod nftables;
mod notify;
pub mod packet_loop;
pub mod plan;
pub mod ports;
mod presence;
pub mod punctuality;
pub mod reaction;
mod requests;
pub mod rule;
pub mod selector;
pub mod table;
#[cfg(test)]
mod tests;
mod together;
mod translation;
mod trouble;
mod workers;

pub use config::Config;
pub use daemon::{Gateway, Start};
pub use engine::{Engine, Outgoing};
pub use error::GatewayError;
pub use plan::Plan;
pub use selector::Selector;
