//! Sessions: what two hosts say to each other, in both directions.
//!
//! | module | what is in it |
//! |---|---|
//! | [`config`] | what the hosts of a session do |
//! | [`outcome`] | what became of it |
//! | [`script`] | what a dialogue is: what has arrived, and what is opened, written and closed then |
//! | [`dialogue`] | a dialogue at work: one transaction after the other |
//! | [`draws`] | what it draws from |
//! | [`pace`] | when the next one begins: think times, or a load |
//! | [`size`] | how large things are |
//! | [`web`], [`mail`], [`ftp`] | the kinds of dialogues |
//!
//! A flow has data that goes one way and is written whatever arrives. A session is two-way: a call,
//! whose two streams go over RTP ([`crate::media`]); or a dialogue over connections that it opens
//! and closes, in which what is said next depends on what has arrived.

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
