//! Lets a host behind an emulated hop reach what this machine reaches: forwarding, and this machine's own address on what it sends.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::namespace::Namespace;

const FORWARDING: &str = "ipv4/ip_forward";

/// A chain without rules that stands in a table of ours for this: forwarding was off before, and is to be switched off at the end.
const WAS_OFF: &str = "forwarding_was_off";

/// Forwarding and address translation for one subnet, of IPv4. All of it is undone with this value. With `nft`, what one that was
/// killed has left behind is undone with the next, and forwarding stays on until the last one ends.
#[derive(Debug)]
pub struct Masquerade<'n> {
    namespace: &'n Namespace,
    /// Undoes the translation.
    removal: Vec<String>,
    switched_forwarding_on: bool,
    /// Our table of `nft`, if we have one.
    table: Option<String>,
}

impl<'n> Masquerade<'n> {
    /// For the hosts of `subnet` behind `device`; with `nft`, or else with `iptables`. The error is a sentence for the user.
    pub fn start(namespace: &'n Namespace, subnet: &str, device: &str) -> Result<Self, String> {
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
        let mut started = Self { namespace, removal, switched_forwarding_on: was_off, table };
        started.forward().map_err(|error| {
            format!("only this machine can be reached from behind the hop: it forwards nothing: {error}")
        })?;
        Ok(started)
    }

    fn forward(&mut self) -> io::Result<()> {
        let path = format!("/proc/sys/net/{FORWARDING}");
        let now = self.namespace.enter(|| std::fs::read_to_string(path))??;
        if now.trim() == "0" {
            self.namespace.sysctl(FORWARDING, "1")?;
            self.switched_forwarding_on = true;
        }
        if let (true, Some(table)) = (self.switched_forwarding_on, &self.table) {
            note_that_it_was_off(self.namespace, table);
        }
        Ok(())
    }

    /// Whether forwarding is ours to switch off: we switched it on, or somebody who ended before us.
    fn is_to_switch_off(&self) -> bool {
        let inherited = self.table.as_ref().is_some_and(|table| has_note(self.namespace, table));
        if !inherited && !self.switched_forwarding_on {
            return false;
        }
        // Another one needs it still: it is his from now on.
        let heir = tables(self.namespace).into_iter().find(|table| Some(table) != self.table.as_ref());
        if let Some(heir) = &heir {
            note_that_it_was_off(self.namespace, heir);
        }
        heir.is_none()
    }
}

impl Drop for Masquerade<'_> {
    fn drop(&mut self) {
        // What cannot be undone now has gone already, or somebody else has taken it in hand.
        if self.is_to_switch_off() {
            let _ = self.namespace.sysctl(FORWARDING, "0");
        }
        let words: Vec<&str> = self.removal.iter().map(String::as_str).collect();
        let _ = run(self.namespace, &words, "");
    }
}

/// Our tables of `nft`: those named as our devices are.
fn tables(namespace: &Namespace) -> Vec<String> {
    let listed = run(namespace, &["nft", "list", "tables", "ip"], "").unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("table ip "));
    let is_ours = |name: &&str| {
        let number = name.strip_prefix("lasthop").unwrap_or_default();
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    };
    names.filter(is_ours).map(str::to_owned).collect()
}

fn has_note(namespace: &Namespace, table: &str) -> bool {
    run(namespace, &["nft", "list", "chain", "ip", table, WAS_OFF], "").is_ok()
}

fn note_that_it_was_off(namespace: &Namespace, table: &str) {
    // Without the note, forwarding stays on if we are killed.
    let _ = run(namespace, &["nft", "add", "chain", "ip", table, WAS_OFF], "");
}

/// Removes the tables whose devices are gone, and the one that had our own device's name before. Whether forwarding was off before
/// their time.
fn clear_after_the_dead(namespace: &Namespace, device: &str) -> bool {
    let left = tables(namespace);
    if left.is_empty() {
        return false;
    }
    let links = namespace.ip(&["link show"]).unwrap_or_default();
    let mut was_off = false;
    for table in left.iter().filter(|table| *table == device || !links.contains(&format!(": {table}: "))) {
        was_off |= has_note(namespace, table);
        let _ = run(namespace, &["nft", "delete", "table", "ip", table], "");
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
    let command = |action| {
        let rule = ["POSTROUTING", "-s", subnet, "!", "-o", device, "-j", "MASQUERADE"];
        ["iptables", "-w", "-t", "nat", action].into_iter().chain(rule).collect::<Vec<&str>>()
    };
    run(namespace, &command("-A"), "")?;
    Ok(command("-D").into_iter().map(str::to_owned).collect())
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
    Err(format!("`{program}`: {}", said.lines().next().unwrap_or("it failed").trim()))
}
