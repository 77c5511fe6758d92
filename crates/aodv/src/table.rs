//! The route table (section 6.2): sequence numbers, next hops, lifetimes, precursors.
//!
//! One rule for every entry prevents loops: its sequence number never decreases, and with the same
//! number an active route is only replaced by a shorter one, or by one of the same length where a
//! metric chooses among these. The RFC's text leaves ways around this rule, by which loops have
//! been constructed (van Glabbeek, Hoefner, Tan, Portmann, "Sequence Numbers Do Not Guarantee Loop
//! Freedom", `MSWiM` 2013). There the rule decides:
//!
//! - A known sequence number stays known. The RFC marks it invalid when a route to a neighbor is
//!   created without one, and would then accept any number, including older ones.
//! - An entry that becomes invalid, by a break, an error or its expiry, gets the next number, so
//!   that no node that learned the route from here can return it. An entry that is already invalid
//!   keeps its number, where 6.11 would increment it with every error.
//! - An error with an older number than the known one still invalidates the route, with the next
//!   number.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_packet::Instant;

use super::path::Path;

/// The entry of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The latest known sequence number; `None` if there never was one.
    pub sequence: Option<u32>,
    /// Hops to the destination; the last known ones while the entry is invalid.
    pub hop_count: u8,
    /// The next hop.
    pub next_hop: Ipv4Addr,
    /// Whether packets may use the route.
    pub is_active: bool,
    /// When the route becomes invalid, or, if it is, when the entry is deleted.
    pub expires: Instant,
    /// The measurements of the route; empty where the metric is hops.
    pub path: Path,
    /// Neighbors that may be sending over the route, which are notified when it breaks.
    pub precursors: BTreeSet<Ipv4Addr>,
}

/// A route in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub(super) sequence: Option<u32>,
    pub(super) hop_count: u8,
    pub(super) next_hop: Ipv4Addr,
    pub(super) path: Path,
    pub(super) expires: Instant,
}

/// All routes of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    routes: BTreeMap<Ipv4Addr, Route>,
    /// No entry expires earlier: lifetimes are extended with every packet, and only checked again
    /// when the first one might be over.
    due: Instant,
}

/// Whether a sequence number is later than another: circular, by their difference as a signed
/// number (section 6.1).
pub(super) fn is_newer(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Whether a route with the known sequence number is better: shorter or, with the same length, with
/// a larger product. As long as the number stays the same the hops only decrease, which prevents
/// loops; the product alone would not, because it may grow or shrink from hop to hop.
pub(super) fn is_better_route((hop_count, path): (u8, Path), route: &Route) -> bool {
    match hop_count.cmp(&route.hop_count) {
        Ordering::Less => true,
        Ordering::Equal => path.product(hop_count) > route.path.product(hop_count),
        Ordering::Greater => false,
    }
}

impl Table {
    /// The entry for a destination, active or not.
    pub(super) fn get(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.routes.get(&destination)
    }

    /// The active route to a destination.
    pub(super) fn active(&self, destination: Ipv4Addr) -> Option<&Route> {
        self.get(destination).filter(|route| route.is_active)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Ipv4Addr, &Route)> {
        self.routes.iter().map(|(destination, route)| (*destination, route))
    }

    /// Updates a route unless the present one is at least as good. Returns whether it was updated.
    pub(super) fn update(&mut self, destination: Ipv4Addr, update: Update) -> bool {
        self.due = self.due.min(update.expires);
        let Some(route) = self.routes.get_mut(&destination) else {
            let Update { sequence, hop_count, next_hop, path, expires } = update;
            let precursors = BTreeSet::new();
            let route = Route { sequence, hop_count, next_hop, is_active: true, expires, path, precursors };
            self.routes.insert(destination, route);
            return true;
        };
        let is_better = match (update.sequence, route.sequence) {
            (Some(new), Some(known)) if new != known => is_newer(new, known),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            _ => !route.is_active || is_better_route((update.hop_count, update.path), route),
        };
        if is_better {
            if !route.is_active {
                // Nodes that were notified of the break do not have to be notified of the next one.
                route.precursors.clear();
            }
            route.sequence = update.sequence.or(route.sequence);
            (route.hop_count, route.next_hop, route.is_active) = (update.hop_count, update.next_hop, true);
            (route.path, route.expires) = (update.path, update.expires);
        } else if (update.sequence, update.next_hop, update.hop_count)
            == (route.sequence, route.next_hop, route.hop_count)
        {
            // The same route, measured again.
            route.path = update.path;
        }
        is_better
    }

    /// Updates the route to a neighbor whose message came directly: it has one hop, independent of
    /// sequence numbers.
    pub(super) fn update_neighbor(&mut self, neighbor: Ipv4Addr, path: Path, expires: Instant) {
        let known = self.get(neighbor).and_then(|route| route.sequence);
        let update = Update { sequence: known, hop_count: 1, next_hop: neighbor, path, expires };
        if !self.update(neighbor, update) {
            self.prolong(neighbor, expires);
        }
    }

    /// Extends the lifetime of an active route to this time at least.
    pub(super) fn prolong(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(route) = self.routes.get_mut(&destination).filter(|route| route.is_active) {
            route.expires = route.expires.max(until);
        }
    }

    /// Keeps an invalid route until this time at least.
    pub(super) fn remember(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(route) = self.routes.get_mut(&destination).filter(|route| !route.is_active) {
            route.expires = route.expires.max(until);
        }
    }

    /// Adds a neighbor that may send over this route.
    pub(super) fn add_precursor(&mut self, destination: Ipv4Addr, precursor: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination) {
            route.precursors.insert(precursor);
        }
    }

    /// Destinations whose active routes lead through a neighbor.
    pub(super) fn through(&self, next_hop: Ipv4Addr) -> Vec<Ipv4Addr> {
        let through = self.iter().filter(|(_, route)| route.is_active && route.next_hop == next_hop);
        through.map(|(destination, _)| destination).collect()
    }

    /// Invalidates an active route; `reported` is the sequence number in an error. Returns the
    /// resulting entry, including its precursors.
    pub(super) fn invalidate(
        &mut self,
        destination: Ipv4Addr,
        reported: Option<u32>,
        delete_at: Instant,
    ) -> Option<&Route> {
        let route = self.routes.get_mut(&destination).filter(|route| route.is_active)?;
        self.due = self.due.min(delete_at);
        route.is_active = false;
        route.expires = delete_at;
        route.sequence = match (route.sequence, reported) {
            (Some(known), Some(reported)) if is_newer(reported, known) => Some(reported),
            (Some(known), _) => Some(known.wrapping_add(1)),
            (None, reported) => reported,
        };
        Some(route)
    }

    /// Invalidates unused routes, and deletes old entries.
    pub(super) fn expire(&mut self, now: Instant, delete_period: Duration) {
        if now < self.due {
            return;
        }
        let due: Vec<Ipv4Addr> = self
            .iter()
            .filter(|(_, route)| route.expires <= now)
            .map(|(destination, _)| destination)
            .collect();
        for destination in due {
            let Some(expired) = self.get(destination).map(|route| route.expires) else { continue };
            // An entry that expired long ago is due twice.
            let left = self.invalidate(destination, None, expired + delete_period);
            if left.is_none_or(|route| route.expires <= now) {
                self.routes.remove(&destination);
            }
        }
        self.due = self.routes.values().map(|route| route.expires).min().unwrap_or(Instant::MAX);
    }
}
