//! Pacing, as the internal pacing of Linux 6.18 has it: the rate, and how many segments leave at once
//! (`pacer` says when).
//!
//! A simulated host has no queue below TCP but that of its link, and that takes packets at once:
//! there is nothing for TCP small queues to limit.

use std::time::Duration;

use lasthop_packet::Instant;

use super::{Connection, State};
use crate::congestion::{Pacing, SentSegment};

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

impl Connection {
    /// Whether what could leave has to wait for its time.
    #[inline(never)]
    pub(super) fn is_held_back(&mut self, now: Instant) -> bool {
        let carries_data = !matches!(self.state, State::Closed | State::Listen) && !self.is_handshaking();
        let Some(mut pacer) = self.pacer.filter(|_| carries_data) else { return false };
        let holds = pacer.holds(now, || self.burst());
        self.timers.pacing = (holds && self.has_more()).then_some(pacer.next_departure());
        self.pacer = Some(pacer);
        holds
    }

    /// A segment leaves: the next one waits for it.
    #[inline(never)]
    pub(super) fn pace(&mut self, segment: &SentSegment) {
        if self.goes_by_model {
            self.note_restart(segment.now);
        }
        if let Some(pacing) = self.pacing()
            && let Some(pacer) = &mut self.pacer
        {
            pacer.on_sent(segment.end - segment.seq, segment.now, pacing.rate);
        }
    }

    /// Whether something waits to be sent, or sent again.
    pub fn has_more(&self) -> bool {
        self.state != State::Closed
            && (self.buffer.len() > u64::from(self.flight.in_flight())
                || self.is_recovering
                || self.is_fin_next()
                || !self.retransmit.is_empty())
    }

    fn pacing(&self) -> Option<Pacing> {
        self.congestion.pacing().or_else(|| self.fair_queueing())
    }

    /// The rate for a control that names none (`tcp_update_pacing_rate`).
    fn fair_queueing(&self) -> Option<Pacing> {
        let flight = &self.flight;
        let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let percent = if flight.cwnd < flight.ssthresh / 2 { IN_SLOW_START } else { AFTER_SLOW_START };
        // A window has no more than 30 bits: this fits into 64.
        let window = u64::from(flight.cwnd.max(flight.outstanding())) * percent;
        Some(Pacing { rate: (window * 10_000_000 / nanos(srtt)).max(1), least_burst: 2 })
    }

    /// Segments that leave at once: those of a super-packet, but never more than half of the window
    /// (`tcp_cwnd_test`).
    fn burst(&self) -> u32 {
        self.super_packet_segments().min((self.flight.cwnd / self.flight.mss / 2).max(1))
    }

    /// Segments of a super-packet: a millisecond of the rate (`tcp_tso_autosize`).
    pub(super) fn super_packet_segments(&self) -> u32 {
        let Some(pacing) = self.pacing() else { return u32::MAX };
        let halvings = self.queue.min_rtt().map_or(u64::MAX, |rtt| nanos(rtt) / nanos(RTT_STEP));
        let near = u32::try_from(halvings).ok().and_then(|shift| LARGEST_BURST.checked_shr(shift));
        let octets = pacing.rate / BURSTS_A_SECOND + near.unwrap_or(0);
        let segments = (octets.min(LARGEST_BURST) / u64::from(self.flight.mss)) as u32;
        segments.max(pacing.least_burst)
    }
}

/// Nanoseconds, of round trips: the largest duration that fits is 584 years.
#[inline]
fn nanos(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
