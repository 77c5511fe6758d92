//! What the link layer saw.

use bitflags::bitflags;
use lasthop_packet::Packet;
use std::fmt;
use std::time::Duration;

/// Something that the link layer of a watched interface saw; [`crate::Context::neighbour`] says which one.
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
        /// From the packet's arrival in the interface's queue to the start of its first transmission.
        queueing: Duration,
        /// Of that time, what it spent at the head of the queue: the time to get the medium. `None` where the link layer does not
        /// tell the two apart.
        access: Option<Duration>,
        /// Air time that the frame's transmissions have taken so far.
        air_time: Duration,
    },
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver's link layer confirmed it.
    Delivered,
    /// The first transmission was not confirmed; more will follow unless a [`Fate::GivenUp`] comes right behind.
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
        let all = [(Self::FRAME_FATE, "the fate of each frame")];
        all.into_iter().filter(|(sense, _)| self.contains(*sense)).map(|(_, name)| name).collect()
    }

    /// What is in `self` and missing in `offered`, as a sentence for the user; `None` if nothing is.
    pub fn missing_from(self, offered: Self) -> Option<&'static str> {
        if (self - offered).contains(Self::FRAME_FATE) {
            return Some(
                "the link layer does not report the fate of each frame (it needs one that confirms delivery)",
            );
        }
        None
    }
}
