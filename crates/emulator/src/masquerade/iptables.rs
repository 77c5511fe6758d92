//! Address translation by `iptables`: one rule for each emulation.

use crate::client_side::is_ours;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::tool::run;

/// The subnet and the device of each rule of an emulation.
pub(super) fn rules(namespace: &Namespace) -> Result<Vec<(String, String)>, String> {
    if !may_have_rules(namespace)? {
        return Ok(Vec::new());
    }
    let listed = in_nat(namespace, &["-S", "POSTROUTING"])?;
    let ours = listed.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"] = words.as_slice() else { return None };
        // Only rules in exactly the form of `rule_of`.
        let is_exact = words[1..] == rule_of(subnet, device);
        (is_ours(device) && is_exact).then(|| ((*subnet).to_owned(), (*device).to_owned()))
    });
    Ok(ours.collect())
}

/// Whether to list the rules of `iptables`. The legacy program would load the kernel's
/// `iptable_nat` only to find no rules.
fn may_have_rules(namespace: &Namespace) -> Result<bool, String> {
    let version = run(namespace, &["iptables", "--version"], "")?;
    let names = || std::fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    let has_nat = || namespace.enter(names).is_ok_and(|names| names.lines().any(|name| name == "nat"));
    Ok(version.contains("nf_tables") || has_nat())
}

pub(super) fn add(namespace: &Namespace, subnet: &str, device: &str) -> Result<(), String> {
    // Records for this device can only be left over: `iptables` still ran when the emulation was
    // killed.
    remove_records(namespace, device);
    change(namespace, "-A", subnet, device)
}

/// Removes the records of a rule, then the rule: a record without a rule would not be found.
pub(super) fn remove(namespace: &Namespace, subnet: &str, device: &str) -> Result<(), String> {
    remove_records(namespace, device);
    change(namespace, "-D", subnet, device)
}

pub(super) fn records(namespace: &Namespace, device: &str) -> Result<Vec<u32>, String> {
    let (listed, chain) = (in_nat(namespace, &["-S"])?, format!("-N {}", record_prefix(device)));
    Ok(listed.lines().filter_map(|line| line.trim().strip_prefix(&chain)?.parse().ok()).collect())
}

pub(super) fn record(namespace: &Namespace, device: &str, number: u32) -> Result<(), String> {
    in_nat(namespace, &["-N", &format!("{}{number}", record_prefix(device))]).map(drop)
}

fn remove_records(namespace: &Namespace, device: &str) {
    for number in records(namespace, device).unwrap_or_default() {
        let _ = in_nat(namespace, &["-X", &format!("{}{number}", record_prefix(device))]);
    }
}

/// The prefix of the name of a record: an empty, unreferenced chain, named with the index of a
/// device on which forwarding was disabled before. A chain's name has at most 28 octets.
fn record_prefix(device: &str) -> String {
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
