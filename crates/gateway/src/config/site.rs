//! The site of a gateway, from `[roaming]` of its file: checks beyond those of serde.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use lasthop_config::FileError;
use lasthop_packet::Prefix;
use lasthop_peering::Fingerprint;

use super::reader::Reader;
use super::site_tables::{NatTable, PeerTable, RegistryTable, RoamingTable};
use super::tables::Backend;
use crate::roaming::access_points::MAX_NAME;
use crate::roaming::directory::Configured;

/// The maximum number of access points in a file.
const MAX_PEERS: usize = 1024;

/// How a gateway takes part in a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteConfig {
    /// The name of this access point.
    pub access_point: String,
    /// Where others reach it.
    pub address: SocketAddr,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The file with its private key.
    pub identity: PathBuf,
    /// The file with the key of the site, if there is one.
    pub site_key: Option<PathBuf>,
    /// The file with the keys that were learned.
    pub known_keys: PathBuf,
    /// The access points of the file.
    pub peers: Vec<Configured>,
    /// The registry.
    pub registry: RegistryPlace,
    /// Its part in the translation of addresses, if access points translate.
    pub nat: Option<NatConfig>,
    /// The maximum number of clients that are handed over.
    pub max_clients: usize,
    /// Whether clients are noticed by what bridges learn.
    pub bridge: bool,
    /// The control sockets of hostapd.
    pub hostapd: Vec<PathBuf>,
    /// How long another gateway may take to answer.
    pub answer_timeout: Duration,
    /// How long the registry may take to answer.
    pub registry_timeout: Duration,
}

/// A gateway's part in the translation of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatConfig {
    /// It translates the addresses of its clients to the one in [`SiteConfig::address`].
    AccessPoint {
        /// The clients' addresses, of IPv4.
        clients: Prefix,
        /// The name of the gateway that translates the site.
        central: String,
    },
    /// It translates the site.
    Central,
}

/// Where the registry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryPlace {
    /// In a file of this gateway, which serves it.
    File(PathBuf),
    /// At another gateway, one of [`SiteConfig::peers`].
    Peer(Configured),
    /// In etcd.
    Etcd(EtcdPlace),
}

/// How etcd is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdPlace {
    /// The URLs of its members.
    pub members: Vec<String>,
    /// The user, and the file with the password.
    pub user: Option<(String, PathBuf)>,
    /// A file with the certificates of authorities.
    pub authorities: Option<PathBuf>,
    /// What all keys begin with.
    pub prefix: String,
}

impl SiteConfig {
    /// Settings that are probably not intended; one sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let RegistryPlace::Etcd(etcd) = &self.registry else { return Vec::new() };
        let unprotected = etcd.members.iter().filter(|url| url.starts_with("http://") && !is_loopback(url));
        let note = |url: &String| {
            format!(
                "roaming.registry.etcd: {url} is without TLS: anybody on the path can say where clients are, and which keys to believe"
            )
        };
        unprotected.map(note).collect()
    }
}

fn is_loopback(url: &str) -> bool {
    ["http://127.0.0.1:", "http://[::1]:", "http://localhost:"].iter().any(|start| url.starts_with(start))
}

/// Checks the table. `is_passive` and `backend` are what the rest of the file says.
pub(super) fn read(
    reader: &Reader<'_>,
    table: &RoamingTable,
    is_passive: bool,
    backend: Backend,
) -> Result<SiteConfig, FileError> {
    let fail = |keys: &[&str], problem: &str| reader.fail(&[&["roaming"], keys].concat(), problem);
    if is_passive {
        return Err(fail(
            &[],
            "a passive gateway has no agents, so there is no state that could follow a client",
        ));
    }
    if backend == Backend::Tun {
        return Err(fail(
            &[],
            "the backend tun sees no MAC addresses, by which clients are known; expected tc-bpf",
        ));
    }
    let access_point = name(reader, &["access-point"], table.access_point.as_deref().unwrap_or_default())?;
    let address = address(reader, &["address"], table.address.as_deref().unwrap_or_default())?;
    let listen = match &table.listen {
        None => address,
        Some(text) => text.parse().map_err(|_| fail(&["listen"], &not_an_address(text)))?,
    };
    if listen.port() == 0 {
        return Err(fail(
            &["listen"],
            "other access points would not find port 0, which the kernel replaces; expected another one",
        ));
    }
    if table.peer.len() > MAX_PEERS {
        return Err(fail(&["peer"], &format!("{} gateways; expected at most {MAX_PEERS}", table.peer.len())));
    }
    let mut peers: Vec<Configured> = Vec::new();
    for (index, peer) in table.peer.iter().enumerate() {
        peers.push(read_peer(reader, &index.to_string(), peer, &peers, &access_point)?);
    }
    let site_key = path_if_any(reader, &["site-key"], table.site_key.as_deref())?;
    let registry = read_registry(reader, &table.registry, &peers, &access_point)?;
    let nat = table.nat.as_ref().map(|nat| read_nat(reader, nat, &access_point, address)).transpose()?;
    let sockets = table.hostapd.iter().enumerate();
    let hostapd = sockets.map(|(index, text)| path(reader, &["hostapd", &index.to_string()], text));
    Ok(SiteConfig {
        access_point,
        address,
        listen,
        identity: path(reader, &["identity"], &table.identity)?,
        site_key,
        known_keys: path(reader, &["known-keys"], &table.known_keys)?,
        peers,
        registry,
        nat,
        max_clients: table.max_clients,
        bridge: table.bridge,
        hostapd: hostapd.collect::<Result<_, _>>()?,
        answer_timeout: table.answer_timeout,
        registry_timeout: table.registry_timeout,
    })
}

