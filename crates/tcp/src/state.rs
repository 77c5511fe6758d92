//! The states of a connection.

use serde::{Deserialize, Serialize};

/// The states of RFC 9293, section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the RFC's, and so is what they mean")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

impl State {
    /// Whether SYNs are still under way.
    pub(crate) const fn is_handshaking(self) -> bool {
        matches!(self, Self::SynSent | Self::SynReceived)
    }
}
