//! The server's end of a control socket, whatever is asked there: of a gateway or of an emulation.

pub(crate) mod client;
pub(crate) mod listener;
