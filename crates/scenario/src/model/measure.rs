//! The time series that a run can write.

/// A time series.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The congestion window and slow start threshold of a sender, after each change.
    Window,
    /// The round-trip times and retransmission time-out of a sender, after each measurement.
    Rtt,
    /// The sequence and acknowledgment numbers that the endpoints of a flow send and receive.
    Sequence,
    /// The queue length of each link direction, each time that a packet arrives.
    Queue,
    /// The state of each wireless channel, after each change.
    Channel,
    /// The transmissions of frames on wireless links, and the fate of each frame.
    Frames,
    /// The packets that are dropped or lost, with the cause.
    Drops,
}
