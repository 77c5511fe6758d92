//! Link-layer events.

use bitflags::bitflags;
use lasthop_packet::{Instant, Packet};
use std::fmt;
use std::time::Duration;

/// An event at the link layer of a watched interface; [`crate::Context::neighbor`] identifies the
/// link.
#[derive(Clone, Copy, Debug)]
pub enum LinkEvent<'a> {
    /// The fate of one frame that this node transmitted. Needs [`LinkSenses::FRAME_FATE`].
    Frame {
        /// The packet in the frame.
        packet: &'a Packet,
        /// The result.
        fate: Fate,
        /// Transmissions of this frame so far, including the first; 1 or more. This and what follows are
        /// known with [`LinkSenses::RETRIES`] only; otherwise 1, and no time.
        transmissions: u32,
        /// The time from the packet's arrival in the interface's queue to the start of its first
        /// transmission.
        queueing: Duration,
        /// The part of that time at the head of the queue: the time to gain access to the medium.
        /// `None` where the link layer does not separate the two.
        access: Option<Duration>,
        /// Air time of the frame's transmissions so far.
        air_time: Duration,
    },
    /// The result of one transmission of a frame; reported before a fate that follows from it.
    /// Needs [`LinkSenses::ATTEMPTS`].
    Attempt {
        /// The packet in the frame.
        packet: &'a Packet,
        /// The number of the transmission, from 1.
        transmission: u32,
        /// When it began, including RTS or CTS-to-self of an 802.11 frame.
        began: Instant,
        /// Whether the receiver's link layer has confirmed it. An unconfirmed transmission may
        /// still have arrived.
        is_confirmed: bool,
    },
    /// A packet has left the interface's queue for the air: reported once per packet, before its
    /// first transmission; over 802.11, when its frame begins to contend. Needs
    /// [`LinkSenses::DEPARTURES`].
    Departure {
        /// The packet.
        packet: &'a Packet,
    },
    /// A data frame has arrived that is not a duplicate of the one before; reported before the
    /// receiver sees the packet. The times in the frame are those known when its transmission
    /// began. Needs [`LinkSenses::TRANSMISSIONS`].
    Transmission {
        /// The packet.
        packet: &'a Packet,
        /// The times of the frame.
        times: FrameTimes,
    },
    /// A packet has joined the interface's queue, has left it for the air, or was dropped from it
    /// to make room: the backlog has changed. A packet that is transmitted at once does not join
    /// the queue. Needs [`LinkSenses::BACKLOG`].
    Backlog {
        /// The packet that has joined or left.
        packet: &'a Packet,
        /// Packets that wait now, without the one in transmission. Links that share a transmitter
        /// also share its queue.
        packets: usize,
        /// Their octets.
        octets: u64,
    },
}

impl<'a> LinkEvent<'a> {
    /// A frame of which only the fate is known, as without [`LinkSenses::RETRIES`].
    pub const fn of_fate(packet: &'a Packet, fate: Fate) -> Self {
        let (queueing, air_time) = (Duration::ZERO, Duration::ZERO);
        Self::Frame { packet, fate, transmissions: 1, queueing, access: None, air_time }
    }

    /// The packet that the event is about.
    pub const fn packet(&self) -> &'a Packet {
        match *self {
            Self::Frame { packet, .. }
            | Self::Attempt { packet, .. }
            | Self::Departure { packet }
            | Self::Transmission { packet, .. }
            | Self::Backlog { packet, .. } => packet,
        }
    }

    /// The sense that the event belongs to.
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
    /// When the packet joined the interface's queue.
    pub queued: Instant,
    /// When it left the queue, and began to contend for the medium.
    pub departed: Instant,
    /// When the data frame that has arrived, and ends now, began. Back-offs, earlier transmissions
    /// and the RTS and CTS precede it.
    pub began: Instant,
    /// When a DIFS after its ACK will have passed.
    pub over: Instant,
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver's link layer confirmed it.
    Delivered,
    /// The first transmission was not confirmed; more will follow unless [`Fate::GivenUp`] is
    /// reported next. Needs [`LinkSenses::RETRIES`].
    FirstTransmissionFailed,
    /// No transmission was confirmed, and no more will follow.
    GivenUp,
}

bitflags! {
    /// The link-layer events and features that an agent needs, or a world offers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LinkSenses: u8 {
        /// Whether each frame that this node transmits is delivered or given up. Without
        /// [`LinkSenses::RETRIES`], that is all that is known of it.
        const FRAME_FATE = 1;
        /// Each transmission of each frame, with its time.
        const ATTEMPTS = 1 << 1;
        /// Each packet that goes on the air, when it leaves the interface's queue.
        const DEPARTURES = 1 << 2;
        /// The backlog of the interface's queue, at each change.
        const BACKLOG = 1 << 3;
        /// A link layer that withholds its acknowledgment of a received frame at the request of an
        /// agent ([`crate::Agent::refuses_frames`]).
        const REFUSAL = 1 << 4;
        /// Each data frame that arrives, with its exact times.
        const TRANSMISSIONS = 1 << 5;
        /// Options in frames ([`Context::attach`](crate::Context::attach)).
        const LINK_OPTIONS = 1 << 6;
        /// The retries of each frame, beside its fate: a failure of its first transmission when it happens, the number of
        /// transmissions, queueing and air time.
        const RETRIES = 1 << 7;
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
    /// Each sense with its name, and the message to the user where it is missing.
    const ALL: [(Self, &'static str, &'static str); 8] = [
        (
            Self::LINK_OPTIONS,
            "options in frames",
            "the link layer does not carry link options (they have no encoding on a real wire; it needs a simulated 802.11 cell, without aggregation)",
        ),
        (
            Self::FRAME_FATE,
            "the fate of each frame",
            "the link layer does not report the fate of each frame (it needs one that confirms delivery)",
        ),
        (
            Self::RETRIES,
            "the retries of each frame",
            "the link layer reports the fate of each frame, but not a failure of its first transmission (it needs a simulated link, or a driver that reports it)",
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
            "the link layer does not report the times of data frames (it needs a simulated 802.11 cell, without aggregation)",
        ),
    ];

    /// The names of these senses.
    pub fn names(self) -> Vec<&'static str> {
        Self::ALL.iter().filter(|(sense, ..)| self.contains(*sense)).map(|(_, name, _)| *name).collect()
    }

    /// A sentence for the user about a sense in `self` that is missing in `offered`; `None` if none
    /// is.
    pub fn missing_from(self, offered: Self) -> Option<&'static str> {
        let missing = self - offered;
        Self::ALL.iter().find(|(sense, ..)| missing.contains(*sense)).map(|(.., sentence)| *sentence)
    }
}
