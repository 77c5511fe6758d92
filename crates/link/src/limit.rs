//! How much may wait in a queue.

/// How much may wait for transmission, the packet in transmission not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// No limit.
    Unlimited,
    /// This number of packets.
    Packets(u64),
    /// This number of octets.
    Octets(u64),
}

impl QueueLimit {
    /// Whether a packet of `len` octets fits behind this number of packets and octets.
    #[inline]
    pub const fn has_room(self, packets: usize, octets: u64, len: usize) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets(limit) => (packets as u64) < limit,
            Self::Octets(limit) => octets + len as u64 <= limit,
        }
    }

    /// Whether this number of packets and octets is more than may wait.
    #[inline]
    pub const fn is_exceeded_by(self, packets: usize, octets: u64) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Packets(limit) => packets as u64 > limit,
            Self::Octets(limit) => octets > limit,
        }
    }
}
