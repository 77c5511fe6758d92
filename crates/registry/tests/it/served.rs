//! A registry that is served over channels.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use lasthop_peering::{Channel, Identity, Listener, Peers, Settings, connect};
use lasthop_registry::server::{LEASES_OF_A_NAME, LONGEST_LEASE, SERVICE};
use lasthop_registry::{
    AccessPoint, Durability, Embedded, Error, LeaseId, Limits, Refusal, Registry, Remote, Server,
};

use crate::behaviour::{self, LONG, NOW, client, join};
use crate::simulated_disk::SimulatedDisk;

fn settings() -> Settings {
    Settings { handshake_time: LONG, message_time: LONG, ..Settings::default() }
}

struct Site {
    registry: Arc<Embedded>,
    server: Arc<Server>,
    listener: Listener,
    identity: Identity,
    peers: Arc<Peers>,
}

impl Site {
    fn new(limits: Limits) -> Self {
        let registry = Embedded::on(
            SimulatedDisk::new(0, None),
            limits,
            Durability::PowerLoss,
            lasthop_linux::clock::now(),
        );
        let registry = Arc::new(registry.expect("a new file"));
        let server = Arc::new(Server::new(Arc::clone(&registry)).expect("a thread"));
        let (identity, peers) = (Identity::ephemeral().expect("random numbers"), Arc::new(Peers::new(8)));
        let listener =
            listen((Ipv4Addr::LOCALHOST, 0).into(), &identity, Arc::clone(&peers), Arc::clone(&server));
        Self { registry, server, listener, identity, peers }
    }

    fn address(&self) -> SocketAddr {
        self.listener.address().expect("it listens")
    }

    /// The registry as the access point with this name sees it.
    fn remote(&self, name: &str) -> Remote {
        let identity = self.access_point(name);
        Remote::new(self.address(), &identity, self.identity.fingerprint(), settings(), LONG, 4)
    }

    fn channel(&self, name: &str) -> Channel {
        let identity = self.access_point(name);
        connect(self.address(), &identity, self.identity.fingerprint(), SERVICE, &settings())
            .expect("it is known")
    }

    fn access_point(&self, name: &str) -> Identity {
        let identity = Identity::ephemeral().expect("random numbers");
        self.peers.pin(identity.fingerprint(), name).expect("there is room");
        identity
    }
}

fn listen(address: SocketAddr, identity: &Identity, peers: Arc<Peers>, server: Arc<Server>) -> Listener {
    let serve = move |channel| server.serve(channel);
    Listener::open(address, identity, peers, None, &[SERVICE], settings(), serve).expect("it is free")
}

fn is_forbidden<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Refused(Refusal::Forbidden)))
}

#[test]
fn a_registry_behaves_the_same_whether_it_is_embedded_or_served() {
    // Nothing but its callers tells it the time.
    let disk = SimulatedDisk::new(0, None);
    let embedded = Embedded::on(disk, Limits::default(), Durability::PowerLoss, NOW).expect("a new file");
    behaviour::all(&embedded, "lobby");
    behaviour::all(&Site::new(Limits::default()).remote("lobby"), "lobby");
}

#[test]
fn an_access_point_changes_nothing_for_another_one() {
    let site = Site::new(Limits::default());
    let (lobby, hall) = (site.remote("lobby"), site.remote("hall"));
    let lease = join(&lobby, "lobby");
    let epoch = lobby.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    let before = site.registry.snapshot(lasthop_linux::clock::now()).expect("it works");
    let other = AccessPoint::new("lobby", (Ipv4Addr::LOCALHOST, 1).into());
    assert!(is_forbidden(&hall.join(&other, Duration::from_secs(1), NOW)));
    assert!(is_forbidden(&hall.renew(lease, NOW)));
    assert!(is_forbidden(&hall.leave(lease, NOW)));
    assert!(is_forbidden(&hall.claim(&client(1), lease, Some(epoch), NOW)));
    assert!(is_forbidden(&hall.release(&client(1), epoch, NOW)));
    assert_eq!(site.registry.snapshot(lasthop_linux::clock::now()).expect("it works"), before);
    assert_eq!(site.server.counts().forbidden, 5);
    // It may claim the client for itself, and read.
    let own = join(&hall, "hall");
    assert_eq!(hall.get(&client(1), NOW).expect("it works").map(|entry| entry.epoch), Some(epoch));
    hall.claim(&client(1), own, Some(epoch), NOW).expect("the epoch is right");
    let refused = lobby.release(&client(1), epoch, NOW);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Stale(Some(_))))), "{refused:?}");
    assert_eq!((site.server.counts().forbidden, site.server.counts().refused), (5, 1));
}

#[test]
fn the_key_of_an_access_point_is_that_of_its_channel() {
    let site = Site::new(Limits::default());
    let identity = site.access_point("lobby");
    let key = identity.fingerprint();
    let remote = Remote::new(site.address(), &identity, site.identity.fingerprint(), settings(), LONG, 1);
    join(&remote, "lobby");
    let listed = remote.access_points(NOW).expect("it works");
    assert_eq!(listed[0].1.key(), Some(key));
}

