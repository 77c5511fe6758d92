//! The store of one direction of a connection: what one leg has taken in and the other has not
//! delivered. CICADA's paper calls it a `VCache`.
//!
//! Its free space is the window that is offered to the end that sends. A leg is read only as far as
//! the other one has use for more, so that no more waits here than what keeps the slower leg busy.

use lasthop_agent::{Room, Side};
use lasthop_packet::Instant;
use lasthop_tcp::{Connection, State};

use super::pair::Pair;

/// Octets that a leg always has to send, if the end that sends is fast enough.
const LEAST_STOCK: u64 = 65_536;

/// How much may lie between the legs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Octets in one direction.
    pub(super) octets: u64,
    /// The same for the direction to the mobile host.
    pub(super) towards_hop: u64,
    /// The largest window that is offered to the mobile host.
    pub(super) from_hop: u64,
    /// Memory that may still be taken.
    pub(super) memory: Room,
    /// Octets that the hop holds.
    pub(super) hop: u64,
    /// Whether an end may send more than was advertised to it.
    pub(super) may_grow: bool,
}

/// The store of one direction: a view of the two legs, which hold what is in it.
struct VCache<'a> {
    from: &'a mut Connection,
    to: &'a mut Connection,
    bounds: Bounds,
    /// The largest window that is offered.
    offered: u64,
}

impl VCache<'_> {
    /// Octets of free space, as far as it can be offered: none while nothing more is to be taken on.
    fn free(&self) -> u64 {
        if !self.bounds.may_grow {
            return 0;
        }
        // A buffer is up to half as large again as what is in it (`Packet::fit_buffer`), and there is
        // what is known of each segment. Where others have all the memory this one goes on trying:
        // what comes then may pass as it is.
        let Room { of_flow, in_all } = self.bounds.memory;
        let in_memory = (of_flow as u64 / 2).min((in_all as u64 / 2).max(LEAST_STOCK));
        self.bounds.octets.saturating_sub(self.to.unacknowledged()).min(in_memory).min(self.offered)
    }

    /// Passes on what has arrived, as long as the other leg has less than `stock` octets to send, and
    /// the end behind it.
    fn pass_on(mut self, stock: u64, now: Instant) {
        // Before it is read: that may advertise the window.
        let free = u32::try_from(self.free()).unwrap_or(u32::MAX);
        self.from.limit_window(free);
        if let Some(ahead) = self.from.urgent_ahead() {
            self.to.mark_urgent(ahead);
        }
        let stock = stock.max(LEAST_STOCK).min(self.bounds.octets);
        while self.to.unacknowledged() < stock
            && let Some(payload) = self.from.read()
        {
            self.to.write(payload);
        }
        // Else the store, which is kept short, would end with a push again and again.
        let has_more = self.from.unread() > 0 || !self.from.peer_has_pushed();
        self.to.expect_more(has_more);
        self.pass_on_end(now);
    }

    /// The end that sends has closed: so does the leg to the other one, and once that has
    /// acknowledged it, with all before it, the FIN is acknowledged here, too.
    fn pass_on_end(&mut self, now: Instant) {
        if self.from.peer_has_closed() && self.from.unread() == 0 {
            self.to.close();
            if self.to.is_fin_acknowledged() {
                self.from.accept_fin(now);
            }
        }
    }
}

impl Pair {
    /// Moves what has arrived on each leg to the other.
    pub(super) fn pass_on(&mut self, bounds: Bounds, now: Instant) {
        let core_stock = 2 * u64::from(self.core.flight().cwnd);
        VCache { from: &mut self.radio, to: &mut self.core, bounds, offered: bounds.from_hop }
            .pass_on(core_stock, now);
        let towards_hop = Bounds { octets: bounds.towards_hop, ..bounds };
        VCache { from: &mut self.core, to: &mut self.radio, bounds: towards_hop, offered: u64::MAX }
            .pass_on(2 * bounds.hop, now);
        self.end_with_other(Side::Core);
        self.end_with_other(Side::Radio);
    }

    /// Ends a leg whose other one has ended before its time: with a reset, as a plain connection
    /// would, behind what was acknowledged to the other end.
    fn end_with_other(&mut self, side: Side) {
        if !self.is_orphaned(side) {
            return;
        }
        let other = self.leg(side.opposite());
        let (is_all_read, has_closed) = (other.unread() == 0, other.peer_has_closed());
        let leg = self.leg_mut(side);
        // An end that had closed, and was gone before it heard that all had arrived, has ended well.
        let is_told = !has_closed || leg.is_fin_acknowledged();
        if is_all_read && leg.unacknowledged() == 0 && is_told && leg.state() != State::Closed {
            leg.abort();
        }
    }
}
