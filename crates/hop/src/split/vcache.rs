//! The store of one direction of a connection: the data that one leg has received and the other has
//! not delivered. CICADA's paper calls it a `VCache`.
//!
//! Its free space is the window that is offered to the sender. A leg is read only as far as the
//! other one can use more, so that no more waits here than what keeps the slower leg busy.

use lasthop_agent::{Room, Side};
use lasthop_packet::Instant;
use lasthop_tcp::{Connection, State};

use super::pair::Pair;

/// Octets that a leg always has to send, if the sender is fast enough.
const MIN_STOCK: u64 = 65_536;

/// The limits of the stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Octets in one direction.
    pub(super) octets: u64,
    /// The same for the direction to the mobile host.
    pub(super) towards_hop: u64,
    /// The largest window that is offered to the mobile host.
    pub(super) from_hop: u64,
    /// Memory that may still be allocated.
    pub(super) memory: Room,
    /// The window of the hop in octets.
    pub(super) hop: u64,
    /// Whether an end may be allowed to send more than was advertised to it.
    pub(super) may_grow: bool,
}

/// The store of one direction: a view of the two legs, which hold its data.
struct VCache<'a> {
    from: &'a mut Connection,
    to: &'a mut Connection,
    bounds: Bounds,
    /// The largest window that is offered.
    offered: u64,
    /// Octets that follow from another agent, before all that is received.
    awaited: u64,
}

impl VCache<'_> {
    /// Octets of free space that may be offered: none while no more data may be accepted.
    fn free(&self) -> u64 {
        if !self.bounds.may_grow {
            return 0;
        }
        // A buffer is up to half as large again as its content (`Packet::fit_buffer`), and there
        // are records of each segment. Where others have all the memory, this connection continues
        // to try: packets that do not fit may pass.
        let Room { of_flow, in_all } = self.bounds.memory;
        let in_memory = (of_flow as u64 / 2).min((in_all as u64 / 2).max(MIN_STOCK));
        let held = self.to.unacknowledged() + self.awaited;
        self.bounds.octets.saturating_sub(held).min(in_memory).min(self.offered)
    }

    /// Moves received data, as long as the other leg has less than `stock` octets to send, and the
    /// FIN after it.
    fn pass_on(mut self, stock: u64, now: Instant) {
        // This comes before reading, which may advertise the window.
        let free = u32::try_from(self.free()).unwrap_or(u32::MAX);
        self.from.limit_window(free);
        if self.awaited > 0 {
            return;
        }
        if let Some(ahead) = self.from.urgent_ahead() {
            self.to.mark_urgent(ahead);
        }
        let stock = stock.max(MIN_STOCK).min(self.bounds.octets);
        while self.to.unacknowledged() < stock
            && let Some(payload) = self.from.read()
        {
            self.to.write(payload);
        }
        // Otherwise the store, which is kept short, would often end with a push.
        let has_more = self.from.unread() > 0 || !self.from.peer_has_pushed();
        self.to.expect_more(has_more);
        self.pass_on_end(now);
    }

    /// Handles a FIN from the sender: the other leg sends a FIN, too. Once that is acknowledged,
    /// with all data before it, the sender's FIN is acknowledged.
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
    /// Moves the data that has arrived on each leg to the other.
    pub(super) fn pass_on(&mut self, bounds: Bounds, now: Instant) {
        let core_stock = 2 * u64::from(self.core.flight().cwnd);
        let [to_core, to_radio] = [Side::Core, Side::Radio].map(|side| self.awaited.towards(side));
        let upward = VCache {
            from: &mut self.radio,
            to: &mut self.core,
            bounds,
            offered: bounds.from_hop,
            awaited: to_core,
        };
        upward.pass_on(core_stock, now);
        let bounds_to_hop = Bounds { octets: bounds.towards_hop, ..bounds };
        let downward = VCache {
            from: &mut self.core,
            to: &mut self.radio,
            bounds: bounds_to_hop,
            offered: u64::MAX,
            awaited: to_radio,
        };
        downward.pass_on(2 * bounds.hop, now);
        self.end_with_other(Side::Core);
        self.end_with_other(Side::Radio);
    }

    /// Ends a leg after the other one has ended early: with a reset, as in a plain connection,
    /// after the data that was acknowledged to the other end.
    fn end_with_other(&mut self, side: Side) {
        if !self.is_orphaned(side) || self.awaited.towards(side) > 0 {
            return;
        }
        let other = self.leg(side.opposite());
        let (is_all_read, has_closed) = (other.unread() == 0, other.peer_has_closed());
        let leg = self.leg_mut(side);
        // An end that closed, and was gone before it received the last ACK, has ended in the
        // ordinary way.
        let has_ended_well = !has_closed || leg.is_fin_acknowledged();
        if is_all_read && leg.unacknowledged() == 0 && has_ended_well && leg.state() != State::Closed {
            leg.abort();
        }
    }
}
