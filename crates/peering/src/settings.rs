//! Limits and times of channels.

use std::time::Duration;

/// Limits and times of channels. The memory of a listener's connections is bounded by them: at most
/// [`half_open`](Self::half_open) handshakes, each with less than 128 KiB, and [`channels`](Self::channels), each with
/// one message that arrives and the buffers of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The maximum length of a message's content, in octets. Both ends check it: of what they send, and of what
    /// they receive.
    pub message_octets: u32,
    /// A handshake, with the connection before it and an enrolment after it, fails after this time.
    pub handshake_time: Duration,
    /// A message that has begun to arrive, or to leave, is complete within this time, or the channel fails.
    pub message_time: Duration,
    /// Handshakes at a time. Connections beyond that are closed at once.
    pub half_open: usize,
    /// Handshakes at a time with one address.
    pub half_open_of_an_address: usize,
    /// Channels at a time.
    pub channels: usize,
    /// Channels at a time with one peer.
    pub channels_of_a_peer: usize,
    /// Wrong proofs of the site key in a [`wrong_proofs_time`](Self::wrong_proofs_time). After them, all enrolments
    /// are refused until it is over.
    pub wrong_proofs: u32,
    /// The time in which wrong proofs are counted.
    pub wrong_proofs_time: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            message_octets: 1 << 20,
            handshake_time: Duration::from_secs(5),
            message_time: Duration::from_secs(10),
            half_open: 32,
            half_open_of_an_address: 8,
            channels: 512,
            channels_of_a_peer: 8,
            wrong_proofs: 10,
            wrong_proofs_time: Duration::from_secs(60),
        }
    }
}
