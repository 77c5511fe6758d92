//! Address translation by `nft`: a table of our own for each emulation, named after its device.

use crate::client_side::is_ours;
use crate::tool::run;
use lasthop_linux::namespace::Namespace;

/// A chain without rules in a table, with the number of a device behind this: it did not forward before.
const WAS_OFF: &str = "was_off_";

/// The devices that have a table.
pub(super) fn devices(namespace: &Namespace) -> Result<Vec<String>, String> {
    let listed = run(namespace, &["nft", "list", "tables", "ip"], "")?;
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("table ip "));
    Ok(names.filter(|name| is_ours(name)).map(str::to_owned).collect())
}

pub(super) fn add(namespace: &Namespace, subnet: &str, device: &str) -> Result<(), String> {
    let rules = format!(
        "table ip {device} {{\n chain postrouting {{\n type nat hook postrouting priority srcnat;\n \
         ip saddr {subnet} oifname != \"{device}\" masquerade\n }}\n}}\n"
    );
    run(namespace, &["nft", "-f", "-"], &rules).map(drop)
}

pub(super) fn remove(namespace: &Namespace, device: &str) -> Result<(), String> {
    run(namespace, &["nft", "delete", "table", "ip", device], "").map(drop)
}

pub(super) fn notes(namespace: &Namespace, device: &str) -> Result<Vec<u32>, String> {
    let listed = run(namespace, &["nft", "list", "table", "ip", device], "")?;
    let chains = listed.split_whitespace().filter_map(|word| word.strip_prefix(WAS_OFF)?.parse().ok());
    Ok(chains.collect())
}

pub(super) fn note(namespace: &Namespace, device: &str, number: u32) -> Result<(), String> {
    run(namespace, &["nft", "add", "chain", "ip", device, &format!("{WAS_OFF}{number}")], "").map(drop)
}
