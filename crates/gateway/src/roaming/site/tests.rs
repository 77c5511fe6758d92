use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use lasthop_linux::clock;
use lasthop_peering::{Fingerprint, connect};
use lasthop_registry::{AccessPoint, Durability, Embedded, LeaseId, Limits, Registry};

use super::*;
use crate::roaming::event::Event;

/// Longer than a message between two threads ever takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// An access point, what it has received, and the registry of its site.
struct Member {
    site: Site,
    received: Receiver<Event>,
    address: SocketAddr,
    key: Fingerprint,
}

fn registry(folder: &tempfile::TempDir) -> Arc<dyn Registry> {
    let path = folder.path().join("registry");
    Arc::new(Embedded::open(&path, Limits::default(), Durability::ProcessEnd, clock::now()).expect("new"))
}

impl Member {
    fn new(name: &str, registry: &Arc<dyn Registry>, configured: Vec<Configured>) -> Self {
        let identity = Identity::ephemeral().expect("random numbers");
        let key = identity.fingerprint();
        let (to, received) = sync_channel(100);
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let parts = SiteParts {
            access_point: AccessPoint::new(name, listen),
            listen,
            identity,
            peers: Arc::new(Peers::new(10)),
            configured,
            site_key: None,
            serves: None,
            source: Arc::new(RegistrySource::of(Arc::clone(registry))),
        };
        let site = Site::open(parts, Inbox::new(to)).expect("it opens");
        let address = site.listener.address().expect("it has one");
        Self { site, received, address, key }
    }

    fn join(&self, name: &str, registry: &Arc<dyn Registry>) -> LeaseId {
        let access_point = AccessPoint::new(name, self.address).with_key(self.key);
        registry.join(&access_point, PATIENCE, clock::now()).expect("there is room")
    }

    /// Sends until the other one receives it: it may not know the sender's key yet.
    fn send_until_received(&mut self, to: &str, other: &Self) -> (Arc<str>, Vec<u8>) {
        let start = clock::now();
        loop {
            self.site.send(&Destination { name: to, address: None }, b"state".to_vec());
            if let Ok(event) = other.received.recv_timeout(Duration::from_millis(100)) {
                return event.into_message().expect("a message");
            }
            assert!(clock::now().since(start) < PATIENCE, "{:?}", self.site.counters());
        }
    }
}

#[test]
fn access_points_that_the_registry_lists_receive_messages_with_the_name_of_the_sender() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(&folder);
    let [mut hall, mut stairs] = ["hall", "stairs"].map(|name| Member::new(name, &registry, Vec::new()));
    hall.join("hall", &registry);
    stairs.join("stairs", &registry);
    let (from, octets) = hall.send_until_received("stairs", &stairs);
    assert_eq!((&*from, &*octets), ("hall", &b"state"[..]));
    let knows = |name| hall.site.address_of(name).is_some();
    assert!(knows("stairs") && !knows("hall") && !knows("attic"));
    // The answer takes the same channel, in the other direction.
    let (from, octets) = stairs.send_until_received("hall", &hall);
    assert_eq!((&*from, &*octets), ("stairs", &b"state"[..]));
    let counters = stairs.site.counters();
    assert!(counters.received >= 1 && counters.undelivered == 0, "{counters:?}");
    let arrived = ["hall", "stairs", "garden"].map(|name| hall.site.arrived_from(name));
    assert!(arrived[1] > 5 && arrived[0] + arrived[2] == 0, "{arrived:?}");
}

#[test]
fn a_message_to_an_access_point_that_is_away_or_has_another_key_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(&folder);
    let stairs = Member::new("stairs", &registry, Vec::new());
    let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let away = free.local_addr().expect("it has one");
    drop(free);
    let key = Some(Fingerprint::new([7; 32]));
    let configured = [("away", away), ("stairs", stairs.address)];
    let configured = configured.map(|(name, address)| Configured { name: name.to_owned(), address, key });
    // Two names have different keys.
    let mut configured = configured.to_vec();
    configured[0].key = Some(Fingerprint::new([8; 32]));
    let mut hall = Member::new("hall", &registry, configured);
    for name in ["away", "stairs", "unknown"] {
        hall.site.send(&Destination { name, address: None }, b"state".to_vec());
    }
    let start = clock::now();
    while hall.site.counters().undelivered < 3 {
        assert!(clock::now().since(start) < PATIENCE, "{:?}", hall.site.counters());
        thread::yield_now();
    }
    assert_eq!(hall.site.counters().sent, 0);
    assert!(stairs.received.try_recv().is_err());
}

#[test]
fn a_stranger_gets_no_channel_and_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = registry(&folder);
    let hall = Member::new("hall", &registry, Vec::new());
    let stranger = Identity::ephemeral().expect("random numbers");
    let refused = connect(hall.address, &stranger, hall.key, SERVICE, &SETTINGS);
    assert!(matches!(refused, Err(lasthop_peering::Error::UnknownKey)), "{refused:?}");
    assert_eq!(hall.site.counters().unknown_keys, 1);
    assert!(hall.received.try_recv().is_err());
}
