//! What became of packets.

use std::collections::BTreeMap;

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// From outside, for an address and port without a mapping; or an ICMP error about no session.
    NoMapping,
    /// From outside, from an end that the filter does not admit.
    Filtered,
    /// A TCP segment or an ICMP answer that belongs to no session and opens none.
    NoSession,
    /// For a new mapping or session there is no room, or no port.
    Full,
    /// Its inside host is held ([`Nat::hold`](crate::Nat::hold)).
    Held,
    /// A checksum is wrong.
    WrongChecksum,
    /// A fragment, IP options, another protocol, or malformed.
    Unsupported,
}

impl Refusal {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoMapping => "no nat mapping",
            Self::Filtered => "filtered by nat",
            Self::NoSession => "no nat session",
            Self::Full => "nat full",
            Self::Held => "host held by nat",
            Self::WrongChecksum => "wrong checksum at nat",
            Self::Unsupported => "not translatable",
        }
    }
}

/// The number of packets by their fate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets translated; hairpinned ones count once.
    pub translated: u64,
    /// Packets dropped, by cause.
    pub dropped: BTreeMap<Refusal, u64>,
    /// Mappings made for packets.
    pub mapped: u64,
    /// Mappings whose last session has expired.
    pub expired: u64,
}
