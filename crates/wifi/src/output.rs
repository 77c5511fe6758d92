//! The outputs of the state machine.

use lasthop_packet::Instant;

use super::frame::{MacFrame, Receiver, StationId};
use super::phy::Rate;
use super::station::Channel;

/// The fate of a frame, as its sender learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The receiver acknowledged it.
    Delivered,
    /// The first transmission was not acknowledged. More follow, unless [`Fate::GivenUp`] follows
    /// at once.
    FirstTransmissionFailed,
    /// No transmission was acknowledged, and no more follow.
    GivenUp,
}

/// The times of a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// When the packet was enqueued.
    pub queued: Instant,
    /// When it reached the head of the queue and began to contend for the medium.
    pub departed: Instant,
    /// When the transmission of the data frame that has just arrived began: after backoffs, earlier
    /// transmissions, RTS and CTS.
    pub began: Instant,
    /// The end of the DIFS after its ACK.
    pub over: Instant,
}

/// An output. It takes place at the time of the call that produced it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Output {
    /// A frame has arrived and is not a duplicate.
    Delivered {
        /// The receiver.
        at: StationId,
        /// The sender.
        from: StationId,
        /// The frame. A broadcast arrives at several stations.
        frame: MacFrame,
    },
    /// A frame has left the queue, and no other output implies it: the frame waited for its receiver to wake, its turn
    /// came when the transmission of another frame failed, or it is transmitted together with the frame at the head.
    Departs {
        /// The station.
        from: StationId,
        /// The frame.
        frame: MacFrame,
    },
    /// A frame was dropped because it waited too long for its receiver to wake.
    TooOld {
        /// The access point.
        from: StationId,
        /// The frame.
        frame: MacFrame,
    },
    /// A station was tuned.
    Tuned {
        /// The station.
        station: StationId,
        /// The channel; `None`: it is off the air.
        channel: Option<Channel>,
    },
    /// The times of a unicast frame that the next output reports as delivered.
    Transmission {
        /// The sender.
        from: StationId,
        /// The frame.
        frame: MacFrame,
        /// Whether it carried options.
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
        /// The number of this transmission of the frame, from 1.
        transmission: u32,
        /// Whether the data frame did not arrive, or was not sent because its RTS was not answered.
        /// If `false` and the sender transmits the frame again, an acknowledgment was lost.
        lost: bool,
        /// Whether the sender has received an acknowledgment; broadcasts do not need one.
        acknowledged: bool,
    },
    /// The fate of a frame, as its sender learns it. [`Fate::Delivered`] and [`Fate::GivenUp`] are
    /// final.
    Fate {
        /// The sender.
        from: StationId,
        /// The frame.
        frame: MacFrame,
        /// Its fate. A broadcast counts as delivered once it is sent.
        fate: Fate,
        /// Whether a unicast frame has arrived. [`Output::Delivered`] has reported that or, under a block ack agreement,
        /// follows when the frames before it have arrived. A frame is acknowledged and does not arrive if the receiver has
        /// waited for it too long.
        arrived: bool,
        /// Transmissions so far.
        transmissions: u32,
        /// Nanoseconds from its arrival in the queue to the beginning of its first transmission.
        queueing: u64,
        /// Of these, nanoseconds at the head of the queue: the access delay.
        access: u64,
        /// Nanoseconds for which the sender has transmitted for this frame: RTS or CTS-to-self, and
        /// data.
        air_time: u64,
    },
    /// A raw frame has arrived and is not a duplicate. A broadcast arrives at several stations.
    RawDelivered {
        /// The receiver.
        at: StationId,
        /// The sender.
        from: StationId,
        /// The frame's key.
        key: u32,
        /// The rate of the transmission.
        rate: Rate,
        /// Its power at the receiver, in watts; `None` where the propagation model has no powers.
        power: Option<f64>,
    },
    /// The fate of a raw frame, as its sender learns it.
    RawFate {
        /// The sender.
        from: StationId,
        /// The frame's key.
        key: u32,
        /// Whether its receiver has acknowledged it; if not, it was given up. A broadcast counts as
        /// acknowledged once it is sent.
        acknowledged: bool,
        /// Its transmissions.
        transmissions: u32,
        /// Nanoseconds for which the sender has transmitted for it, with RTS or CTS-to-self.
        air_time: u64,
    },
}

/// Counters of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WlanCounters {
    /// Exchanges begun: transmissions of data frames, or of their RTS. Here and below, each packet of an A-MPDU counts as
    /// a frame.
    pub attempts: u64,
    /// Attempts that were not acknowledged.
    pub failures: u64,
    /// Failures whose data had arrived: the acknowledgment was lost.
    pub acks_lost: u64,
    /// Frames given up: their last permitted attempt was not acknowledged.
    pub given_up: u64,
    /// Data frames received again because their acknowledgment was lost.
    pub duplicates: u64,
    /// Frames that reached their addressee without a collision and were lost to an error process.
    pub errors: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// RTS frames that were not answered because the addressee's NAV was set.
    pub refused: u64,
    /// Data frames that arrived intact and were dropped because their receiver
    /// [refuses](super::Wlan::refuse_frames) frames.
    pub withheld: u64,
    /// Beacons of power save sent. Frames that carry no packet do not count in the other counters, except in
    /// `errors`.
    pub beacons: u64,
    /// PS-Polls sent, retries included.
    pub ps_polls: u64,
    /// Frames dropped by the aging function: their receiver did not fetch them in time.
    pub aged: u64,
    /// Frames with options that were retransmitted without them.
    pub options_refused: u64,
}

/// The use of the medium by a station's packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Frames that were delivered or given up.
    pub frames: u64,
    /// Transmissions of these frames.
    pub transmissions: u64,
    /// Of these frames, those that were given up.
    pub given_up: u64,
    /// Nanoseconds for which the station has transmitted for them.
    pub air_time: u64,
    /// Nanoseconds that they spent at the head of the queue before their first transmission.
    pub access: u64,
}

impl Used {
    /// The sum of the two.
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

/// The optional outputs that the caller has requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// The outcome of each transmission.
    pub(crate) attempts: bool,
    /// All fates of unicast frames, not only [`Fate::GivenUp`].
    pub(crate) fates: bool,
    /// The times of each data frame that arrives.
    pub(crate) transmissions: bool,
}

impl Wanted {
    /// Whether a frame's fate is reported.
    #[inline]
    pub(crate) fn has(self, fate: Fate, to: Receiver) -> bool {
        self.fates || fate == Fate::GivenUp || to == Receiver::Broadcast
    }
}
