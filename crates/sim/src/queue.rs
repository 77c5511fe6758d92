//! Queues before a transmitter: plain, or managed by a discipline that drops or marks packets before
//! there is no more room.
//!
//! | file | what is in it |
//! |---|---|
//! | [`config`] | the configuration of queues |
//! | [`station`] | the configuration of queues above the MAC of a station |
//! | `waiting` | packets that wait, first in, first out |
//! | `red` | random early detection (Floyd and Jacobson 1993) |
//! | `codel` | CoDel's control loop for one queue (RFC 8289) |
//! | `fq_codel` | flow queues with CoDel (RFC 8290) |
//! | `flow_hash` | the flow of a packet |
//! | `managed` | a queue under one of these; `either`: one that may be plain |
//!
//! RED decides when a packet arrives, CoDel when it leaves: a link with a managed queue asks for the
//! next packet when its transmitter is free, and not before.

mod codel;
pub mod config;
mod either;
mod flow_hash;
mod fq_codel;
mod managed;
mod red;
pub mod station;
#[cfg(test)]
mod tests;
mod waiting;

pub use config::{CoDelConfig, Discipline, FqCoDelConfig, QueueConfig, RedConfig, Thresholds};
pub(crate) use either::Queue;
pub(crate) use flow_hash::flow_hash;
pub(crate) use fq_codel::{FqCoDel, Rules};
pub use lasthop_link::QueueLimit;
pub(crate) use managed::{Managed, Pushed, mark};
pub use station::{AirtimeConfig, AirtimeLimits, DriverQueue, StationQueue};
pub(crate) use waiting::Waiting;
