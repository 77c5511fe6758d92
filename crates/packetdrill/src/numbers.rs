//! The addresses, streams and initial sequence numbers of the two ends of a run.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::Seq;

pub const LOCAL: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40000);
pub const REMOTE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 80);
/// The simulated stream that our application writes.
pub const OURS: u32 = 1;
/// The simulated stream that the peer sends.
pub const PEERS: u32 = 2;

/// The initial sequence numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The endpoint's initial sequence number.
    pub iss: Seq,
    /// The peer's initial sequence number.
    pub irs: Seq,
}

impl Numbers {
    /// A pair of small numbers, and two pairs that wrap.
    pub const ALL: [Self; 3] = [
        Self { iss: Seq(1000), irs: Seq(50_000) },
        Self { iss: Seq(u32::MAX), irs: Seq(u32::MAX) },
        Self { iss: Seq(u32::MAX - 1700), irs: Seq(u32::MAX - 2300) },
    ];
}
