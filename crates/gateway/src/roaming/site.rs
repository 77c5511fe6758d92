//! The channel to the other access points of a site: messages over TLS 1.3, between ends that know each other's keys.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use lasthop_peering::{Channel as Peering, Identity, Listener, Peers, SiteKey};
use lasthop_registry::server::SERVICE as REGISTRY;
use lasthop_registry::{AccessPoint, Server};

use super::channel::{Channel, ChannelCounters, Destination, Pending};
use super::directory::{Configured, Directory, follow};
use super::inbox::Inbox;
use super::links::{Links, SERVICE, SETTINGS};
use super::source::RegistrySource;

/// How an access point speaks with others.
pub struct SiteParts {
    /// The access point, as others know it.
    pub access_point: AccessPoint,
    /// Where it listens.
    pub listen: SocketAddr,
    /// Its key.
    pub identity: Identity,
    /// The keys that are known.
    pub peers: Arc<Peers>,
    /// The access points of the configuration.
    pub configured: Vec<Configured>,
    /// The key by which new access points are enrolled, if they are.
    pub site_key: Option<SiteKey>,
    /// The registry that this gateway serves to others, if it does.
    pub serves: Option<Arc<Server>>,
    /// The registry, which lists further access points.
    pub source: Arc<RegistrySource>,
}

/// The channel to the other access points of a site.
pub struct Site {
    links: Links,
    serves: Option<Arc<Server>>,
    listener: Listener,
    /// Ends the thread that asks for access points.
    _following: Sender<()>,
}

impl Site {
    /// Opens the channel, in the network namespace of the calling thread.
    pub fn open(parts: SiteParts, inbox: Inbox) -> io::Result<Self> {
        let SiteParts { access_point, listen, identity, peers, configured, site_key, serves, source } = parts;
        let own = access_point.with_key(identity.fingerprint());
        let directory = Arc::new(Directory::new(own, Arc::clone(&peers), configured));
        let links = Links::start(identity.clone(), Arc::clone(&directory), inbox)?;
        let (received, registry) = (links.shared(), serves.clone());
        let serve = move |channel: Peering| match &registry {
            Some(registry) if channel.service() == REGISTRY => registry.serve(channel),
            _ => {
                if let Some(name) = channel.peer_name().cloned() {
                    received.receive(&name, channel);
                }
            }
        };
        let services: &[&str] = if serves.is_some() { &[SERVICE, REGISTRY] } else { &[SERVICE] };
        let listener = Listener::open(listen, &identity, peers, site_key, services, SETTINGS, serve);
        let listener = listener.map_err(|error| {
            let why = match error {
                lasthop_peering::Error::Network(error) => error.to_string(),
                error => error.to_string(),
            };
            io::Error::other(format!("cannot listen for other access points at {listen}: {why}"))
        })?;
        let (following, end) = channel();
        let directory = Arc::downgrade(&directory);
        thread::Builder::new().name("site".into()).spawn(move || follow(&directory, &source, &end))?;
        Ok(Self { links, serves, listener, _following: following })
    }
}

impl Channel for Site {
    fn send(&mut self, to: &Destination<'_>, octets: Vec<u8>) -> Pending {
        self.links.send(to, octets)
    }

    fn arrived_from(&self, name: &str) -> u64 {
        self.links.arrived_from(name)
    }

    fn address_of(&self, name: &str) -> Option<SocketAddr> {
        self.links.address_of(name)
    }

    fn has_at(&self, address: IpAddr) -> bool {
        self.links.has_at(address)
    }

    fn counters(&self) -> ChannelCounters {
        let strangers = self.listener.counts();
        let registry = self.serves.as_ref().map(|server| server.counts()).unwrap_or_default();
        let [sent, received, undelivered, no_room] = self.links.counts();
        ChannelCounters {
            sent,
            received,
            undelivered,
            no_room,
            failed_handshakes: strangers.failed,
            unknown_keys: strangers.unknown_keys,
            too_many: strangers.too_many,
            enrolled: strangers.enrolled,
            not_enrolled: strangers.wrong_proofs + strangers.paused + strangers.refused,
            registry_requests: registry.requests,
            registry_refused: registry.refused,
            registry_forbidden: registry.forbidden + registry.malformed,
        }
    }
}

#[cfg(test)]
mod tests;
