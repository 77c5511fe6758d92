//! What a link layer does about lost frames.

use std::time::Duration;

/// What happens to frames that are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLayer {
    /// How the sender learns of a frame's fate.
    pub feedback: Feedback,
    /// How often a frame is transmitted again before it is given up. The thesis's link layer makes
    /// 8 such attempts: nine transmissions in all, as the trace in its appendix B.4 shows. Without
    /// feedback it means nothing.
    pub retransmission_attempts: u32,
}

impl LinkLayer {
    /// Nothing: what is lost is lost, and nobody knows.
    pub const UNRELIABLE: Self = Self { feedback: Feedback::None, retransmission_attempts: 0 };

    /// Whether the sender learns of each frame's fate.
    pub const fn reports_fate(&self) -> bool {
        !matches!(self.feedback, Feedback::None)
    }
}

/// How a link layer's sender learns of a frame's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Not at all.
    None,
    /// Stop-and-wait: the receiver acknowledges each frame over the air, through the same channel;
    /// the sender waits for it, and holds the medium meanwhile.
    Acknowledged {
        /// From the end of a transmission to the moment when the sender stops waiting.
        timeout: Duration,
        /// Octets of an acknowledgment frame.
        ack_octets: u32,
    },
    /// As if known at the end of the transmission, at no cost: hardware that acknowledges in a
    /// channel of its own (HARQ).
    Immediate,
}
