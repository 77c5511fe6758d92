//! The access points that this one may speak with: those of the configuration, those that were enrolled, and those
//! that the registry lists.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_packet::Instant;
use lasthop_peering::{Fingerprint, Peers};
use lasthop_registry::AccessPoint;
use tracing::warn;

use super::questions::LEASE;
use super::source::RegistrySource;
use crate::trouble::{Notice, Trouble};

/// How often the registry is asked which access points there are.
const INTERVAL: Duration = Duration::from_secs(2);

/// How long an access point stays known that the registry no longer lists: longer than it takes to join again after
/// the registry was away.
const GRACE: Duration = Duration::from_secs(60);

/// An access point of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configured {
    /// Its name.
    pub name: String,
    /// Where it is reached.
    pub address: SocketAddr,
    /// Its key, unless that is learned by enrolment or from the registry.
    pub key: Option<Fingerprint>,
}

/// The access points that this one may speak with.
pub(super) struct Directory {
    /// This one, with its key.
    own: AccessPoint,
    peers: Arc<Peers>,
    configured: Vec<Configured>,
    listed: Mutex<Listed>,
}

#[derive(Default)]
struct Listed {
    access_points: BTreeMap<Box<str>, (AccessPoint, Instant)>,
    conflict: Trouble,
    /// Since when the registry lists another one with the name of this access point.
    namesake_since: Option<Instant>,
    namesake: Trouble,
}

impl Directory {
    /// With the keys of the configuration, and those that `peers` has already. `own` is this access point, with its key:
    /// nobody else gets its name.
    pub fn new(own: AccessPoint, peers: Arc<Peers>, configured: Vec<Configured>) -> Self {
        let directory = Self { own, peers, configured, listed: Mutex::default() };
        directory.update([], clock::now());
        directory
    }

