//! How long a segment may be overtaken before it counts as lost (RFC 8985, section 6.2, step 4).

use std::time::Duration;

use lasthop_packet::Seq;

use crate::flight::Flight;
use crate::retransmission_queue::Delivery;

//= RFC 8985, section 6.2, step 4: a window that has grown is kept for sixteen recoveries.
const RECOVERIES_KEPT: u32 = 16;
const LARGEST_MULTIPLIER: u32 = 255;

/// `RACK.reo_wnd`, and what it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReorderingWindow {
    /// `RACK.reordering_seen`.
    is_reordering_seen: bool,
    /// `RACK.reo_wnd_mult`: quarters of the least round-trip time.
    multiplier: u32,
    /// `RACK.reo_wnd_persist`: recoveries for which the multiplier is kept.
    persists: u32,
    /// `RACK.dsack_round`: the multiplier has grown, and does so again when all before this is
    /// acknowledged.
    round_end: Option<Seq>,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        Self { is_reordering_seen: false, multiplier: 1, persists: 0, round_end: None }
    }
}

impl ReorderingWindow {
    /// An ACK delivered this; `is_probe` if what the receiver got twice was a tail loss probe.
    pub(super) fn on_delivery(&mut self, delivery: &Delivery, is_probe: bool, flight: &Flight) {
        self.is_reordering_seen |= delivery.is_reordered;
        self.round_end = self.round_end.filter(|end| flight.una.before(*end));
        //= RFC 8985, section 6.2, step 4: once a round trip, a D-SACK shows that the window was too small.
        // Where the order was kept, and for a probe, the window has no part in what was sent twice.
        let is_too_small = delivery.duplicate.is_some() && self.is_reordering_seen && !is_probe;
        if is_too_small && self.round_end.is_none() {
            self.round_end = Some(flight.max);
            self.multiplier = (self.multiplier + 1).min(LARGEST_MULTIPLIER);
            self.persists = RECOVERIES_KEPT;
        }
    }

    /// What counted as lost was only late.
    pub(super) const fn on_late_original(&mut self) {
        self.is_reordering_seen = true;
    }

    //= RFC 8985, section 6.2, step 4: "exiting Fast or RTO recovery": "RACK.reo_wnd_persist -= 1".
    pub(super) const fn on_recovery_over(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.multiplier = 1;
        }
    }

    /// The window. It is nothing where the order was kept so far and a loss is obvious: one is being
    /// repaired, or enough is reported behind the gap.
    pub(super) fn duration(
        &self,
        is_obvious: bool,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        if !self.is_reordering_seen && is_obvious {
            return Duration::ZERO;
        }
        let quarters = min_rtt.unwrap_or_default() / 4 * self.multiplier;
        srtt.map_or(quarters, |srtt| quarters.min(srtt))
    }
}
