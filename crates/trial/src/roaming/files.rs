//! The files of the gateways among which clients roam: they know each other by the key of their site, and
//! one of them keeps the registry.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lasthop_gateway::config::{Config, RegistryPlace, SiteConfig};
use lasthop_gateway::roaming::{Configured, setup};
use tempfile::TempDir;

use crate::error::TrialError;

/// The port on which gateways listen for each other.
const PORT: u16 = 9479;
/// The maximum number of clients that are handed over: more than a trial has hosts.
const MAX_CLIENTS: usize = 64;

/// The files of all gateways: keys, the registry, control sockets. They are removed when this value is dropped.
pub(crate) struct Files {
    folder: TempDir,
    /// The access point that keeps the registry, by its number.
    registry: usize,
    /// The address of each access point, by its number.
    addresses: Vec<SocketAddr>,
}

impl Files {
    /// Creates a folder in another one, with the key of a site with these access points.
    pub(crate) fn new(
        parent: &Path,
        addresses: impl IntoIterator<Item = IpAddr>,
        registry: usize,
    ) -> Result<Self, TrialError> {
        let folder = tempfile::Builder::new().prefix("lasthop-try-").tempdir_in(parent);
        let folder = folder.map_err(|error| TrialError::Files { folder: parent.to_owned(), error })?;
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, PORT)).collect();
        let files = Self { folder, registry, addresses };
        setup::new_site_key(&files.site_key()).map_err(|problem| TrialError::Files {
            folder: files.folder.path().to_owned(),
            error: io::Error::other(problem),
        })?;
        Ok(files)
    }

    /// The control socket of the gateway with this number.
    pub(crate) fn socket(&self, access_point: usize) -> PathBuf {
        self.folder.path().join(format!("{}.sock", name(access_point)))
    }

    /// The configuration of the gateway with this number, which hears of associations from these control sockets of
    /// hostapd.
    pub(crate) fn complete(&self, config: Config, access_point: usize, hostapd: Vec<PathBuf>) -> Config {
        let server =
            Configured { name: name(self.registry), address: self.addresses[self.registry], key: None };
        let (registry, peers) = if access_point == self.registry {
            (RegistryPlace::File(self.folder.path().join("registry").join("clients")), Vec::new())
        } else {
            (RegistryPlace::Peer(server.clone()), vec![server])
        };
        let own = |kind: &str| self.folder.path().join(format!("{}.{kind}", name(access_point)));
        let site = SiteConfig {
            nat: None,
            access_point: name(access_point),
            address: self.addresses[access_point],
            listen: self.addresses[access_point],
            identity: own("key"),
            site_key: Some(self.site_key()),
            known_keys: own("known"),
            peers,
            registry,
            max_clients: MAX_CLIENTS,
            bridge: true,
            hostapd,
            answer_timeout: Duration::from_millis(250),
            registry_timeout: Duration::from_secs(2),
        };
        Config { control: Some(self.socket(access_point)), roaming: Some(site), ..config }
    }

    fn site_key(&self) -> PathBuf {
        Path::join(self.folder.path(), "site-key")
    }
}

/// The name by which the gateways know an access point.
pub(crate) fn name(access_point: usize) -> String {
    format!("ap-{}", access_point + 1)
}
