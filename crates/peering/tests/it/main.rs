//! Channels over real sockets on this machine.

mod channels;
mod path;
mod site;
mod strangers;