#[test]
fn an_access_point_that_starts_often_keeps_its_latest_leases_and_none_for_ever() {
    let site = Site::new(Limits::default());
    let lobby = site.remote("lobby");
    let access_point = AccessPoint::new("lobby", (Ipv4Addr::LOCALHOST, 1).into());
    let too_long = LONGEST_LEASE + Duration::from_nanos(1);
    assert!(is_forbidden(&lobby.join(&access_point, too_long, NOW)));
    let hall = join(&site.remote("hall"), "hall");
    let started = || lobby.join(&access_point, LONGEST_LEASE, NOW).expect("there is room");
    let leases: Vec<LeaseId> = (0..=LEASES_OF_A_NAME).map(|_| started()).collect();
    let ended = lobby.renew(leases[0], NOW);
    assert!(matches!(ended, Err(Error::Refused(Refusal::Expired))), "{ended:?}");
    let listed = lobby.access_points(NOW).expect("it works");
    let kept: Vec<LeaseId> = listed.iter().map(|(lease, _)| *lease).collect();
    assert_eq!(kept, [&[hall], &leases[1..]].concat());
}

#[test]
fn a_lease_that_is_not_renewed_ends_by_itself() {
    let site = Site::new(Limits::default());
    let lobby = site.remote("lobby");
    let mut watch = lobby.watch(0).expect("it is kept");
    let access_point = AccessPoint::new("lobby", (Ipv4Addr::LOCALHOST, 1).into());
    let lease = lobby.join(&access_point, Duration::from_millis(300), NOW).expect("there is room");
    lobby.claim(&client(1), lease, None, NOW).expect("it is nowhere");
    let mut changes = Vec::new();
    while changes.len() < 2 {
        changes.extend(watch.next(LONG).expect("it works"));
    }
    assert_eq!(changes.iter().map(|change| change.entry.is_some()).collect::<Vec<_>>(), [true, false]);
    let refused = lobby.renew(lease, NOW);
    assert!(matches!(refused, Err(Error::Refused(Refusal::Expired))), "{refused:?}");
}

#[test]
fn a_watch_that_is_too_late_is_refused_like_an_embedded_one() {
    let site = Site::new(Limits { backlog: 4, ..Limits::default() });
    let lobby = site.remote("lobby");
    let lease = join(&lobby, "lobby");
    let mut epoch = None;
    for _ in 0..10 {
        epoch = Some(lobby.claim(&client(1), lease, epoch, NOW).expect("the epoch is right"));
    }
    for after in [1, 1000] {
        let refused = lobby.watch(after).map(drop);
        assert!(matches!(refused, Err(Error::Refused(Refusal::NotKept { newest: 11, .. }))), "{refused:?}");
    }
}

#[test]
fn messages_that_are_no_requests_are_counted_and_end_the_channel() {
    let site = Site::new(Limits::default());
    let mut malformed = 0;
    for message in [&b""[..], &[9], &[0xff; 100], &[3, 0xff, 0xff, 0xff, 0xff, 0x0f]] {
        let mut channel = site.channel(&format!("ap{malformed}"));
        channel.send(message).expect("it is open");
        assert!(channel.receive(LONG).is_err());
        malformed += 1;
        assert_eq!(site.server.counts().malformed, malformed);
    }
    assert_eq!(site.server.counts().requests, 0);
}

#[test]
fn while_the_server_is_away_calls_fail_and_afterwards_they_succeed() {
    let site = Site::new(Limits::default());
    let lobby = site.remote("lobby");
    let lease = join(&lobby, "lobby");
    let address = site.address();
    let Site { server, listener, identity, peers, .. } = site;
    drop(listener);
    for _ in 0..10 {
        let failed = lobby.claim(&client(1), lease, None, NOW);
        assert!(matches!(failed, Err(Error::Failed(_))), "{failed:?}");
    }
    let _listener = listen(address, &identity, peers, server);
    let claimed = (0..10_000).find_map(|_| {
        std::thread::park_timeout(Duration::from_millis(5));
        lobby.claim(&client(1), lease, None, NOW).ok()
    });
    assert!(claimed.is_some(), "it was never reached again");
}

#[test]
fn a_server_that_does_not_answer_is_away() {
    let (identity, peers) = (Identity::ephemeral().expect("random numbers"), Arc::new(Peers::new(1)));
    let lobby = Identity::ephemeral().expect("random numbers");
    peers.pin(lobby.fingerprint(), "lobby").expect("there is room");
    // It reads, and says nothing.
    let serve = |mut channel: Channel| while channel.receive(LONG).is_ok() {};
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let listener = Listener::open(any, &identity, peers, None, &[SERVICE], settings(), serve);
    let listener = listener.expect("it is free");
    let address = listener.address().expect("it listens");
    let patience = Duration::from_millis(200);
    let remote = Remote::new(address, &lobby, identity.fingerprint(), settings(), patience, 1);
    let failed = remote.renew(LeaseId::new(1), NOW);
    assert!(
        matches!(&failed, Err(Error::Failed(error)) if error.kind() == std::io::ErrorKind::TimedOut),
        "{failed:?}"
    );
}
