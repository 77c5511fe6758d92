//! The treatment of lost frames by a link layer.

use std::time::Duration;

use super::received::REMEMBERED;

/// The treatment of lost frames.
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
    /// None: losses are neither detected nor repaired.
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
    /// The receiver acknowledges each frame over the air, through the same channel.
    Acknowledged {
        /// From the end of a transmission to the moment when the sender stops waiting.
        timeout: Duration,
        /// Octets of an acknowledgment frame.
        ack_octets: u32,
        /// What the sender does meanwhile.
        arq: Arq,
    },
    /// As if known at the end of the transmission, at no cost: hardware that acknowledges in a
    /// channel of its own (HARQ).
    Immediate,
}

/// What a sender does until a frame is acknowledged, or its time is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arq {
    /// Stop-and-wait: it waits, and holds the medium. Frames arrive in order.
    #[default]
    StopAndWait,
    /// Selective repeat: it leaves time for an acknowledgment behind each frame, and sends the next
    /// one. A frame that is missed goes ahead of all that wait, and is given up by itself. The
    /// receiver delivers at once what arrives, in any order, and only once: the link layer of
    /// Delayed Duplicate Acknowledgements as Kliazovich's dissertation reports it (University of
    /// Trento 2006, section 2.4).
    ///
    /// The order of retransmissions, the window, and when a frame is missed (by its own time-out)
    /// are ours.
    SelectiveRepeat {
        /// The most frames from the oldest that is not done with to the newest; 1 to
        /// [`LARGEST_WINDOW`](Self::LARGEST_WINDOW).
        window: u32,
    },
}

impl Arq {
    /// The largest window, that of a block acknowledgment in 802.11n. The receiver knows the
    /// numbers of as many frames.
    pub const LARGEST_WINDOW: u32 = REMEMBERED;
}
