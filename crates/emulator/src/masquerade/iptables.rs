//! Address translation by `iptables`: a rule for each emulation.

use crate::client_side::is_ours;
use crate::tool::run;
use lasthop_linux::namespace::Namespace;

/// The subnet and the device of each rule of ours.
pub(super) fn rules(namespace: &Namespace) -> Result<Vec<(String, String)>, String> {
    if !may_have_rules(namespace)? {
        return Ok(Vec::new());
    }
    let listed = in_nat(namespace, &["-S", "POSTROUTING"])?;
    let ours = listed.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"] = words.as_slice() else { return None };
        // Nothing but what we would have written ourselves.
        let is_whole = words[1..] == rule_of(subnet, device);
        (is_ours(device) && is_whole).then(|| ((*subnet).to_owned(), (*device).to_owned()))
    });
    Ok(ours.collect())
}

/// Whether to ask `iptables` for its rules. The one of old would load the kernel's `iptable_nat`
/// only to find that there are none.
fn may_have_rules(namespace: &Namespace) -> Result<bool, String> {
    let version = run(namespace, &["iptables", "--version"], "")?;
    let names = || std::fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    let has_nat = || namespace.enter(names).is_ok_and(|names| names.lines().any(|name| name == "nat"));
    Ok(version.contains("nf_tables") || has_nat())
}

pub(super) fn add(namespace: &Namespace, subnet: &str, device: &str) -> Result<(), String> {
    // Notes of this name can only be left: their program went on when the emulation was killed.
    remove_notes(namespace, device);
    change(namespace, "-A", subnet, device)
}

/// Removes a rule and, before it, its notes: a note without a rule would not be found.
pub(super) fn remove(namespace: &Namespace, subnet: &str, device: &str) -> Result<(), String> {
    remove_notes(namespace, device);
    change(namespace, "-D", subnet, device)
}

pub(super) fn notes(namespace: &Namespace, device: &str) -> Result<Vec<u32>, String> {
    let (listed, chain) = (in_nat(namespace, &["-S"])?, format!("-N {}", notes_of(device)));
    Ok(listed.lines().filter_map(|line| line.trim().strip_prefix(&chain)?.parse().ok()).collect())
}

pub(super) fn note(namespace: &Namespace, device: &str, number: u32) -> Result<(), String> {
    in_nat(namespace, &["-N", &format!("{}{number}", notes_of(device))]).map(drop)
}

fn remove_notes(namespace: &Namespace, device: &str) {
    for number in notes(namespace, device).unwrap_or_default() {
        let _ = in_nat(namespace, &["-X", &format!("{}{number}", notes_of(device))]);
    }
}

/// A chain without rules that nothing leads to, with the number of a device behind this: it did not
/// forward before. A chain's name has at most 28 octets.
fn notes_of(device: &str) -> String {
    format!("{device}_was_off_")
}

fn change(namespace: &Namespace, action: &str, subnet: &str, device: &str) -> Result<(), String> {
    let words = [&[action][..], &rule_of(subnet, device)].concat();
    in_nat(namespace, &words).map(drop)
}

const fn rule_of<'a>(subnet: &'a str, device: &'a str) -> [&'a str; 8] {
    ["POSTROUTING", "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"]
}

fn in_nat(namespace: &Namespace, words: &[&str]) -> Result<String, String> {
    run(namespace, &[&["iptables", "-w", "-t", "nat"], words].concat(), "")
}
