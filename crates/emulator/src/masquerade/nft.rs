//! Address translation by `nft`: one table for each emulation, named after its device.

use crate::client_side::is_ours;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::tool::run;

/// The prefix of the name of a record: an empty chain in the table, named with the index of a
/// device on which forwarding was disabled before.
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

pub(super) fn records(namespace: &Namespace, device: &str) -> Result<Vec<u32>, String> {
    let listed = run(namespace, &["nft", "list", "table", "ip", device], "")?;
    let chains = listed.split_whitespace().filter_map(|word| word.strip_prefix(WAS_OFF)?.parse().ok());
    Ok(chains.collect())
}

pub(super) fn record(namespace: &Namespace, device: &str, number: u32) -> Result<(), String> {
    run(namespace, &["nft", "add", "chain", "ip", device, &format!("{WAS_OFF}{number}")], "").map(drop)
}