    /// The registry lists these access points, the ones that joined last at the end.
    pub fn update<'a>(&self, listing: impl IntoIterator<Item = &'a AccessPoint>, now: Instant) {
        let Listed { access_points, conflict, namesake_since, namesake } = &mut *self.lock();
        let mut other = None;
        for access_point in listing {
            if access_point.name() != self.own.name() {
                access_points.insert(access_point.name().into(), (access_point.clone(), now));
            } else if *access_point != self.own {
                other = Some(access_point.address());
            }
        }
        // The lease of a former life, with another address or key, ends by itself.
        *namesake_since = other.and(namesake_since.or(Some(now)));
        let is_two = namesake_since.is_some_and(|since| now.since(since) > LEASE);
        if let (Some(Notice::Begin { .. }), Some(address)) = (namesake.is(is_two, now), other) {
            warn!(
                access_point = self.own.name(),
                %address,
                "another gateway has the name of this access point, so clients' state goes astray; give each one a name of its own"
            );
        }
        access_points.retain(|_, (_, at)| now.since(*at) < GRACE);
        let own = self.own.key().map(|key| (key, self.own.name()));
        let configured = self.configured.iter().filter_map(|peer| Some((peer.key?, &*peer.name)));
        let listed = access_points.values().filter_map(|(peer, _)| Some((peer.key()?, peer.name())));
        // An entry of the configuration comes first, so the registry cannot replace its key.
        let is_configured =
            |name: &str| self.configured.iter().any(|peer| peer.name == name && peer.key.is_some());
        let listed: Vec<_> = listed.filter(|(_, name)| !is_configured(name)).collect();
        let refused = self.peers.set_pinned(own.into_iter().chain(configured).chain(listed));
        if let Some(Notice::Begin { .. }) = conflict.is(refused > 0, now) {
            warn!(
                refused,
                "the registry lists access points with names or keys that are known to be others'; they are not believed"
            );
        }
    }

    /// Where an access point is reached, if that is known.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let configured = self.configured.iter().find(|peer| peer.name == name).map(|peer| peer.address);
        configured.or_else(|| self.lock().access_points.get(name).map(|(peer, _)| peer.address()))
    }

    /// Whether another access point is reached at this address.
    pub fn has_at(&self, address: IpAddr) -> bool {
        self.configured.iter().any(|peer| peer.address.ip() == address)
            || self.lock().access_points.values().any(|(peer, _)| peer.address().ip() == address)
    }

    /// The key of an access point, if it is known.
    pub fn key(&self, name: &str) -> Option<Fingerprint> {
        self.peers.named(name).map(|peer| peer.fingerprint)
    }

    fn lock(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the registry for the access points until `end` is dropped. While it is away, those that are known stay.
pub(super) fn follow(directory: &Weak<Directory>, source: &RegistrySource, end: &Receiver<()>) {
    loop {
        let Some(directory) = directory.upgrade() else { return };
        let now = clock::now();
        if let Ok(listed) = source.get(now).and_then(|registry| registry.access_points(now)) {
            directory.update(listed.iter().map(|(_, access_point)| &**access_point), clock::now());
        }
        drop(directory);
        if end.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 9479))
    }

    fn key(octet: u8) -> Fingerprint {
        Fingerprint::new([octet; 32])
    }

    /// This access point.
    fn stairs() -> AccessPoint {
        AccessPoint::new("stairs", address(2)).with_key(key(2))
    }

    #[test]
    fn nobody_is_enrolled_with_the_name_of_this_access_point() {
        let peers = Arc::new(Peers::new(10));
        let directory = Directory::new(stairs(), Arc::clone(&peers), Vec::new());
        directory.update(&[AccessPoint::new("stairs", address(9)).with_key(key(9))], Instant::ZERO);
        assert!(peers.enrol(key(9), "stairs").is_err());
        assert_eq!(directory.key("stairs"), Some(key(2)));
    }

    #[test]
    fn another_gateway_with_the_same_name_is_noticed_once_it_renews_its_lease() {
        let directory = Directory::new(stairs(), Arc::new(Peers::new(10)), Vec::new());
        let is_reported = |directory: &Directory| directory.lock().namesake.is_reported();
        let other = AccessPoint::new("stairs", address(9)).with_key(key(9));
        let second = Duration::from_secs(1);
        directory.update(&[other.clone(), stairs()], Instant::ZERO);
        directory.update(&[other.clone(), stairs()], Instant::ZERO + LEASE);
        assert!(!is_reported(&directory), "it may be a former life of this one");
        directory.update(&[stairs()], Instant::ZERO + LEASE + second);
        directory.update(&[stairs(), other.clone()], Instant::ZERO + LEASE + 2 * second);
        assert!(!is_reported(&directory));
        directory.update(&[stairs(), other], Instant::ZERO + 2 * LEASE + 3 * second);
        assert!(is_reported(&directory));
    }

    #[test]
    fn the_registry_adds_access_points_and_replaces_none_of_the_configuration() {
        let hall = Configured { name: "hall".to_owned(), address: address(1), key: Some(key(1)) };
        let directory = Directory::new(stairs(), Arc::new(Peers::new(10)), vec![hall]);
        let listed = [
            AccessPoint::new("hall", address(7)).with_key(key(7)),
            AccessPoint::new("stairs", address(2)).with_key(key(2)),
            AccessPoint::new("attic", address(3)).with_key(key(3)),
        ];
        directory.update(&listed, Instant::ZERO);
        assert_eq!((directory.address("hall"), directory.key("hall")), (Some(address(1)), Some(key(1))));
        assert_eq!((directory.address("attic"), directory.key("attic")), (Some(address(3)), Some(key(3))));
        assert_eq!(
            (directory.address("stairs"), directory.key("stairs")),
            (None, Some(key(2))),
            "that is this one"
        );
    }

    #[test]
    fn an_access_point_that_is_no_longer_listed_is_forgotten_after_a_while() {
        let directory = Directory::new(stairs(), Arc::new(Peers::new(10)), Vec::new());
        directory.update(&[AccessPoint::new("attic", address(3)).with_key(key(3))], Instant::ZERO);
        directory.update([], Instant::ZERO + GRACE / 2);
        assert_eq!(directory.key("attic"), Some(key(3)));
        directory.update([], Instant::ZERO + GRACE);
        assert_eq!((directory.address("attic"), directory.key("attic")), (None, None));
    }

    #[test]
    fn an_access_point_with_a_new_key_is_known_by_it_when_the_registry_says_so() {
        let directory = Directory::new(stairs(), Arc::new(Peers::new(10)), Vec::new());
        let joined = [3, 4].map(|octet| AccessPoint::new("attic", address(octet)).with_key(key(octet)));
        directory.update(&joined, Instant::ZERO);
        assert_eq!((directory.address("attic"), directory.key("attic")), (Some(address(4)), Some(key(4))));
    }
}
