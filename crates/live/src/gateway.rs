//! The gateway: agents on a Linux access point's own traffic.
//!
//! | module | what is in it |
//! |---|---|
//! | [`engine`] | [`Engine`]: frames in, agents, frames out; no clock, no device |
//! | [`config`] | [`Config`]: the daemon's configuration file |
//! | [`plan`] | [`Plan`]: what the engine is to do |
//! | [`selector`] | [`Selector`]: which connections, by port and prefix |
//! | [`connection`], [`table`] | what is remembered of each connection, and for how long |
//! | [`reaction`] | whether a sender slows down on loss |
//! | [`rule`], [`counters`] | a rule with its agent; what is counted |

pub mod config;
pub mod connection;
pub mod counters;
pub mod engine;
pub mod plan;
pub mod reaction;
pub mod rule;
pub mod selector;
pub mod table;

pub use config::Config;
pub use engine::{Engine, Outgoing};
pub use plan::Plan;
pub use selector::Selector;
