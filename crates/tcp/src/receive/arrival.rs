//! A segment that arrived.

use lasthop_packet::{Instant, Payload, Seq, Tcp, TcpFlags};

use crate::rtt::RttEstimator;

/// A segment with data, FIN or both.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) tcp: &'a Tcp,
    pub(crate) payload: &'a Payload,
    pub(crate) now: Instant,
    /// Our timestamp that it echoes (RFC 7323, section 4).
    pub(crate) echo: Option<Echo>,
    /// The deadline of the ACK that is already owed.
    pub(crate) ack_due: Option<Instant>,
    /// The round-trip time measured with our own data.
    pub(crate) rtt: &'a RttEstimator,
}

/// An echo of our timestamp.
#[derive(Clone, Copy)]
pub(crate) struct Echo {
    pub(crate) value: u32,
    /// Its age in milliseconds.
    pub(crate) age: u32,
}

impl Arrival<'_> {
    pub(super) const fn seq(&self) -> Seq {
        self.tcp.seq
    }

    #[inline]
    pub(super) const fn is_fin(&self) -> bool {
        self.tcp.flags.has(TcpFlags::FIN)
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.payload.len() as u32
    }
}
