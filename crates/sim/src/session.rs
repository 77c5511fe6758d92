//! Sessions: what two hosts say to each other, in both directions.
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | what a session is: who, from when to when, what |
//! | [`outcome`] | what became of it |
//!
//! A flow has data that goes one way and is written whatever arrives. A session is two-way: a call,
//! whose two streams go over RTP ([`crate::media`]); or a dialogue over connections that it opens
//! and closes, in which what is said next depends on what has arrived.

pub mod config;
pub mod outcome;

pub use config::{Activity, SessionConfig};
pub use outcome::{CallOutcome, DialogueOutcome, SessionOutcome, SessionResult};
