//! Who the two ends of a run are.

use std::net::{IpAddr, Ipv4Addr};

use lasthop_packet::Seq;

pub const LOCAL: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 40000);
pub const REMOTE: (IpAddr, u16) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 80);
/// The simulated stream that our application writes, and below the one that the peer sends.
pub const OURS: u32 = 1;
pub const PEERS: u32 = 2;
/// The initial sequence numbers of a run.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The endpoint's.
    pub iss: Seq,
    /// The peer's.
    pub irs: Seq,
}

impl Numbers {
    /// Small ones, and two pairs that wrap.
    pub const ALL: [Self; 3] = [
        Self { iss: Seq(1000), irs: Seq(50_000) },
        Self { iss: Seq(u32::MAX), irs: Seq(u32::MAX) },
        Self { iss: Seq(u32::MAX - 1700), irs: Seq(u32::MAX - 2300) },
    ];
}