fn read_peer(
    reader: &Reader<'_>,
    index: &str,
    peer: &PeerTable,
    before: &[Configured],
    own_name: &str,
) -> Result<Configured, FileError> {
    let fail = |key: &str, problem: &str| reader.fail(&["roaming", "peer", index, key], problem);
    let name = name(reader, &["peer", index, "name"], &peer.name)?;
    if name == own_name {
        return Err(fail("name", &format!("{name:?} is this access point itself; expected another one")));
    }
    if before.iter().any(|other| other.name == name) {
        return Err(fail("name", &format!("{name:?} is listed twice; expected each access point once")));
    }
    let address = address(reader, &["peer", index, "address"], &peer.address)?;
    let key: Option<Fingerprint> = match &peer.key {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| {
            fail(
                "key",
                &format!("{text:?} is not a fingerprint; expected sha256: and 64 hexadecimal digits, as `lasthop gateway identity` prints them"),
            )
        })?),
    };
    if let Some(other) = before.iter().find(|other| key.is_some() && other.key == key) {
        return Err(fail(
            "key",
            &format!("{} has the same key; expected one for each access point", other.name),
        ));
    }
    Ok(Configured { name, address, key })
}

fn read_registry(
    reader: &Reader<'_>,
    table: &RegistryTable,
    peers: &[Configured],
    own_name: &str,
) -> Result<RegistryPlace, FileError> {
    let fail =
        |keys: &[&str], problem: &str| reader.fail(&[&["roaming", "registry"], keys].concat(), problem);
    let RegistryTable { file, peer, etcd, user, password_file, authorities, prefix } = table;
    let only_etcds = [
        ("user", user.is_some()),
        ("password-file", password_file.is_some()),
        ("authorities", authorities.is_some()),
        ("prefix", prefix.is_some()),
    ];
    if let (None, Some((key, _))) = (etcd, only_etcds.iter().find(|(_, is_there)| *is_there)) {
        return Err(fail(&[key], "this is a setting of etcd; expected `etcd` as well"));
    }
    match (file, peer, etcd) {
        (Some(file), None, None) => Ok(RegistryPlace::File(path(reader, &["registry", "file"], file)?)),
        (None, Some(name), None) => {
            if name == own_name {
                return Err(fail(
                    &["peer"],
                    &format!(
                        "{name:?} is this access point itself; expected `file` where the registry is kept"
                    ),
                ));
            }
            let Some(server) = peers.iter().find(|peer| peer.name == *name) else {
                return Err(fail(&["peer"], &format!("no [[roaming.peer]] has the name {name:?}")));
            };
            Ok(RegistryPlace::Peer(server.clone()))
        }
        (None, None, Some(members)) => {
            if !cfg!(feature = "etcd") {
                return Err(fail(
                    &["etcd"],
                    "this build does not speak to etcd; one with the feature etcd does, such as the complete `lasthop`",
                ));
            }
            if members.is_empty() {
                return Err(fail(
                    &["etcd"],
                    "an empty list; expected a URL such as \"https://10.0.0.1:2379\"",
                ));
            }
            for (index, url) in members.iter().enumerate() {
                let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                let is_url = rest.is_some_and(|rest| {
                    let host = rest.trim_end_matches('/');
                    !host.is_empty() && !host.contains(['/', ' ', '@', '?', '#']) && !host.starts_with(':')
                });
                if !is_url {
                    let problem = format!(
                        "{url:?} is not the URL of a member; expected one such as \"https://10.0.0.1:2379\""
                    );
                    return Err(fail(&["etcd", &index.to_string()], &problem));
                }
            }
            let user = match (user, password_file) {
                (None, None) => None,
                (Some(user), Some(file)) => {
                    Some((user.clone(), path(reader, &["registry", "password-file"], file)?))
                }
                (Some(_), None) => return Err(fail(&["user"], "expected password-file as well")),
                (None, Some(_)) => return Err(fail(&["password-file"], "expected user as well")),
            };
            Ok(RegistryPlace::Etcd(EtcdPlace {
                members: members.iter().map(|url| url.trim_end_matches('/').to_owned()).collect(),
                user,
                authorities: path_if_any(reader, &["registry", "authorities"], authorities.as_deref())?,
                prefix: prefix.clone().unwrap_or_else(|| "/lasthop/".to_owned()),
            }))
        }
        (None, None, None) => Err(fail(&[], "no registry; expected `file`, `peer` or `etcd`")),
        _ => Err(fail(&[], "several registries; expected only one of `file`, `peer` and `etcd`")),
    }
}

