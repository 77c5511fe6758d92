//! The route table (section 6.2): sequence numbers, next hops, lifetimes, precursors.
//!
//! What keeps loops away is one rule for every entry: its sequence number never falls, and with the
//! same number an active route is only replaced by a shorter one, or by one as long where a metric
//! chooses among these. The RFC's text leaves ways around
//! it, by which loops have been built (van Glabbeek, Hoefner, Tan, Portmann, "Sequence Numbers Do
//! Not Guarantee Loop Freedom", `MSWiM` 2013); where it does, the rule decides:
//!
//! - A number once learned stays known. The RFC marks it invalid when a route to a neighbour is
//!   made without one, and would then take any number, older ones too.
//! - An entry that becomes invalid, by a break, an error or its expiry, takes the next number, so
//!   that nobody who had the way from here can give it back. One that is invalid already keeps its
//!   number, where 6.11 would count on with every error.
//! - An error that tells an older number than is known ends the route all the same, with the next
//!   number.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_packet::Instant;

use super::path::Path;

/// What is known of a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The latest sequence number heard of; `None` if none ever was.
    pub sequence: Option<u32>,
    /// Hops to it; while the entry is invalid, what they were last.
    pub hop_count: u8,
    /// The neighbour to send to.
    pub next_hop: Ipv4Addr,
    /// Whether packets may take it.
    pub is_active: bool,
    /// When it becomes invalid, or, if it is, when it is forgotten.
    pub expires: Instant,
    /// What was measured of it; nothing where the metric is hops.
    pub path: Path,
    /// Neighbours that may be sending over it, who are told when it breaks.
    pub precursors: BTreeSet<Ipv4Addr>,
}

/// What a message says of a way.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
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
    /// Nothing is due before: lifetimes are prolonged with every packet, and only looked at again
    /// when the first one might be over.
    due: Instant,
}

/// Whether a sequence number is later than another: circular, by their difference as a signed
/// number (section 6.1).
pub(super) fn is_newer(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

/// Whether news with the number that is known is of a better way: a shorter one or, among those of
/// one length, one with a larger product. As long as the number stays the hops only fall, which is
/// what keeps loops away; the product alone would not, since it may grow or shrink from hop to hop.
pub(super) fn is_better_way((hop_count, path): (u8, Path), route: &Route) -> bool {
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

    /// Takes news of a way unless what is known is as good. Whether it did.
    pub(super) fn update(&mut self, destination: Ipv4Addr, news: News) -> bool {
        self.due = self.due.min(news.expires);
        let Some(route) = self.routes.get_mut(&destination) else {
            let News { sequence, hop_count, next_hop, path, expires } = news;
            let precursors = BTreeSet::new();
            let route = Route { sequence, hop_count, next_hop, is_active: true, expires, path, precursors };
            self.routes.insert(destination, route);
            return true;
        };
        let is_better = match (news.sequence, route.sequence) {
            (Some(new), Some(known)) if new != known => is_newer(new, known),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            _ => !route.is_active || is_better_way((news.hop_count, news.path), route),
        };
        if is_better {
            if !route.is_active {
                // Whoever was told of the break is not waiting for the next one.
                route.precursors.clear();
            }
            route.sequence = news.sequence.or(route.sequence);
            (route.hop_count, route.next_hop, route.is_active) = (news.hop_count, news.next_hop, true);
            (route.path, route.expires) = (news.path, news.expires);
        } else if (news.sequence, news.next_hop, news.hop_count)
            == (route.sequence, route.next_hop, route.hop_count)
        {
            // The same way, measured again.
            route.path = news.path;
        }
        is_better
    }

    /// A message came straight from a neighbour: there is a way to it, of one hop, whatever the
    /// numbers.
    pub(super) fn meet(&mut self, neighbour: Ipv4Addr, path: Path, expires: Instant) {
        let known = self.get(neighbour).and_then(|route| route.sequence);
        let news = News { sequence: known, hop_count: 1, next_hop: neighbour, path, expires };
        if !self.update(neighbour, news) {
            self.prolong(neighbour, expires);
        }
    }

    /// An active route is good until then at least.
    pub(super) fn prolong(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(route) = self.routes.get_mut(&destination).filter(|route| route.is_active) {
            route.expires = route.expires.max(until);
        }
    }

    /// An invalid route is remembered until then at least.
    pub(super) fn remember(&mut self, destination: Ipv4Addr, until: Instant) {
        if let Some(route) = self.routes.get_mut(&destination).filter(|route| !route.is_active) {
            route.expires = route.expires.max(until);
        }
    }

    /// A neighbour may send over this route.
    pub(super) fn add_precursor(&mut self, destination: Ipv4Addr, precursor: Ipv4Addr) {
        if let Some(route) = self.routes.get_mut(&destination) {
            route.precursors.insert(precursor);
        }
    }

    /// Destinations whose active routes lead through a neighbour.
    pub(super) fn through(&self, next_hop: Ipv4Addr) -> Vec<Ipv4Addr> {
        let through = self.iter().filter(|(_, route)| route.is_active && route.next_hop == next_hop);
        through.map(|(destination, _)| destination).collect()
    }

    /// An active route becomes invalid; `told` is the sequence number that an error gives. The
    /// entry as it is then, precursors and all.
    pub(super) fn invalidate(
        &mut self,
        destination: Ipv4Addr,
        told: Option<u32>,
        forget_at: Instant,
    ) -> Option<&Route> {
        let route = self.routes.get_mut(&destination).filter(|route| route.is_active)?;
        self.due = self.due.min(forget_at);
        route.is_active = false;
        route.expires = forget_at;
        route.sequence = match (route.sequence, told) {
            (Some(known), Some(told)) if is_newer(told, known) => Some(told),
            (Some(known), _) => Some(known.wrapping_add(1)),
            (None, told) => told,
        };
        Some(route)
    }

    /// Routes that nobody has used become invalid, and old ones are forgotten.
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
            // One that expired long ago is due twice.
            let left = self.invalidate(destination, None, expired + delete_period);
            if left.is_none_or(|route| route.expires <= now) {
                self.routes.remove(&destination);
            }
        }
        self.due = self.routes.values().map(|route| route.expires).min().unwrap_or(Instant::MAX);
    }
}
