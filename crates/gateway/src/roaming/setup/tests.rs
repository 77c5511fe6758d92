use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use lasthop_peering::Listener;

use super::*;

/// The gateway with the registry, at an address where nobody listens yet. Other tests have other addresses.
struct Hall {
    address: SocketAddr,
    identity: Identity,
    peers: Arc<Peers>,
}

impl Hall {
    fn new(last: u8) -> Self {
        // Closed at once: nobody listens there until `listen`.
        let free = TcpListener::bind((Ipv4Addr::new(127, 9, 38, last), 0)).expect("a port");
        let address = free.local_addr().expect("it has one");
        Self {
            address,
            identity: Identity::ephemeral().expect("random numbers"),
            peers: Arc::new(Peers::new(10)),
        }
    }

    fn listen(&self, site_key: Option<SiteKey>) -> Listener {
        let (peers, services) = (Arc::clone(&self.peers), &[REGISTRY]);
        Listener::open(self.address, &self.identity, peers, site_key, services, SETTINGS, drop)
            .expect("a port")
    }

    /// Another gateway that has the hall in its file, with this key.
    fn introduction(&self, key: Option<Fingerprint>, site_key: Option<SiteKey>) -> Introduction {
        Introduction {
            own_name: "stairs".to_owned(),
            identity: Identity::ephemeral().expect("random numbers"),
            peers: Arc::new(Peers::new(10)),
            site_key,
            server: Configured { name: "hall".to_owned(), address: self.address, key },
            patience: Duration::from_secs(20),
        }
    }
}

fn site_key() -> SiteKey {
    "5".repeat(64).parse().expect("64 digits")
}

#[test]
fn a_gateway_introduces_itself_also_if_the_server_was_away_at_first() {
    for (last, is_known) in [(1, false), (2, true)] {
        let hall = Hall::new(last);
        let known = is_known.then(|| hall.identity.fingerprint());
        let stairs = hall.introduction(known, Some(site_key()));
        assert!(stairs.key().is_err(), "nobody listens");
        let _listener = hall.listen(Some(site_key()));
        assert_eq!(stairs.key().ok(), Some(hall.identity.fingerprint()));
        let enrolled = hall.peers.named("stairs").map(|peer| peer.fingerprint);
        assert_eq!(enrolled, Some(stairs.identity.fingerprint()));
    }
}

#[test]
fn gateways_that_know_each_other_need_the_site_key_no_longer() {
    let hall = Hall::new(3);
    let _listener = hall.listen(None);
    for site_key in [None, Some(site_key())] {
        let stairs = hall.introduction(Some(hall.identity.fingerprint()), site_key);
        assert!(stairs.key().is_err(), "the hall does not know this gateway, and enrols nobody");
        hall.peers.pin(stairs.identity.fingerprint(), "stairs").expect("there is room");
        assert_eq!(stairs.key().ok(), Some(hall.identity.fingerprint()));
        hall.peers.remove(&stairs.identity.fingerprint()).expect("there is no file");
    }
}
