//! The registry in etcd (3.4 and later), for many access points.
//!
//! | module | contents |
//! |---|---|
//! | [`registry`](mod@registry) | [`Etcd`], the back end |
//! | [`config`] | [`Config`]: members, names, times, TLS |
//!
//! [`lasthop_registry::registry`] says which request each call is. Requests go to etcd's JSON gateway over HTTP, so that
//! no runtime is needed: the members are asked one after another until one answers. A call whose answer is lost may be
//! repeated at another member. A claim has a number of its own, by which its repetition is recognized.
//!
//! # Who may lie, and what it gains
//!
//! Whoever may write below the prefix decides where all clients are, and which keys the gateways believe. etcd's users and
//! roles say who that is; it does not tell access points apart. The members are known by certificates, below the
//! roots of the web or below those in a file. Over `http://`, anybody on the path may do everything.

pub mod config;
mod gateway;
mod keys;
mod messages;
pub mod registry;
mod watch;

pub use config::{Config, User};
pub use registry::Etcd;