fn read_nat(
    reader: &Reader<'_>,
    table: &NatTable,
    own_name: &str,
    own: SocketAddr,
) -> Result<NatConfig, FileError> {
    let fail = |keys: &[&str], problem: &str| reader.fail(&[&["roaming", "nat"], keys].concat(), problem);
    let NatTable { central, clients } = table;
    let central = name(reader, &["nat", "central"], central)?;
    if own.is_ipv6() {
        return Err(fail(
            &[],
            &format!(
                "translations are of IPv4, and roaming.address is {own}; expected an IPv4 address there"
            ),
        ));
    }
    match clients {
        None if central == own_name => Ok(NatConfig::Central),
        None => {
            Err(fail(&["clients"], "expected the prefix of the clients' addresses, such as \"10.77.0.0/16\""))
        }
        Some(_) if central == own_name => Err(fail(
            &["clients"],
            "the gateway that translates the site has no clients; expected `central` alone",
        )),
        Some(text) => {
            let clients: Prefix = text.parse().map_err(|error| fail(&["clients"], &format!("{error}")))?;
            if !clients.is_ipv4() {
                let problem =
                    format!("{clients} is a prefix of IPv6; expected one of IPv4, such as \"10.77.0.0/16\"");
                return Err(fail(&["clients"], &problem));
            }
            if clients.contains(own.ip()) {
                let problem = format!(
                    "{clients} contains the address of this access point, {}, to which clients are translated; expected the network of the clients",
                    own.ip()
                );
                return Err(fail(&["clients"], &problem));
            }
            Ok(NatConfig::AccessPoint { clients, central })
        }
    }
}

fn name(reader: &Reader<'_>, keys: &[&str], text: &str) -> Result<String, FileError> {
    // Names are in the files and commands of others, in a table that is printed for them, and in logs.
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if (1..=MAX_NAME).contains(&text.len()) && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    let problem = format!(
        "expected the name of an access point: 1 to {MAX_NAME} characters, which are letters (a to z, A to Z), digits, `-`, `_` and `.`"
    );
    Err(reader.fail(&[&["roaming"], keys].concat(), problem))
}

/// An address at which a gateway can be reached.
fn address(reader: &Reader<'_>, keys: &[&str], text: &str) -> Result<SocketAddr, FileError> {
    let fail = |problem: String| reader.fail(&[&["roaming"], keys].concat(), problem);
    let address: SocketAddr = text.parse().map_err(|_| fail(not_an_address(text)))?;
    if address.ip().is_unspecified() || address.ip().is_multicast() || address.port() == 0 {
        return Err(fail(format!(
            "no host can connect to {address}; expected an address of one machine, and a port"
        )));
    }
    Ok(address)
}

fn not_an_address(text: &str) -> String {
    if text.is_empty() {
        return "expected an address and a port, such as \"10.0.0.1:9479\"".to_owned();
    }
    format!("{text:?} is not an address and a port; expected one such as \"10.0.0.1:9479\"")
}

fn path(reader: &Reader<'_>, keys: &[&str], text: &str) -> Result<PathBuf, FileError> {
    if text.starts_with('/') && !text.ends_with('/') {
        return Ok(text.into());
    }
    Err(reader.fail(&[&["roaming"], keys].concat(), "expected the absolute path of a file"))
}

fn path_if_any(reader: &Reader<'_>, keys: &[&str], text: Option<&str>) -> Result<Option<PathBuf>, FileError> {
    text.map(|text| path(reader, keys, text)).transpose()
}

#[cfg(test)]
mod tests;
