//! What arrives, and what is known about it.

use lasthop_packet::{Instant, Payload, Seq, Tcp, TcpFlags};

use crate::rtt::RttEstimator;

/// A segment with data, FIN or both.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    pub(crate) tcp: &'a Tcp,
    pub(crate) payload: &'a Payload,
    pub(crate) now: Instant,
    /// The timestamp of ours that it brings back (RFC 7323, section 4).
    pub(crate) echo: Option<Echo>,
    /// When the ACK that is owed already leaves at the latest.
    pub(crate) ack_due: Option<Instant>,
    /// What our own data says about the round trip.
    pub(crate) rtt: &'a RttEstimator,
}

/// A timestamp of ours that came back.
#[derive(Clone, Copy)]
pub(crate) struct Echo {
    pub(crate) value: u32,
    /// How old it is, in milliseconds.
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
