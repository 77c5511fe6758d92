//! Lets a host behind an emulated hop reach what this machine reaches: forwarding, and this
//! machine's own address on what it sends.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::directory::lock;
use crate::namespace::Namespace;

const FORWARDING: &str = "ipv4/ip_forward";

/// A chain without rules that stands in a table of ours for this: forwarding was off before, and is
/// to be switched off at the end.
const WAS_OFF: &str = "forwarding_was_off";

/// Forwarding and address translation for one subnet, of IPv4. All of it is undone with this value.
/// The translation that one left behind that was killed is undone with the next; with `nft` its
/// forwarding is, too, which stays on until the last one ends.
#[derive(Debug)]
pub struct Masquerade<'n> {
    namespace: &'n Namespace,
    undo: Undo,
}

/// What undoes a [`Masquerade`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Undo {
    /// The command that removes the translation.
    removal: Vec<String>,
    switched_forwarding_on: bool,
    /// Our table of `nft`, if we have one.
    table: Option<String>,
}

impl<'n> Masquerade<'n> {
    /// For the hosts of `subnet` behind `device`; with `nft`, or else with `iptables`. The error is
    /// a sentence for the user.
    pub fn start(namespace: &'n Namespace, subnet: &str, device: &str) -> Result<Self, String> {
        // Without it two emulations that start or end at once could get in each other's way.
        let lock = lock();
        let was_off = clear_after_the_dead(namespace, device);
        let (removal, table) = match with_nft(namespace, subnet, device) {
            Ok(removal) => (removal, Some(device.to_owned())),
            Err(nft) => {
                let removal = with_iptables(namespace, subnet, device).map_err(|iptables| {
                    format!("only this machine can be reached from behind the hop: {nft}; {iptables}")
                })?;
                (removal, None)
            }
        };
        let undo = Undo { removal, switched_forwarding_on: was_off, table };
        let mut started = Self { namespace, undo };
        let forwarded = started.forward();
        drop(lock);
        forwarded.map_err(|error| {
            format!("only this machine can be reached from behind the hop: cannot enable forwarding: {error}")
        })?;
        Ok(started)
    }

    /// What another process needs to undo it.
    pub const fn undo(&self) -> &Undo {
        &self.undo
    }

    fn forward(&mut self) -> io::Result<()> {
        let path = format!("/proc/sys/net/{FORWARDING}");
        let now = self.namespace.enter(|| std::fs::read_to_string(path))??;
        if now.trim() == "0" {
            self.namespace.sysctl(FORWARDING, "1")?;
            self.undo.switched_forwarding_on = true;
        }
        if let (true, Some(table)) = (self.undo.switched_forwarding_on, &self.undo.table) {
            note_that_it_was_off(self.namespace, table);
        }
        Ok(())
    }
}

impl Undo {
    /// To be called with the lock.
    fn carry_out(&self, namespace: &Namespace) {
        // What cannot be undone now has gone already, or somebody else has taken it in hand.
        if self.is_to_switch_off(namespace) {
            let _ = namespace.sysctl(FORWARDING, "0");
        }
        let words: Vec<&str> = self.removal.iter().map(String::as_str).collect();
        let _ = run(namespace, &words, "");
    }

    /// Whether forwarding is ours to switch off: we switched it on, or somebody who ended before
    /// us.
    fn is_to_switch_off(&self, namespace: &Namespace) -> bool {
        let inherited = self.table.as_ref().is_some_and(|table| has_note(namespace, table));
        if !inherited && !self.switched_forwarding_on {
            return false;
        }
        // Another one needs it still: it is his from now on.
        let heir = tables(namespace).into_iter().find(|table| Some(table) != self.table.as_ref());
        if let Some(heir) = &heir {
            note_that_it_was_off(namespace, heir);
        }
        heir.is_none()
    }
}

impl Drop for Masquerade<'_> {
    fn drop(&mut self) {
        let _lock = lock();
        self.undo.carry_out(self.namespace);
    }
}

/// Undoes what a process left behind that was killed and whose device is gone. If a device has that
/// name, another emulation has cleared up already, or does so when it starts.
pub(super) fn undo_of_the_dead(namespace: &Namespace, device: &str, undo: Option<&Undo>) {
    let _lock = lock();
    let links = namespace.ip(&["link show"]).unwrap_or_default();
    if links.contains(&format!(": {device}: ")) {
        return;
    }
    match undo {
        Some(undo) => undo.carry_out(namespace),
        None => {
            clear_after_the_dead(namespace, device);
        }
    }
}

