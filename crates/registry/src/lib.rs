//! Which access point each client is at.
//!
//! | module | contents |
//! |---|---|
//! | [`registry`] | [`Registry`], the trait; how each call maps to etcd; [`Watch`] |
//! | [`client`] | [`Client`], a MAC address or another key |
//! | [`entry`] | [`AccessPoint`], [`LeaseId`]; [`Entry`], where a client is; [`Change`], [`Snapshot`] |
//! | [`error`] | [`Refusal`], which changes nothing; [`Error`] |
//! | [`limits`] | [`Limits`] on clients, names, the file, the changes that are kept |
//! | [`state`] | [`State`], the rules, without clock and file: a command becomes an [`Event`](state::Event) |
//! | [`embedded`] | [`Embedded`], the registry of one daemon, in one file; its [`Disk`](embedded::Disk) |
//! | [`server`] | [`Server`], an embedded registry for other access points; who may do what |
//! | [`remote`] | [`Remote`], the registry that another access point serves |
//!
//! The registry knows no connections: their state goes from access point to access point. What it
//! decides is who may have a client's connections. An access point has a *lease*, and claims a
//! client with the *epoch* under which it knows the client to be elsewhere. A claim raises the
//! epoch, so at most one of several access points wins, and what an access point sends with an
//! older epoch is recognized as outdated.
//!
//! Start with [`Registry`].

pub mod client;
pub mod embedded;
pub mod entry;
pub mod error;
mod history;
pub mod limits;
pub mod registry;
pub mod remote;
pub mod server;
pub mod state;
mod wire;

pub use client::Client;
pub use embedded::{Durability, Embedded, OpenError};
pub use entry::{AccessPoint, Change, Entry, LeaseId, Snapshot};
pub use error::{Error, Refusal};
pub use limits::Limits;
pub use registry::{Registry, Watch};
pub use remote::Remote;
pub use server::{Server, ServerCounts};
pub use state::State;
