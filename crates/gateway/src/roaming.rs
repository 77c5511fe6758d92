//! Clients that roam between bridged access points, and their connections that follow.
//!
//! | module | content |
//! |---|---|
//! | [`access_points`] | the access points of the site: names, addresses, numbers |
//! | [`message`] | the messages between access points, as octets |
//! | [`state`] | the connections of a client, as octets |
//! | [`handoffs`] | [`Handoffs`]: one [`lasthop_handoff::Handoff`] for each client; no clock, no network |
//! | [`channel`] | [`Channel`]: carries messages to other access points |
//! | [`tcp`] | an unprotected channel, for tests and for networks that are trusted |
//! | `questions` | questions to the registry, on a thread of their own |
//! | [`report`] | [`RoamingReport`]: lists and counters |
//! | `event` | the inputs of the thread |
//! | `associations` | clients that a bridge learns |
//! | [`driver`] | [`Roaming`]: the thread that runs the hand-offs of a gateway |
//!
//! The engine's part, which holds packets and moves connections, is `engine/roaming.rs`.

pub mod access_points;
mod associations;
pub mod channel;
pub mod driver;
mod event;
pub mod handoffs;
pub mod message;
mod questions;
pub mod report;
pub mod state;
pub mod tcp;

pub use access_points::AccessPoints;
pub use channel::{Channel, Inbox};
pub use driver::{Parts, Roaming};
pub use handoffs::{Handoffs, Outside};
pub use report::RoamingReport;
