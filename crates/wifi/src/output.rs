//! Outputs of the state machine.

use lasthop_packet::Instant;

use super::frame::{MacFrame, StationId};

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver acknowledged it.
    Delivered,
    /// The first transmission was not acknowledged; more will follow unless [`Fate::GivenUp`] follows at
    /// once.
    FirstTransmissionFailed,
    /// No transmission was acknowledged and no more will follow.
    GivenUp,
}

/// The times of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// When the packet was enqueued.
    pub queued: Instant,
    /// When it left the queue, and began to contend for the medium.
    pub departed: Instant,
    /// When the data frame began that has arrived, and ends now: after back-offs, earlier transmissions, RTS
    /// and CTS.
    pub began: Instant,
    /// The end of the DIFS after its ACK.
    pub over: Instant,
}

/// An output, at the time of the call that produced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A frame has arrived, and is no duplicate.
    Delivered {
        /// Where.
        at: StationId,
        /// Who sent it.
        from: StationId,
        /// The frame. A broadcast arrives at several stations.
        frame: MacFrame,
    },
    /// A frame has come into the hands of the MAC, and no other output implies it: it had waited for its
    /// receiver to wake, or its turn came when another frame's transmission had failed.
    Departs {
        /// The station.
        from: StationId,
    },
    /// A frame has waited too long for its receiver to wake, and is dropped.
    TooOld {
        /// The access point.
        from: StationId,
        /// The frame.
        frame: MacFrame,
    },
    /// The times of a unicast frame that the next output reports as delivered.
    Transmission {
        /// The sender.
        from: StationId,
        /// The frame.
        frame: MacFrame,
        /// Whether options were in it.
        has_options: bool,
        /// Its times.
        times: FrameTimes,
    },
    /// The outcome of a transmission, as its sender learns it.
    Attempt {
        /// The sender.
        from: StationId,
        /// The frame.
        frame: MacFrame,
        /// When the exchange began.
        began: Instant,
        /// Which transmission of the frame, from 1.
        transmission: u32,
        /// Whether the data frame failed to arrive, or was never sent because its RTS was not
        /// answered. If not, and the sender transmits it again, an acknowledgment was lost.
        lost: bool,
        /// Whether the sender has received an acknowledgment; a broadcast needs none.
        acknowledged: bool,
    },
    /// A frame's fate, as its sender learns it. [`Fate::Delivered`] and [`Fate::GivenUp`] are final.
    Fate {
        /// The sender.
        from: StationId,
        /// The frame.
        frame: MacFrame,
        /// Its fate. A broadcast counts as delivered once it is sent.
        fate: Fate,
        /// Whether a unicast frame has arrived; [`Output::Delivered`] has reported that.
        arrived: bool,
        /// Transmissions so far.
        transmissions: u32,
        /// Nanoseconds from its arrival in the queue to its first transmission.
        queueing: u64,
        /// Of them, those at the head of the queue: the access delay.
        access: u64,
        /// Nanoseconds of the sender's frames for it so far: RTS or CTS-to-self, and data.
        air_time: u64,
    },
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WlanCounters {
    /// Exchanges begun: transmissions of data frames, or of their RTS.
    pub attempts: u64,
    /// Of them, those that were not acknowledged.
    pub failures: u64,
    /// Of them, those whose data had arrived: the acknowledgment was lost.
    pub acks_lost: u64,
    /// Frames whose last permitted attempt was not acknowledged.
    pub given_up: u64,
    /// Data frames received again because their acknowledgment was lost.
    pub duplicates: u64,
    /// Frames that reached their addressee undisturbed and were lost by an error process.
    pub errors: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// RTS frames that were not answered because of a NAV.
    pub refused: u64,
    /// Data frames that arrived intact and were dropped because their receiver
    /// [refuses](super::Wlan::refuse_frames) frames.
    pub withheld: u64,
    /// Beacons sent. Of the other counters, beacons and PS-Polls are only in `errors`.
    pub beacons: u64,
    /// PS-Polls sent, repeated ones among them.
    pub ps_polls: u64,
    /// Frames dropped because their receiver did not fetch them in time.
    pub aged: u64,
    /// Frames with options that were sent again without.
    pub options_refused: u64,
}

/// The air that a station has used for packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Frames that were delivered, or given up.
    pub frames: u64,
    /// Their transmissions.
    pub transmissions: u64,
    /// Of the frames, those that were given up.
    pub given_up: u64,
    /// Nanoseconds of its frames for them.
    pub air_time: u64,
    /// Nanoseconds that they were at the head of its queue before their first transmission.
    pub access: u64,
}

impl Used {
    /// The sum of both.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            frames: self.frames + other.frames,
            transmissions: self.transmissions + other.transmissions,
            given_up: self.given_up + other.given_up,
            air_time: self.air_time + other.air_time,
            access: self.access + other.access,
        }
    }
}
