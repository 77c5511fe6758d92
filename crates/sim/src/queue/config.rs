//! The configuration of queues.

use std::time::Duration;

use lasthop_link::QueueLimit;
use lasthop_packet::Probability;

/// How packets wait for transmission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueConfig {
    /// The limit of packets that wait.
    pub limit: QueueLimit,
    /// Which of those that wait is next, and which go no further.
    pub discipline: Discipline,
}

impl From<QueueLimit> for QueueConfig {
    /// A plain queue.
    fn from(limit: QueueLimit) -> Self {
        Self { limit, discipline: Discipline::DropTail }
    }
}

/// A queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// First in, first out; what finds no room is dropped.
    DropTail,
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    CoDel(CoDelConfig),
    /// Flow queues, each with controlled delay (RFC 8290).
    FqCoDel(FqCoDelConfig),
}

impl Discipline {
    /// Whether a queue of this discipline can change to another: the kind of discipline and the number of
    /// flow queues stay.
    pub(crate) const fn can_become(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::FqCoDel(old), Self::FqCoDel(new)) => old.flows == new.flows,
            (Self::DropTail, Self::DropTail)
            | (Self::Red(_), Self::Red(_))
            | (Self::CoDel(_), Self::CoDel(_)) => true,
            _ => false,
        }
    }
}

/// Random early detection (Floyd and Jacobson 1993).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Average queues between which a part of the packets is dropped.
    pub thresholds: Thresholds,
    /// The part at the upper threshold.
    pub max_probability: Probability,
    /// Weight of the queue as it is in its moving average; above 0, at most 1.
    pub weight: f64,
    /// Whether the part grows on from the upper threshold, to all at twice that (Floyd 2000);
    /// otherwise all are dropped from there on.
    pub gentle: bool,
    /// Octets of a typical packet: for each that an idle link could have sent, the average falls as
    /// if one had found an empty queue. With thresholds in octets, the probability is that of such a packet.
    pub mean_packet: u32,
    /// Whether packets that understand ECN are marked instead of dropped below the upper threshold.
    pub ecn: bool,
}

/// The lower and the upper threshold of an average queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thresholds {
    /// In packets; each has the same chance.
    Packets(u64, u64),
    /// In octets; a packet's chance grows with its length.
    Octets(u64, u64),
}

impl Default for RedConfig {
    /// As ns-2 has it: 5 and 15 packets, 10%, 0.002, gentle, 500 octets, no ECN.
    fn default() -> Self {
        Self {
            thresholds: Thresholds::Packets(5, 15),
            max_probability: Probability::new(0.1).unwrap_or(Probability::ZERO),
            weight: 0.002,
            gentle: true,
            mean_packet: 500,
            ecn: false,
        }
    }
}

/// Controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDelConfig {
    /// The delay that a standing queue may cause.
    pub target: Duration,
    /// The time for which the delay must stay above it: in the order of the worst round-trip time.
    pub interval: Duration,
    /// Whether packets that understand ECN are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// 5 ms and 100 ms (RFC 8289, sections 4.2 and 4.3), no ECN.
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

/// Flow queues with controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelConfig {
    /// The CoDel of each flow queue.
    pub codel: CoDelConfig,
    /// The number of flow queues; 1 or more.
    pub flows: u32,
    /// Octets that a flow queue may send before it is the next one's turn; 1 or more.
    pub quantum: u32,
    /// Octets of memory that what waits may take, whole buffers counted.
    pub memory_limit: u64,
}

impl Default for FqCoDelConfig {
    /// 1024 queues, 1514 octets, 32 MiB, and ECN (RFC 8290, section 5.2).
    fn default() -> Self {
        Self {
            codel: CoDelConfig { ecn: true, ..CoDelConfig::default() },
            flows: 1024,
            quantum: 1514,
            memory_limit: 32 << 20,
        }
    }
}
