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
    /// A packet has left the interface's queue for the air: told once per packet, before its first
    /// transmission; over 802.11, when its frame begins to contend. Needs
    /// [`LinkSenses::DEPARTURES`].
    Departure {
        /// The packet.
        packet: &'a Packet,
    },
    /// A data frame has arrived that is no copy of the one before it; told before the receiver sees
    /// the packet. What the frame says of the time that it has taken is known when its
    /// transmission begins. Needs [`LinkSenses::TRANSMISSIONS`].
    Transmission {
        /// The packet.
        packet: &'a Packet,
        /// When what happened.
        times: FrameTimes,
    },
    /// A packet has joined the interface's queue, has left it for the air, or was dropped from it to
    /// make room: what waits there now has changed. A packet that goes on the air at once joins none. Needs [`LinkSenses::BACKLOG`].
    Backlog {
        /// The packet that has joined or left.
        packet: &'a Packet,
        /// Packets that wait now, the one in transmission not counted. Links that share a
        /// transmitter share its queue, too.
        packets: usize,
        /// Their octets.
        octets: u64,
    },
}

impl<'a> LinkEvent<'a> {
    /// The packet that it is about.
    pub const fn packet(&self) -> &'a Packet {
        match *self {
            Self::Frame { packet, .. }
            | Self::Attempt { packet, .. }
            | Self::Departure { packet }
            | Self::Transmission { packet, .. }
            | Self::Backlog { packet, .. } => packet,
        }
    }

    /// The sense that it takes.
    pub const fn sense(&self) -> LinkSenses {
        match self {
            Self::Frame { .. } => LinkSenses::FRAME_FATE,
            Self::Attempt { .. } => LinkSenses::ATTEMPTS,
            Self::Departure { .. } => LinkSenses::DEPARTURES,
            Self::Transmission { .. } => LinkSenses::TRANSMISSIONS,
            Self::Backlog { .. } => LinkSenses::BACKLOG,
        }
    }
}

/// The times of an 802.11 data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// When the packet came to the interface's queue.
    pub queued: Instant,
    /// When it left the queue, and began to contend for the medium.
    pub departed: Instant,
    /// When the data frame began that has arrived, and ends now. Back-offs, earlier transmissions
    /// and the RTS and CTS lie before it.
    pub began: Instant,
    /// When a DIFS after its ACK will have passed.
    pub over: Instant,
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
        const ATTEMPTS = 1 << 1;
        /// Each packet that goes on the air, when it leaves the interface's queue.
        const DEPARTURES = 1 << 2;
        /// How much waits in the interface's queue, at each change.
        const BACKLOG = 1 << 3;
        /// A link layer that withholds its acknowledgment of a frame that has arrived, where an
        /// agent wants that ([`crate::Agent::refuses_frames`]).
        const REFUSAL = 1 << 4;
        /// Each data frame that arrives, with its exact times.
        const TRANSMISSIONS = 1 << 5;
        /// Options in frames ([`Context::attach`](crate::Context::attach)).
        const LINK_OPTIONS = 1 << 6;
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
    /// Each of them, in words, and what to say where it is missing.
    const ALL: [(Self, &'static str, &'static str); 7] = [
        (
            Self::LINK_OPTIONS,
            "options in frames",
            "the link layer does not carry link options (they have no encoding on a real wire; it needs a simulated 802.11 cell)",
        ),
        (
            Self::FRAME_FATE,
            "the fate of each frame",
            "the link layer does not report the fate of each frame (it needs one that confirms delivery)",
        ),
        (
            Self::ATTEMPTS,
            "each transmission of a frame",
            "the link layer does not report each transmission of a frame (it needs one that confirms delivery)",
        ),
        (
            Self::DEPARTURES,
            "each packet that goes on the air",
            "the link layer does not report which packet goes on the air (it needs a simulated wireless link)",
        ),
        (
            Self::BACKLOG,
            "what waits in the interface's queue",
            "the link layer does not report what waits in its queue (it needs a simulated wireless link)",
        ),
        (
            Self::REFUSAL,
            "a link layer that can refuse frames",
            "the link layer cannot withhold its acknowledgment of a frame (it needs a simulated 802.11 cell)",
        ),
        (
            Self::TRANSMISSIONS,
            "the times of each data frame that arrives",
            "the link layer does not report the times of data frames (it needs a simulated 802.11 cell)",
        ),
    ];

    /// What each of these is, in words.
    pub fn names(self) -> Vec<&'static str> {
        Self::ALL.iter().filter(|(sense, ..)| self.contains(*sense)).map(|(_, name, _)| *name).collect()
    }

    /// What is in `self` and missing in `offered`, as a sentence for the user; `None` if nothing
    /// is.
    pub fn missing_from(self, offered: Self) -> Option<&'static str> {
        let missing = self - offered;
        Self::ALL.iter().find(|(sense, ..)| missing.contains(*sense)).map(|(.., sentence)| *sentence)
    }
}