/// Whether a device has a name as ours have.
fn is_ours(device: &str) -> bool {
    let number = device.strip_prefix("lasthop").unwrap_or_default();
    !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
}

/// Our tables of `nft`: those named as our devices are.
fn tables(namespace: &Namespace) -> Vec<String> {
    let listed = run(namespace, &["nft", "list", "tables", "ip"], "").unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("table ip "));
    names.filter(|name| is_ours(name)).map(str::to_owned).collect()
}

/// Our rules of `iptables`, each as the subnet and the device that it was made for.
fn iptables_rules(namespace: &Namespace) -> Vec<(String, String)> {
    if !may_have_rules(namespace) {
        return Vec::new();
    }
    let listed =
        run(namespace, &["iptables", "-w", "-t", "nat", "-S", "POSTROUTING"], "").unwrap_or_default();
    let ours = listed.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"] = words.as_slice() else { return None };
        // Nothing but what we would have written ourselves.
        let is_whole = words[2..] == rule_of(subnet, device)[1..];
        (is_ours(device) && is_whole).then(|| ((*subnet).to_owned(), (*device).to_owned()))
    });
    ours.collect()
}

/// Whether to ask `iptables` for its rules. The one of old would load the kernel's `iptable_nat`
/// only to find that there are none.
fn may_have_rules(namespace: &Namespace) -> bool {
    let Ok(version) = run(namespace, &["iptables", "--version"], "") else { return false };
    let names = || std::fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    let has_nat = || namespace.enter(names).is_ok_and(|names| names.lines().any(|name| name == "nat"));
    version.contains("nf_tables") || has_nat()
}

fn has_note(namespace: &Namespace, table: &str) -> bool {
    run(namespace, &["nft", "list", "chain", "ip", table, WAS_OFF], "").is_ok()
}

fn note_that_it_was_off(namespace: &Namespace, table: &str) {
    // Without the note, forwarding stays on if we are killed.
    let _ = run(namespace, &["nft", "add", "chain", "ip", table, WAS_OFF], "");
}

/// Removes the tables and rules whose devices are gone, and those that had our own device's name
/// before. Whether forwarding was off before their time, as far as a table tells.
fn clear_after_the_dead(namespace: &Namespace, device: &str) -> bool {
    let (tables, rules) = (tables(namespace), iptables_rules(namespace));
    if tables.is_empty() && rules.is_empty() {
        return false;
    }
    let links = namespace.ip(&["link show"]).unwrap_or_default();
    let is_left = |name: &str| name == device || !links.contains(&format!(": {name}: "));
    let mut was_off = false;
    for table in tables.iter().filter(|table| is_left(table)) {
        was_off |= has_note(namespace, table);
        let _ = run(namespace, &["nft", "delete", "table", "ip", table], "");
    }
    for (subnet, device) in rules.iter().filter(|(_, device)| is_left(device)) {
        let _ = run(namespace, &iptables("-D", subnet, device), "");
    }
    was_off
}

fn with_nft(namespace: &Namespace, subnet: &str, device: &str) -> Result<Vec<String>, String> {
    // A table of our own, named after the device.
    let table = device;
    let rules = format!(
        "table ip {table} {{\n chain postrouting {{\n type nat hook postrouting priority srcnat;\n \
         ip saddr {subnet} oifname != \"{device}\" masquerade\n }}\n}}\n"
    );
    run(namespace, &["nft", "-f", "-"], &rules)?;
    Ok(["nft", "delete", "table", "ip", table].map(str::to_owned).into())
}

fn with_iptables(namespace: &Namespace, subnet: &str, device: &str) -> Result<Vec<String>, String> {
    run(namespace, &iptables("-A", subnet, device), "")?;
    Ok(iptables("-D", subnet, device).into_iter().map(str::to_owned).collect())
}

/// The command that adds or deletes our rule.
fn iptables<'a>(action: &'a str, subnet: &'a str, device: &'a str) -> Vec<&'a str> {
    ["iptables", "-w", "-t", "nat", action].into_iter().chain(rule_of(subnet, device)).collect()
}

const fn rule_of<'a>(subnet: &'a str, device: &'a str) -> [&'a str; 8] {
    ["POSTROUTING", "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"]
}

/// What it prints.
fn run(namespace: &Namespace, words: &[&str], input: &str) -> Result<String, String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(String::new()) };
    let output = namespace.enter(|| {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // It may read nothing; its status says how it went.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output()
    });
    let output =
        output.and_then(|output| output).map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}`: {}", said.lines().next().unwrap_or("failed").trim()))
}
