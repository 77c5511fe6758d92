//! From the gateway's file to the parts of roaming: keys, the registry, and the channel to other access points.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lasthop_linux::bridge_table::BridgeTable;
use lasthop_linux::clock;
use lasthop_peering::{Fingerprint, Identity, IdentityError, Peers, SiteKey, connect, enrol};
use lasthop_registry::server::SERVICE as REGISTRY;
use lasthop_registry::{AccessPoint, Durability, Embedded, Error, Limits, Registry, Remote, Server};
use tracing::{info, warn};

use super::access_points::MAX_ACCESS_POINTS;
use super::channel::Channel;
use super::directory::Configured;
use super::driver::Parts;
use super::inbox::Inbox;
use super::links::SETTINGS;
use super::nat::{Nat, outside_of};
use super::site::{Site, SiteParts};
use super::source::{Opening, RegistrySource};
use crate::config::{NatConfig, RegistryPlace, SiteConfig};
use crate::trouble::{Notice, Trouble};

/// How many calls of a gateway the registry of another one answers at a time.
const CALLS: usize = 4;

/// Opens the files of a configuration, in the network namespace of the calling thread. `radio`: the names of the radio
/// interfaces.
///
/// # Errors
/// A message that names the file.
pub fn open(config: &SiteConfig, radio: Vec<String>) -> Result<Parts, String> {
    let identity = identity(&config.identity)?;
    let site_key = config.site_key.as_deref().map(site_key).transpose()?;
    folder_of(&config.known_keys)?;
    let peers = Peers::open(&config.known_keys, MAX_ACCESS_POINTS)
        .map_err(|error| format!("{}: {}", config.known_keys.display(), reason(&error)))?;
    let peers = Arc::new(peers);
    let own = AccessPoint::new(&config.access_point, config.address).with_key(identity.fingerprint());
    let mut serves = None;
    let source = match &config.registry {
        RegistryPlace::File(path) => {
            let registry = Arc::new(embedded(path)?);
            let server = Server::new(Arc::clone(&registry)).map_err(|error| error.to_string())?;
            serves = Some(Arc::new(server));
            RegistrySource::of(registry)
        }
        RegistryPlace::Peer(server) => {
            check_key(server, site_key.is_some(), &peers)?;
            let introduction = Introduction {
                own_name: config.access_point.clone(),
                identity: identity.clone(),
                peers: Arc::clone(&peers),
                site_key: site_key.clone(),
                server: server.clone(),
                patience: config.registry_timeout,
            };
            RegistrySource::opened_by(introduction.opening())
        }
        RegistryPlace::Etcd(place) => etcd(place, config.registry_timeout)?,
    };
    let source = Arc::new(source);
    let site = SiteParts {
        access_point: own.clone(),
        listen: config.listen,
        identity,
        peers,
        configured: config.peers.clone(),
        site_key,
        serves,
        source: Arc::clone(&source),
    };
    // Bridges of a gateway that translates the site learn where access points are.
    let bridge = if config.bridge && config.nat != Some(NatConfig::Central) {
        let table = BridgeTable::open().map_err(|error| format!("the table of the bridge: {error}"))?;
        Some((table, radio))
    } else {
        None
    };
    let hand_offs =
        lasthop_handoff::Config { answer: config.answer_timeout, ..lasthop_handoff::Config::default() };
    let channel =
        move |inbox: Inbox| -> io::Result<Box<dyn Channel>> { Ok(Box::new(Site::open(site, inbox)?)) };
    Ok(Parts {
        access_point: own,
        max_clients: config.max_clients,
        config: hand_offs,
        registry: source,
        bridge,
        hostapd: config.hostapd.clone(),
        nat: config.nat.as_ref().map(|nat| open_nat(nat, config)).transpose()?,
        channel: Box::new(channel),
    })
}

/// Checks that this gateway and the one with the registry can come to know each other.
///
/// # Errors
/// A message that says what is missing.
pub fn check_key(server: &Configured, has_site_key: bool, known: &Peers) -> Result<(), String> {
    if server.key.is_some() || has_site_key || known.named(&server.name).is_some() {
        return Ok(());
    }
    let name = &server.name;
    Err(format!(
        "the key of {name} is not known; expected `key` in its [[roaming.peer]], or a line in known-keys, or roaming.site-key"
    ))
}

fn open_nat(nat: &NatConfig, config: &SiteConfig) -> Result<Nat, String> {
    let opened = match nat {
        NatConfig::AccessPoint { clients, central } => {
            let outside = outside_of(config.address).ok_or("roaming.address is not an IPv4 address")?;
            Nat::access_point(outside, *clients, central.clone())
        }
        NatConfig::Central => Nat::central(config.max_clients),
    };
    opened.map_err(|error| {
        format!("the kernel's translations: {error}; they need CAP_NET_ADMIN and Linux 5.12 or later, with nf_tables and nf_conntrack_netlink")
    })
}

/// The key in a file, which is created on first use, with its folder.
///
/// # Errors
/// A message that names the file.
pub fn identity(path: &Path) -> Result<Identity, String> {
    folder_of(path)?;
    Identity::open(path).map_err(|error| match error {
        IdentityError::File(error) => with_path(path, &error),
        error => format!("{}: {error}", path.display()),
    })
}

