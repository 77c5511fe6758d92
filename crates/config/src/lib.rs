//! Configuration files, from their text to values, with errors that name the place.
//!
//! | module | what is in it |
//! |---|---|
//! | [`document`] | [`Document`]: a TOML file with the place of every key |
//! | [`strict`] | reading without serde's leniency |
//! | [`quantity`] | numbers, times and amounts of data, each within a range |
//! | [`preset`] | settings whose defaults depend on a preset |
//! | [`error`] | [`FileError`]: file, line, key, and what was expected |
//! | [`words`] | the words of messages: "did you mean", untrusted texts |
//! | [`files`] | [`Files`]: the source of files, the disk or memory |
//! | [`text`] | files before they are parsed, their lines |
//! | [`kind`] | [`Kind`]: the kinds of files, and the commands that accept them |
//!
//! Start with [`Document`].

pub mod document;
pub mod error;
pub mod files;
pub mod kind;
pub mod preset;
pub mod quantity;
pub mod strict;
pub mod text;
pub mod words;

pub use document::Document;
pub use error::FileError;
pub use files::{Disk, Files, InMemory};
pub use kind::Kind;
