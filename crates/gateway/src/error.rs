//! Why a gateway does not run.

use std::io;

use thiserror::Error;

use super::requests::Unanswered;

/// Why a gateway did not start, or ended by itself.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// Its ports could not be opened: no such interface, no capability, no such feature of the
    /// kernel.
    #[error("{0}")]
    Ports(String),
    /// A socket, a signal, or a namespace.
    #[error("{0}")]
    Listeners(io::Error),
    /// A thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A port broke while it ran.
    #[error("packet I/O failed: {0}; traffic passes without the gateway")]
    Broken(io::Error),
    /// The packet loop ended without a word.
    #[error("the packet loop has ended")]
    Ended,
    /// A change was accepted, and a packet loop is too busy to make it at once.
    #[error("{}", Unanswered::Pending)]
    Pending,
}
