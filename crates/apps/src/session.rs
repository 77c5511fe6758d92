//! Sessions: two-way exchanges between two hosts.
//!
//! | module | contents |
//! |---|---|
//! | [`config`] | the configuration of a session |
//! | [`outcome`] | its outcome |
//! | [`script`] | scripts, which react to arrivals with actions on connections |
//! | [`dialogue`] | a running dialogue: a sequence of transactions |
//! | [`draws`] | the random number generators of a session |
//! | [`pace`] | the start of transactions: think times, or a load |
//! | [`size`] | distributions of sizes |
//! | [`web`], [`mail`], [`ftp`] | the kinds of dialogues |
//!
//! A flow carries data in one direction, and its writes do not depend on arrivals. A session is
//! two-way: a call, with streams over RTP ([`crate::media`]), or a dialogue over connections that
//! it opens and closes, in which each message depends on those that have arrived.

pub mod config;
pub mod dialogue;
pub mod draws;
pub mod ftp;
pub mod mail;
pub mod outcome;
pub mod pace;
pub mod script;
pub mod size;
pub mod web;

pub use crate::media::CallOutcome;
pub use config::{Activity, DialogueKind, EndExtensions, SessionTcp};
pub use dialogue::{Dialogue, DialogueEvent};
pub use draws::Draws;
pub use ftp::Ftp;
pub use mail::Mail;
pub use outcome::SessionSoFar;
pub use outcome::{DialogueOutcome, SessionOutcome, SessionResult};
pub use pace::Pace;
pub use script::{Lane, Party, Step};
pub use size::{Measured, Size};
pub use web::{Objects, Web};
