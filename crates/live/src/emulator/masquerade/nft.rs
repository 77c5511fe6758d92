//! Address translation by `nft`: a table of our own for each emulation, named after its device.

use crate::emulator::behind::is_ours;
use crate::emulator::tool::run;
use crate::namespace::Namespace;

/// A chain without rules in a table: forwarding was off before.
const WAS_OFF: &str = "forwarding_was_off";

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

pub(super) fn has_note(namespace: &Namespace, device: &str) -> Result<bool, String> {
    Ok(run(namespace, &["nft", "list", "table", "ip", device], "")?.contains(WAS_OFF))
}

pub(super) fn note(namespace: &Namespace, device: &str) -> Result<(), String> {
    run(namespace, &["nft", "add", "chain", "ip", device, WAS_OFF], "").map(drop)
}
