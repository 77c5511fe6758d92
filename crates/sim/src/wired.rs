//! Wired links: full duplex, each direction a pipe. One with a plain queue is first in, first out and
//! takes one event per packet; one with a managed queue takes two.

mod links;
mod managed;
mod managed_links;
mod pipe;

pub(crate) use links::WiredLinks;
pub(crate) use managed::ManagedPipe;
pub(crate) use managed_links::ManagedWiredLinks;
pub(crate) use pipe::Pipe;
