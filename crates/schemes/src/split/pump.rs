//! Octets and ends, from one leg to the other.
//!
//! A leg is read only as far as the other one has use for more, so that what waits closes the window
//! of the end that sends; and that window is never larger than what there is room for.

use lasthop_agent::Side;
use lasthop_packet::Instant;
use lasthop_tcp::State;

use super::pair::Pair;

/// Octets that a leg always has to send, if the other end is fast enough.
const LEAST_STOCK: u64 = 65_536;

/// How much may lie between the legs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Octets in one direction that are acknowledged on one leg and not on the other.
    pub(super) octets: u64,
    /// Octets that the hop holds.
    pub(super) hop: u64,
    /// Whether an end may send more than it was told that it may.
    pub(super) may_grow: bool,
}

impl Pair {
    /// Moves what has arrived on each leg to the other.
    pub(super) fn pump(&mut self, bounds: Bounds, now: Instant) {
        let core_stock = 2 * u64::from(self.core.flight().cwnd);
        self.pump_to(Side::Core, core_stock, bounds, now);
        self.pump_to(Side::Radio, 2 * bounds.hop, bounds, now);
        self.end_with_other(Side::Core);
        self.end_with_other(Side::Radio);
    }

    fn pump_to(&mut self, to: Side, stock: u64, bounds: Bounds, now: Instant) {
        let (from, to) = match to {
            Side::Core => (&mut self.radio, &mut self.core),
            Side::Radio => (&mut self.core, &mut self.radio),
        };
        let stock = stock.max(LEAST_STOCK).min(bounds.octets);
        let taken = to.unacknowledged().min(bounds.octets);
        // Before it is read: that may have the window told.
        let room = if bounds.may_grow { bounds.octets - taken } else { 0 };
        from.limit_window(u32::try_from(room).unwrap_or(u32::MAX));
        while to.unacknowledged() < stock
            && let Some(payload) = from.read()
        {
            to.write(payload);
        }
        if from.peer_has_closed() && from.unread() == 0 {
            to.close();
            if to.is_fin_acknowledged() {
                from.accept_fin(now);
            }
        }
    }

    /// Ends a leg whose other one has ended before its time: with a reset, as a plain connection
    /// would, behind what was acknowledged to the other end.
    fn end_with_other(&mut self, side: Side) {
        let other = self.leg(side.opposite());
        let is_broken =
            other.state() == State::Closed && !(other.is_fin_acknowledged() && other.peer_has_closed());
        let is_all_read = other.unread() == 0;
        let leg = self.leg_mut(side);
        if is_broken && is_all_read && leg.unacknowledged() == 0 && leg.state() != State::Closed {
            leg.abort();
        }
    }
}
