//! Checks of what roaming needs: keys, the registry's file, the address for other gateways, hostapd.

use std::path::Path;

use lasthop_peering::{Peers, PeersError};

use super::finding::{Findings, Grade};
use super::gateways::Running;
use super::listeners::can_be_created;
use super::port::holders_of;
use crate::config::{NatConfig, RegistryPlace, SiteConfig};
use crate::listeners;
use crate::ports::kernel;
use crate::roaming::access_points::MAX_ACCESS_POINTS;
use crate::roaming::setup;
use crate::translation::{self, Translation};
use lasthop_linux::peer;

const NAME: &str = "roaming";

const KEYS: &str = "name a site-key, or the key in its [[roaming.peer]]";

/// Checks a site's files and its address.
pub(super) fn check(site: &SiteConfig, running: Option<Running>, found: &mut Findings) {
    let before = found.0.len();
    check_identity(site, found);
    if let Some(path) = &site.site_key
        && let Err(why) = setup::site_key(path)
    {
        problem(
            found,
            why,
            "a copy of the file that `lasthop gateway site-key` writes, which only root may read",
        );
    }
    check_known_keys(site, found);
    if let RegistryPlace::File(path) = &site.registry
        && !path.exists()
    {
        check_can_be_created(path, "[roaming.registry] file", found);
    }
    if let RegistryPlace::Etcd(etcd) = &site.registry {
        for path in etcd.authorities.iter().chain(etcd.user.iter().map(|(_, file)| file)) {
            if let Err(error) = std::fs::File::open(path) {
                problem(found, format!("{}: {error}", path.display()), "name a file that can be read");
            }
        }
    }
    check_listen(site, running, found);
    if site.nat.is_some() && translation::detect(kernel().proc) == Translation::None {
        found.advise(
            NAME,
            Grade::Warning,
            "[roaming.nat]: no rules of this machine translate addresses, so there is nothing to follow a client",
            "add a rule that does, such as `masquerade` in a chain of nftables",
        );
    }
    for path in &site.hostapd {
        if !path.exists() {
            found.advise(
                NAME,
                Grade::Warning,
                format!(
                    "{} does not exist: until hostapd runs, clients are noticed by their frames",
                    path.display()
                ),
                "start hostapd with `ctrl_interface`",
            );
        }
    }
    if found.0[before..].iter().all(|finding| finding.grade == Grade::Ok) {
        let registry = match &site.registry {
            RegistryPlace::File(path) => format!("serves the registry in {}", path.display()),
            RegistryPlace::Peer(server) => format!("the registry is at {}, {}", server.name, server.address),
            RegistryPlace::Etcd(etcd) => format!("the registry is in etcd, {}", etcd.members.join(", ")),
        };
        let translates = match &site.nat {
            None => String::new(),
            Some(NatConfig::AccessPoint { clients, central }) => {
                format!("; translations of {clients} follow their clients, with {central}")
            }
            Some(NatConfig::Central) => "; translates the site".to_owned(),
        };
        found.add(
            NAME,
            Grade::Ok,
            format!("access point {} at {}; {registry}{translates}", site.access_point, site.address),
        );
    }
}

fn check_identity(site: &SiteConfig, found: &mut Findings) {
    if !site.identity.exists() {
        return check_can_be_created(&site.identity, "[roaming] identity", found);
    }
    if let Err(why) = setup::identity(&site.identity) {
        let advice = "a file that only root may read (chmod 600); without it the gateway has a new key at its next start, which the others have to learn";
        problem(found, why, advice);
    }
}

fn check_known_keys(site: &SiteConfig, found: &mut Findings) {
    let path = &site.known_keys;
    if !path.exists() {
        check_can_be_created(path, "[roaming] known-keys", found);
        if let RegistryPlace::Peer(server) = &site.registry
            && server.key.is_none()
            && site.site_key.is_none()
        {
            problem(found, format!("the key of {} is not known", server.name), KEYS);
        }
        return;
    }
    match Peers::open(path, MAX_ACCESS_POINTS) {
        Err(PeersError::File(error)) => {
            let finding = format!("{}: {error}", path.display());
            problem(found, finding, "a file that root owns, and that only root may write; check it as root");
        }
        Err(error) => {
            problem(found, format!("{}: {error}", path.display()), "mend that line");
        }
        Ok(known) => {
            if let RegistryPlace::Peer(server) = &site.registry
                && let Err(why) = setup::check_key(server, site.site_key.is_some(), &known)
            {
                problem(found, why, KEYS);
            }
            for peer in &site.peers {
                let other = known.named(&peer.name).map(|known| known.fingerprint);
                if peer.key.is_some() && other.is_some() && other != peer.key {
                    let finding =
                        format!("{} has another key in {} than in the file", peer.name, path.display());
                    problem(found, finding, "remove the one that is no longer right");
                }
            }
        }
    }
}

fn check_can_be_created(path: &Path, key: &str, found: &mut Findings) {
    if let Err(why) = can_be_created(path) {
        problem(found, format!("{} cannot be created: {why}", path.display()), &format!("set another {key}"));
    }
}

fn check_listen(site: &SiteConfig, running: Option<Running>, found: &mut Findings) {
    let at = site.listen;
    let Err(error) = listeners::may_listen(at) else { return };
    let holders = holders_of(at);
    if running.is_some_and(|Running(ours)| holders.contains(&ours)) {
        return;
    }
    let why = match holders.first() {
        Some(holder) => format!("{} listens there", peer::shown(*holder)),
        None => error.to_string(),
    };
    let finding = format!("cannot listen for other gateways at {at}: {why}");
    problem(found, finding, "give this machine that address, or set another [roaming] listen");
}

fn problem(found: &mut Findings, finding: String, advice: &str) {
    found.advise(NAME, Grade::Problem, finding, advice);
}
