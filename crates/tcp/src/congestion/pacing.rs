//! Pacing: a limit to the sending rate, besides the window.

use std::time::Duration;

use lasthop_packet::time::nanos;

use crate::flight::Flight;

/// The largest burst, in octets: the limit of segmentation offload.
const MAX_BURST: u64 = 65_215;
/// Bursts per second at the pacing rate.
const BURSTS_PER_SECOND: u64 = 1024;
/// The largest burst is added, halved for each such step of the minimum round-trip time: on a short
/// path, ACKs soon reveal losses.
const RTT_STEP: Duration = Duration::from_micros(512);
/// Bounds for the rate of [`crate::config::PacingRule::Fq`], in percent of cwnd per round trip.
const IN_SLOW_START: u64 = 200;
const AFTER_SLOW_START: u64 = 120;

/// A pacing rate and its minimum burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Octets of payload per second; at least 1.
    pub rate: u64,
    /// Segments that may always be sent at once.
    pub min_burst: u32,
}

impl Pacing {
    /// The rate for a control that has none (`tcp_update_pacing_rate`); `None` before the first
    /// round-trip time.
    pub(crate) fn fair_queueing(flight: &Flight, srtt: Option<Duration>) -> Option<Self> {
        let srtt = srtt.filter(|srtt| !srtt.is_zero())?;
        let percent = if flight.cwnd < flight.ssthresh / 2 { IN_SLOW_START } else { AFTER_SLOW_START };
        // A window has at most 30 bits: this fits into 64.
        let window = u64::from(flight.cwnd.max(flight.outstanding())) * percent;
        Some(Self { rate: (window * 10_000_000 / nanos(srtt)).max(1), min_burst: 2 })
    }

    /// Segments of `mss` octets in a super-packet: about a millisecond at the rate, and more on a
    /// path with a short minimum round-trip time (`tcp_tso_autosize`).
    pub(crate) fn super_packet(self, min_rtt: Option<Duration>, mss: u32) -> u32 {
        let halvings = min_rtt.map_or(u64::MAX, |rtt| nanos(rtt) / nanos(RTT_STEP));
        let extra = u32::try_from(halvings).ok().and_then(|shift| MAX_BURST.checked_shr(shift));
        let octets = self.rate / BURSTS_PER_SECOND + extra.unwrap_or(0);
        let segments = (octets.min(MAX_BURST) / u64::from(mss)) as u32;
        segments.max(self.min_burst)
    }
}
