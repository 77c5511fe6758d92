//! What the link layer saw.

use bitflags::bitflags;
use lasthop_packet::{Instant, Packet};
use std::fmt;
use std::time::Duration;

/// Something that the link layer of a watched interface saw; [`crate::Context::neighbour`] says
/// which one.
#[derive(Clone, Copy, Debug)]
pub enum LinkEvent<'a> {
    /// The fate of one frame that this node transmitted. Needs [`LinkSenses::FRAME_FATE`].
    Frame {
        /// The packet in the frame.
        packet: &'a Packet,
        /// What became of it.
        fate: Fate,
        /// Transmissions of this frame so far, the first included; 1 or more.
        transmissions: u32,
        /// From the packet's arrival in the interface's queue to the start of its first
        /// transmission.
        queueing: Duration,
        /// Of that time, what it spent at the head of the queue: the time to get the medium. `None`
        /// where the link layer does not tell the two apart.
        access: Option<Duration>,
        /// Air time that the frame's transmissions have taken so far.
        air_time: Duration,
    },
    /// This node has learned what became of one transmission of a frame; comes before a fate that
    /// follows from it. Needs [`LinkSenses::ATTEMPTS`].
    Attempt {
        /// The packet in the frame.
        packet: &'a Packet,
        /// Which transmission of the frame, from 1.
        transmission: u32,
        /// When it began: that of an 802.11 frame with its RTS or CTS-to-self.
        began: Instant,
        /// Whether the receiver's link layer has confirmed it. An unconfirmed one may have arrived
        /// all the same.
        is_confirmed: bool,
    },
}

impl<'a> LinkEvent<'a> {
    /// The packet that it is about.
    pub const fn packet(&self) -> &'a Packet {
        match *self {
            Self::Frame { packet, .. } | Self::Attempt { packet, .. } => packet,
        }
    }

    /// The sense that it takes.
    pub const fn sense(&self) -> LinkSenses {
        match self {
            Self::Frame { .. } => LinkSenses::FRAME_FATE,
            Self::Attempt { .. } => LinkSenses::ATTEMPTS,
        }
    }
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver's link layer confirmed it.
    Delivered,
    /// The first transmission was not confirmed; more will follow unless a [`Fate::GivenUp`] comes
    /// right behind.
    FirstTransmissionFailed,
    /// No transmission was confirmed and no more will follow.
    GivenUp,
}

bitflags! {
    /// What an agent needs to see of the link layer, and what a world has to offer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LinkSenses: u8 {
        /// The exact fate of each frame that this node transmits.
        const FRAME_FATE = 1;
        /// Each transmission of each frame, with its time.
        const ATTEMPTS = 2;
    }
}

/// In words: "the fate of each frame", or "nothing".
impl fmt::Display for LinkSenses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "nothing" } else { "" })?;
        f.write_str(&self.names().join(", "))
    }
}

impl LinkSenses {
    /// What each of these is, in words.
    pub fn names(self) -> Vec<&'static str> {
        let all =
            [(Self::FRAME_FATE, "the fate of each frame"), (Self::ATTEMPTS, "each transmission of a frame")];
        all.into_iter().filter(|(sense, _)| self.contains(*sense)).map(|(_, name)| name).collect()
    }

    /// What is in `self` and missing in `offered`, as a sentence for the user; `None` if nothing
    /// is.
    pub fn missing_from(self, offered: Self) -> Option<&'static str> {
        let missing = self - offered;
        if missing.contains(Self::FRAME_FATE) {
            return Some(
                "the link layer does not report the fate of each frame (it needs one that confirms delivery)",
            );
        }
        missing.contains(Self::ATTEMPTS).then_some(
            "the link layer does not report each transmission of a frame (it needs one that confirms delivery)",
        )
    }
}
