//! The table `[roaming]`, as serde reads it.

use std::time::Duration;

use lasthop_config::quantity::{Count, MINUTE, MS, Time};
use schemars::JsonSchema;
use serde::Deserialize;

/// Other gateways, and clients that move between their access points with their connections. All gateways of a
/// site have the same kind of registry, which knows the access point of each client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoamingTable {
    /// The name of this access point, which no other one of the site has. Required.
    pub access_point: Option<String>,
    /// The address and port at which other gateways reach this one, such as "10.0.0.1:9479". Required.
    pub address: Option<String>,
    /// The address and port at which it listens, if they differ from `address`.
    pub listen: Option<String>,
    /// The file with this gateway's private key, which is created on first use; default
    /// "/var/lib/lasthop/identity".
    pub identity: String,
    /// A file with the key of the site, by which gateways that do not know each other's keys introduce themselves.
    /// `lasthop gateway site-key FILE` writes one. Default: none; all keys are in `peer`.
    pub site_key: Option<String>,
    /// The file with the keys that were learned by the site key; default "/var/lib/lasthop/known-keys".
    pub known_keys: String,
    /// Other gateways. Only those have to be named that neither the site key nor the registry introduces.
    pub peer: Vec<PeerTable>,
    /// The registry.
    pub registry: RegistryTable,
    /// Translations that follow clients, where access points translate their addresses. Default: none.
    pub nat: Option<NatTable>,
    /// How many clients are handed over, 1 to 100,000; default 1,000. The connections of others stay.
    #[serde(with = "Count::<1, 100_000>")]
    pub max_clients: usize,
    /// Whether clients are noticed when the bridge of a radio interface learns their addresses; default true. Clients
    /// are always noticed by the packets of their connections.
    pub bridge: bool,
    /// The control sockets of hostapd, such as "/run/hostapd/wlan0", one for each radio interface, from which
    /// associations are learned. Default: none.
    pub hostapd: Vec<String>,
    /// How long another gateway may take to answer; default "250 ms". It is asked three times.
    #[serde(with = "Time::<{ 10 * MS }, MINUTE>")]
    pub answer_timeout: Duration,
    /// How long the registry may take to answer; default "2 s".
    #[serde(with = "Time::<{ 10 * MS }, MINUTE>")]
    pub registry_timeout: Duration,
}

/// Another gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PeerTable {
    /// The name of its access point. Required.
    pub name: String,
    /// The address and port at which it is reached. Required.
    pub address: String,
    /// The fingerprint of its key, which `lasthop gateway identity FILE` prints there. Default: it is learned by the
    /// site key, or from the registry.
    pub key: Option<String>,
}

/// The registry: exactly one of `file`, `peer` and `etcd`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RegistryTable {
    /// This gateway keeps the registry in this file, and serves it to the others.
    pub file: Option<String>,
    /// The gateway with this name serves the registry. It must be in `peer`.
    pub peer: Option<String>,
    /// etcd keeps the registry: the URLs of its members, such as `["https://10.0.0.1:2379"]`.
    pub etcd: Option<Vec<String>>,
    /// The user of etcd, if it authenticates.
    pub user: Option<String>,
    /// The file with the user's password: one line.
    pub password_file: Option<String>,
    /// A file with the certificates of the authorities of etcd's members (PEM). Default: those of the web.
    pub authorities: Option<String>,
    /// What all keys in etcd begin with; default "/lasthop/".
    pub prefix: Option<String>,
}

/// Translations that follow clients: their addresses are translated by the access point that they are at, and then by
/// one gateway for the whole site.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NatTable {
    /// The name of the gateway that translates the site, which may be this one's `access-point`. Required.
    pub central: String,
    /// The prefix of the clients' addresses, such as "10.77.0.0/16": the same at all access points. They are translated
    /// to the IPv4 address in `address`. Required, unless this gateway translates the site.
    pub clients: Option<String>,
}

impl Default for RoamingTable {
    fn default() -> Self {
        Self {
            access_point: None,
            address: None,
            listen: None,
            identity: "/var/lib/lasthop/identity".to_owned(),
            site_key: None,
            known_keys: "/var/lib/lasthop/known-keys".to_owned(),
            peer: Vec::new(),
            registry: RegistryTable::default(),
            nat: None,
            max_clients: 1000,
            bridge: true,
            hostapd: Vec::new(),
            answer_timeout: Duration::from_millis(250),
            registry_timeout: Duration::from_secs(2),
        }
    }
}
