//! The subcommands, each in its own file.

pub mod compare;
pub mod completions;
pub mod emulate;
pub mod gain;
pub mod gateway;
pub mod guest;
pub mod init;
pub mod kernel;
pub mod man;
pub mod reproduce;
pub mod run;
pub mod schema;
pub mod schemes;
pub mod simulated;
pub mod sweep;
pub mod trial;
pub mod version;
