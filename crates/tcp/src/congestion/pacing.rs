//! How fast segments may leave, whatever the window allows.

use std::time::Duration;

use lasthop_packet::time::nanos;

use crate::flight::Flight;

/// The largest burst, in octets: what segmentation offload takes.
const LARGEST_BURST: u64 = 65_215;
/// A burst is what the rate sends in this part of a second.
const BURSTS_A_SECOND: u64 = 1024;
/// The largest burst is added, halved for each of these that the least round-trip time has: ACKs
/// repair what is lost soon.
const RTT_STEP: Duration = Duration::from_micros(512);
/// Bounds for the rate of [`crate::config::PacingRule::Fq`], in percent of cwnd a round trip.
const IN_SLOW_START: u64 = 200;
const AFTER_SLOW_START: u64 = 120;

/// A rate, and how much may leave at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacing {
    /// Octets of payload a second; at least 1.
    pub rate: u64,
    /// So many segments may always leave at once.
    pub least_burst: u32,
}

impl Pacing {
    /// The rate for a control that names none (`tcp_update_pacing_rate`); `None` before a round trip was
    /// measured.
    pub(crate) fn fair_queueing(flight: &Flight, srtt: Option<Duration>) -> Option<Self> {
        let srtt = srtt.filter(|srtt| !srtt.is_zero())?;
        let percent = if flight.cwnd < flight.ssthresh / 2 { IN_SLOW_START } else { AFTER_SLOW_START };
        // A window has no more than 30 bits: this fits into 64.
        let window = u64::from(flight.cwnd.max(flight.outstanding())) * percent;
        Some(Self { rate: (window * 10_000_000 / nanos(srtt)).max(1), least_burst: 2 })
    }

    /// Segments of `mss` octets in a super-packet: a millisecond of the rate, and more on a path whose least
    /// round-trip time is short (`tcp_tso_autosize`).
    pub(crate) fn super_packet(self, min_rtt: Option<Duration>, mss: u32) -> u32 {
        let halvings = min_rtt.map_or(u64::MAX, |rtt| nanos(rtt) / nanos(RTT_STEP));
        let near = u32::try_from(halvings).ok().and_then(|shift| LARGEST_BURST.checked_shr(shift));
        let octets = self.rate / BURSTS_A_SECOND + near.unwrap_or(0);
        let segments = (octets.min(LARGEST_BURST) / u64::from(mss)) as u32;
        segments.max(self.least_burst)
    }
}
