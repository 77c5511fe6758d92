//! Clients that roam between access points, and their connections that follow.
//!
//! | module | content |
//! |---|---|
//! | [`access_points`] | the access points of the site: names, addresses, numbers |
//! | [`message`] | the messages between access points, as octets |
//! | [`state`] | the connections of a client, as octets |
//! | [`handoffs`] | [`Handoffs`]: one [`lasthop_handoff::Handoff`] for each client; no clock, no network |
//! | [`outside`] | [`Outside`]: what hand-offs need from all that is not theirs |
//! | [`counters`] | what is counted of hand-offs |
//! | [`nat`] | access points that translate: translations that follow their client (map) |
//! | [`channel`] | [`Channel`]: carries messages to other access points |
//! | [`inbox`] | [`Inbox`]: messages that wait to be handled |
//! | [`site`] | [`Site`]: the channel over TLS, between ends that know each other's keys |
//! | [`links`] | the open channels, and the threads that send |
//! | [`directory`] | the access points that may be spoken with |
//! | [`source`] | the registry, once it can be reached |
//! | `questions` | questions to the registry, on a thread of their own |
//! | [`report`] | [`RoamingReport`]: lists and counters |
//! | `event` | the inputs of the thread |
//! | `associations` | clients that a bridge learns |
//! | `hostapd` | clients that hostapd reports |
//! | [`setup`] | from the gateway's file to all of these |
//! | [`driver`] | [`Roaming`]: the thread that runs the hand-offs of a gateway |
//!
//! The engine's part, which holds packets and moves connections, is `engine/roaming.rs`.

pub mod access_points;
mod associations;
pub mod channel;
pub mod counters;
pub mod directory;
pub mod driver;
mod event;
pub mod handoffs;
mod hostapd;
pub mod inbox;
pub mod links;
pub mod message;
pub mod nat;
pub mod outside;
mod questions;
pub mod report;
pub mod setup;
pub mod site;
pub mod source;
pub mod state;

pub use access_points::AccessPoints;
pub use channel::{Channel, Destination};
pub use directory::Configured;
pub use driver::{Parts, Roaming};
pub use handoffs::Handoffs;
pub use inbox::Inbox;
pub use nat::Nat;
pub use outside::Outside;
pub use report::RoamingReport;
pub use site::{Site, SiteParts};
pub use source::RegistrySource;
