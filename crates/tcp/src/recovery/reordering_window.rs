//! The reordering window: how long an overtaken segment may be late before it counts as lost (RFC
//! 8985, section 6.2, step 4).

use std::time::Duration;

use lasthop_packet::Seq;

use crate::flight::Flight;
use crate::retransmission_queue::Delivery;

//= RFC 8985, section 6.2, step 4: a window that has grown is kept for sixteen recoveries.
const RECOVERIES_KEPT: u32 = 16;
const LARGEST_MULTIPLIER: u32 = 255;

/// `RACK.reo_wnd` and the state that it depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReorderingWindow {
    /// `RACK.reordering_seen`.
    is_reordering_seen: bool,
    /// `RACK.reo_wnd_mult`: quarters of the minimum round-trip time.
    multiplier: u32,
    /// `RACK.reo_wnd_persist`: recoveries for which the multiplier is kept.
    persists: u32,
    /// `RACK.dsack_round`: the multiplier has grown, and cannot grow again before all data below
    /// this number is acknowledged.
    round_end: Option<Seq>,
}

impl Default for ReorderingWindow {
    fn default() -> Self {
        Self { is_reordering_seen: false, multiplier: 1, persists: 0, round_end: None }
    }
}

impl ReorderingWindow {
    /// Processes the delivery of an ACK; `is_probe` if the duplicate that it reports was a tail
    /// loss probe.
    pub(super) fn on_delivery(&mut self, delivery: &Delivery, is_probe: bool, flight: &Flight) {
        self.is_reordering_seen |= delivery.is_reordered;
        self.round_end = self.round_end.filter(|end| flight.una.before(*end));
        //= RFC 8985, section 6.2, step 4: once a round trip, a D-SACK shows that the window was too small.
        // Without reordering, and for a probe, the duplicate is not due to the window.
        let is_too_small = delivery.duplicate.is_some() && self.is_reordering_seen && !is_probe;
        if is_too_small && self.round_end.is_none() {
            self.round_end = Some(flight.max);
            self.multiplier = (self.multiplier + 1).min(LARGEST_MULTIPLIER);
            self.persists = RECOVERIES_KEPT;
        }
    }

    /// A segment that counted as lost was only late.
    pub(super) const fn on_late_original(&mut self) {
        self.is_reordering_seen = true;
    }

    //= RFC 8985, section 6.2, step 4: "exiting Fast or RTO recovery": "RACK.reo_wnd_persist -= 1".
    pub(super) const fn on_recovery_end(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.multiplier = 1;
        }
    }

    /// The window. It is zero if no reordering was seen and a loss is obvious: losses are being
    /// repaired, or enough data is reported above the gap.
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

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);

    fn flight(una: u32) -> Flight {
        let (una, max) = (Seq(una), Seq(una + 1000));
        Flight { una, nxt: max, max, peer_window: 65_535, mss: 1000, cwnd: 1000, ssthresh: 65_535 }
    }

    /// A window after reordering and this number of duplicates, one per round trip.
    fn after(duplicates: u32) -> ReorderingWindow {
        let mut window = ReorderingWindow::default();
        window.on_late_original();
        for round in 0..duplicates {
            let delivery = Delivery { duplicate: Some((Seq(0), Seq(1))), ..Delivery::default() };
            window.on_delivery(&delivery, false, &flight(round * 1000));
        }
        window
    }

    fn quarters(window: &ReorderingWindow) -> u128 {
        window.duration(true, Some(ROUND_TRIP), Some(ROUND_TRIP * 1000)).as_millis() / 25
    }

    //= RFC 8985, section 6.2, step 4: "Return min(RACK.reo_wnd_mult * RACK.min_RTT / 4, SRTT)".
    #[test]
    fn each_duplicate_adds_a_quarter_of_the_minimum_rtt_up_to_srtt() {
        assert_eq!([0, 1, 2, 9].map(|duplicates| quarters(&after(duplicates))), [1, 2, 3, 10]);
        let srtt = Some(Duration::from_millis(110));
        assert_eq!(after(9).duration(true, Some(ROUND_TRIP), srtt), Duration::from_millis(110));
        assert_eq!(quarters(&after(1000)), u128::from(LARGEST_MULTIPLIER));
    }

    //= RFC 8985, section 6.2, step 4: "RACK.reo_wnd_persist = 16": after 16 recoveries without a D-SACK "RACK.reo_wnd_mult = 1".
    #[test]
    fn the_multiplier_is_kept_for_sixteen_recoveries() {
        let mut window = after(3);
        (0..15).for_each(|_| window.on_recovery_end());
        assert_eq!(quarters(&window), 4);
        window.on_recovery_end();
        assert_eq!(quarters(&window), 1);
    }

    // As in Linux: a duplicate without reordering, or of a probe, does not show that the window was
    // too small.
    #[test]
    fn duplicates_of_a_probe_or_without_reordering_do_not_widen_the_window() {
        let delivery = Delivery { duplicate: Some((Seq(0), Seq(1))), ..Delivery::default() };
        let mut window = ReorderingWindow::default();
        window.on_delivery(&delivery, false, &flight(0));
        window.on_late_original();
        window.on_delivery(&delivery, true, &flight(1000));
        assert_eq!(quarters(&window), 1);
    }

    #[test]
    fn the_window_is_zero_without_a_round_trip_time() {
        assert_eq!(after(3).duration(false, None, None), Duration::ZERO);
    }
}
