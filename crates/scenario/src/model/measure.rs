//! The time series that a run can write.

/// A time series.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// A sender's congestion window and slow start threshold, after each change.
    Window,
    /// A sender's round-trip times and retransmission time-out, after each measurement.
    Rtt,
    /// Sequence and acknowledgment numbers that a flow's endpoints send and receive.
    Sequence,
    /// The length of each link direction's queue, each time that a packet comes to it.
    Queue,
    /// The state of each wireless channel, after each change.
    Channel,
    /// Transmissions of frames on wireless links, and their fates.
    Frames,
}
