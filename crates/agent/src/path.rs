//! The capacity of a path over several 802.11 hops, measured from frames (D. Kliazovich,
//! dissertation, University of Trento 2006, sections 4.4.1 to 4.4.3).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::link::FrameTimes;

/// The capacity of the path of a packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathCapacity {
    /// The minimum bandwidth of a hop, in octets per second.
    pub bandwidth: u32,
    /// The sum of the hops' delays without the waiting times in queues, in microseconds.
    pub delay: u32,
}

impl PathCapacity {
    /// The value before the first hop.
    pub const NO_HOPS: Self = Self { bandwidth: u32::MAX, delay: 0 };

    /// The measurement by one frame with this many octets of data (4.1, 4.2): the bandwidth from
    /// the packet's arrival in the queue, the delay from its departure from the queue. A frame
    /// without data measures no bandwidth.
    pub fn from_frame(octets: u32, times: &FrameTimes) -> Self {
        let nanos = times.since_queued().as_nanos().max(1);
        let bandwidth = u128::from(octets) * 1_000_000_000 / nanos;
        let bandwidth =
            if octets == 0 { u32::MAX } else { u32::try_from(bandwidth).unwrap_or(u32::MAX).max(1) };
        Self { bandwidth, delay: micros(times.since_departed()) }
    }

    /// The combination with another hop (4.6, 4.7).
    #[must_use]
    pub fn over(self, hop: Self) -> Self {
        Self { bandwidth: self.bandwidth.min(hop.bandwidth), delay: self.delay.saturating_add(hop.delay) }
    }
}

impl FrameTimes {
    /// The time from the packet's arrival in the queue to the end of the exchange (4.2).
    pub fn since_queued(&self) -> Duration {
        self.over.since(self.queued)
    }

    /// The time from the packet's departure from the queue to the end of the exchange.
    pub fn since_departed(&self) -> Duration {
        self.over.since(self.departed)
    }
}

/// Microseconds, as encoded in options of frames and messages.
pub fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
