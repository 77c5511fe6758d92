//! Clients that roam between bridged access points, and their connections that follow.
//!
//! | module | content |
//! |---|---|
//! | [`access_points`] | the access points of the site: names, addresses, numbers |
//! | [`message`] | the messages between access points, as octets |
//! | [`state`] | the connections of a client, as octets |
//! | [`handoffs`] | [`Handoffs`]: one [`lasthop_handoff::Handoff`] for each client; no clock, no network |
//!
//! The engine's part, which holds packets and moves connections, is `engine/roaming.rs`.

pub mod access_points;
pub mod handoffs;
pub mod message;
pub mod state;

pub use access_points::AccessPoints;
pub use handoffs::{Handoffs, Outside};
