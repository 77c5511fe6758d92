//! The server's end of a control socket, whatever is asked there: of a gateway or of an emulation.

pub mod client;
pub mod listener;