/// The key of a site in a file.
///
/// # Errors
/// A message that names the file.
pub fn site_key(path: &Path) -> Result<SiteKey, String> {
    SiteKey::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!(
            "{}: no such file; `lasthop gateway site-key` writes one, and the others have a copy",
            path.display()
        ),
        _ => with_path(path, &error),
    })
}

/// Writes a new key for a site to a file that does not exist yet.
///
/// # Errors
/// A message that names the file.
pub fn new_site_key(path: &Path) -> Result<(), String> {
    folder_of(path)?;
    SiteKey::create(path).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{} exists, and is not replaced", path.display()),
        _ => with_path(path, &error),
    })
}

fn embedded(path: &Path) -> Result<Embedded, String> {
    folder_of(path)?;
    Embedded::open(path, Limits::default(), Durability::PowerLoss, clock::now())
        .map_err(|error| format!("the registry in {}: {}", path.display(), reason(&error)))
}

#[cfg(feature = "etcd")]
fn etcd(place: &crate::config::EtcdPlace, patience: Duration) -> Result<RegistrySource, String> {
    let user = match &place.user {
        None => None,
        Some((name, file)) => {
            let text = std::fs::read_to_string(file).map_err(|error| with_path(file, &error))?;
            let password = text.lines().next().unwrap_or_default().to_owned();
            Some(lasthop_etcd::User { name: name.clone(), password })
        }
    };
    let config = lasthop_etcd::Config {
        members: place.members.clone(),
        user,
        authorities: place.authorities.clone(),
        prefix: place.prefix.clone(),
        patience,
    };
    let registry = lasthop_etcd::Etcd::new(&config).map_err(|error| format!("etcd: {}", reason(&error)))?;
    Ok(RegistrySource::of(Arc::new(registry)))
}

#[cfg(not(feature = "etcd"))]
fn etcd(_place: &crate::config::EtcdPlace, _patience: Duration) -> Result<RegistrySource, String> {
    Err("this build does not speak to etcd".to_owned())
}

/// What it takes to reach the registry of another gateway for the first time.
struct Introduction {
    own_name: String,
    identity: Identity,
    peers: Arc<Peers>,
    site_key: Option<SiteKey>,
    server: Configured,
    patience: Duration,
}

impl Introduction {
    fn opening(self) -> Opening {
        let mut trouble = Trouble::default();
        Box::new(move || {
            let key = self.key();
            let Self { server, identity, patience, .. } = &self;
            let notice = trouble.is(key.is_err(), clock::now());
            if let (Err(error), Some(Notice::Begin { .. })) = (&key, notice) {
                warn!(access_point = server.name, %error, "cannot reach the gateway with the registry, or introduce this one to it");
            }
            let key = key?;
            let settings = lasthop_peering::Settings { handshake_time: *patience, ..SETTINGS };
            let remote = Remote::new(server.address, identity, key, settings, *patience, CALLS);
            let registry: Arc<dyn Registry> = Arc::new(remote);
            Ok(registry)
        })
    }

    /// The key of the server, which knows this gateway's. If it does not yet and there is a site key, this gateway
    /// introduces itself. The site key may have been taken away from gateways that know each other.
    ///
    /// # Errors
    /// Those of the network, which may pass; and refusals, which a change of the server's files ends.
    fn key(&self) -> Result<Fingerprint, Error> {
        let Self { own_name, identity, peers, site_key, server, patience } = self;
        let failed = |error: &dyn std::error::Error| io::Error::other(reason(error));
        let known = server.key.or_else(|| peers.named(&server.name).map(|peer| peer.fingerprint));
        if let Some(key) = known {
            let settings = lasthop_peering::Settings { handshake_time: *patience, ..SETTINGS };
            match connect(server.address, identity, key, REGISTRY, &settings) {
                Ok(_) => return Ok(key),
                Err(lasthop_peering::Error::UnknownKey) if site_key.is_some() => {}
                Err(error) => return Err(failed(&error).into()),
            }
        }
        let Some(site_key) = site_key else { return Err(io::Error::other("its key is not known").into()) };
        let key = enrol(server.address, identity, known, site_key, own_name, &SETTINGS)
            .map_err(|error| failed(&error))?;
        if known.is_none() {
            peers.enrol(key, &server.name).map_err(|error| failed(&error))?;
            info!(access_point = server.name, %key, "the key of the gateway with the registry was learned");
        }
        Ok(key)
    }
}

/// Creates the folder of a file, for its owner only, unless it exists.
fn folder_of(path: &Path) -> Result<(), String> {
    let Some(folder) = path.parent() else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| with_path(folder, &error))
}

/// A message that names the path, once.
fn with_path(path: &Path, error: &io::Error) -> String {
    let (path, why) = (path.display().to_string(), error.to_string());
    if why.starts_with(&path) { why } else { format!("{path}: {why}") }
}

/// An error and its causes.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(why) = cause {
        let why_text = why.to_string();
        if !text.contains(&why_text) {
            text = format!("{text}: {why_text}");
        }
        cause = why.source();
    }
    text
}

#[cfg(test)]
mod tests;
