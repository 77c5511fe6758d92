//! Pacing, as the internal pacing of Linux 6.18 has it (`tcp_pacing_check`,
//! `tcp_update_skb_after_send`): a burst of segments leaves at once, and the next one when the rate
//! allows it.
//!
//! A simulated host has no queue below TCP but that of its link, and that takes packets at once:
//! there is nothing for TCP small queues to limit.

use std::time::Duration;

use lasthop_packet::Instant;

use super::{Connection, State};
use crate::congestion::{Pacing, SentSegment};

/// So many segments leave unpaced when the connection begins.
const UNPACED: u32 = 10;
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

/// When the next segment leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// The earliest time for the next burst.
    next: Instant,
    /// When the current burst left, how many more segments it may have, and by how much it was
    /// late.
    began: Option<Instant>,
    left: u32,
    credit: Duration,
    /// Segments sent so far, up to [`UNPACED`].
    sent: u32,
}

impl Pacer {
    pub(super) const fn next_departure(&self) -> Instant {
        self.next
    }

    /// Whether a segment has to wait; if it has not, and no burst is leaving, one of `segments()`
    /// begins.
    fn holds(&mut self, now: Instant, segments: impl FnOnce() -> u32) -> bool {
        if self.began == Some(now) && self.left > 0 {
            return false;
        }
        if self.next > now {
            return true;
        }
        self.credit = now.since(self.next);
        (self.began, self.left) = (Some(now), segments());
        false
    }

    /// A segment of so many octets leaves.
    fn on_sent(&mut self, octets: u32, now: Instant, rate: u64) {
        self.next = self.next.max(now);
        self.left = self.left.saturating_sub(1);
        self.sent = (self.sent + 1).min(UNPACED);
        if self.sent < UNPACED {
            self.credit = Duration::ZERO;
            return;
        }
        let takes = Duration::from_nanos(u64::from(octets) * 1_000_000_000 / rate.max(1));
        // Time lost since the last burst is made up for, by half of what this one takes.
        let made_up = self.credit.min(takes / 2);
        self.credit -= made_up;
        self.next += takes.saturating_sub(made_up);
    }
}

impl Connection {
    /// Whether what could leave has to wait for its time.
    #[inline(never)]
    pub(super) fn is_held_back(&mut self, now: Instant) -> bool {
        let carries_data = !matches!(self.state, State::Closed | State::Listen) && !self.is_handshaking();
        let Some(mut pacer) = self.pacer.filter(|_| carries_data) else { return false };
        let holds = pacer.holds(now, || self.burst());
        self.timers.pacing = (holds && self.has_more()).then_some(pacer.next);
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
    fn has_more(&self) -> bool {
        self.buffer.len() > u64::from(self.flight.in_flight())
            || self.is_recovering
            || self.is_fin_next()
            || !self.retransmit.is_empty()
    }

    fn pacing(&self) -> Option<Pacing> {
        self.congestion.pacing().or_else(|| self.fair_queueing())
    }

    /// The rate for a control that names none (`tcp_update_pacing_rate`).
    fn fair_queueing(&self) -> Option<Pacing> {
        let flight = &self.flight;
        let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let percent = if flight.cwnd < flight.ssthresh / 2 { IN_SLOW_START } else { AFTER_SLOW_START };
        let window = u128::from(flight.cwnd.max(flight.outstanding())) * u128::from(percent);
        let rate = window * 10_000_000 / srtt.as_nanos();
        Some(Pacing { rate: u64::try_from(rate).unwrap_or(u64::MAX).max(1), least_burst: 2 })
    }

    /// Segments that leave at once: a millisecond of the rate, but never more than half of the
    /// window (`tcp_tso_autosize`, `tcp_cwnd_test`).
    fn burst(&self) -> u32 {
        let Some(pacing) = self.pacing() else { return u32::MAX };
        let halvings = self.queue.min_rtt().map_or(u128::MAX, |rtt| rtt.as_nanos() / RTT_STEP.as_nanos());
        let near = u32::try_from(halvings).ok().and_then(|shift| LARGEST_BURST.checked_shr(shift));
        let octets = pacing.rate / BURSTS_A_SECOND + near.unwrap_or(0);
        let segments = (octets.min(LARGEST_BURST) / u64::from(self.flight.mss)) as u32;
        segments.max(pacing.least_burst).min((self.flight.cwnd / self.flight.mss / 2).max(1))
    }
}

#[cfg(test)]
mod tests;
