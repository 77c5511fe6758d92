//! The server's end of a control socket, for the requests to a gateway or an emulation.

pub mod client;
pub mod listener;
