//! The errors of a gateway.

use std::io;

use thiserror::Error;

use super::requests::Unanswered;

/// Why a gateway did not start, or ended without a stop request.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// The ports could not be opened: an interface, a capability or a feature of the kernel is
    /// missing.
    #[error("{0}")]
    Ports(String),
    /// A socket, a signal handler or a namespace could not be set up.
    #[error("{0}")]
    Listeners(io::Error),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A key, the registry or the listener for other access points could not be opened.
    #[cfg(feature = "roaming")]
    #[error("roaming: {0}")]
    Roaming(String),
    /// Input or output on a port failed while the gateway was running.
    #[error("packet I/O failed: {0}; traffic passes without the gateway")]
    Broken(io::Error),
    /// The packet loop has ended without an error of its own.
    #[error("the packet loop has ended")]
    Ended,
    /// A change was accepted, but a packet loop is too busy to make it at once.
    #[error("{}", Unanswered::Pending)]
    Pending,
}
