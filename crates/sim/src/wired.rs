//! Wired links: full duplex, each direction a FIFO pipe.

mod links;
mod pipe;

pub(crate) use links::WiredLinks;
pub(crate) use pipe::Pipe;
