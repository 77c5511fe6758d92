//! A listener and a client in one process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lasthop_peering::{Channel, Error, Identity, Listener, Peers, Settings, SiteKey, connect};

pub const SERVICE: &str = "test/1";

/// Longer than anything takes that is expected to happen.
pub const LONG: Duration = Duration::from_secs(60);

pub fn settings() -> Settings {
    Settings { handshake_time: LONG, message_time: LONG, ..Settings::default() }
}

pub struct Site {
    pub listener: Listener,
    pub peers: Arc<Peers>,
    pub server: Identity,
    pub client: Identity,
    pub settings: Settings,
    /// The channels that were opened.
    pub channels: Receiver<Channel>,
}

impl Site {
    /// A listener that knows the client.
    pub fn new(settings: Settings) -> Self {
        let site = Self::with_site_key(settings, None);
        site.peers.pin(site.client.fingerprint(), "lobby").expect("there is room");
        site
    }

    /// A listener that knows nobody.
    pub fn with_site_key(settings: Settings, site_key: Option<SiteKey>) -> Self {
        let [server, client] = [(); 2].map(|()| Identity::ephemeral().expect("random numbers"));
        let peers = Arc::new(Peers::new(4));
        let (opened, channels) = channel();
        let serve = move |channel| {
            let _ = opened.send(channel);
        };
        let (any, known) = ((Ipv4Addr::LOCALHOST, 0).into(), Arc::clone(&peers));
        let listener = Listener::open(any, &server, known, site_key, &[SERVICE], settings, serve);
        let listener = listener.expect("a port is free");
        Self { listener, peers, server, client, settings, channels }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address().expect("it listens")
    }

    pub fn connect(&self) -> Result<Channel, Error> {
        self.connect_to(self.address())
    }

    pub fn connect_to(&self, address: SocketAddr) -> Result<Channel, Error> {
        connect(address, &self.client, self.server.fingerprint(), SERVICE, &self.settings)
    }

    /// Both ends of a channel.
    pub fn channel(&self) -> (Channel, Channel) {
        self.channel_by(self.address())
    }

    pub fn channel_by(&self, address: SocketAddr) -> (Channel, Channel) {
        let ours = self.connect_to(address).expect("the keys are known");
        (ours, self.channels.recv_timeout(LONG).expect("it was opened"))
    }
}

/// The next message, which is there.
pub fn next(channel: &mut Channel) -> Vec<u8> {
    channel.receive(LONG).expect("the channel works").expect("a message was sent")
}
