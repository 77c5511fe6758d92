//! The policy routing rules that route packets to our devices.

use std::fs::File;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use lasthop_packet::Prefix;

use super::error::{PolicyError, RULES};
use super::routing::{self, PortRule};
use crate::io::Selection;
use crate::io::claim::{self, Claims};

/// The first priority of our rules.
const FIRST_PRIORITY: usize = 26_000;
/// The number that identifies our rules (`FRA_PROTOCOL`). No routing protocol of `rt_protos` uses
/// it.
const PROTOCOL: u8 = 126;

/// Both address families, with the options of `ip`.
pub(super) const FAMILIES: [Family; 2] =
    [Family { option: "-4", is_v4: true }, Family { option: "-6", is_v4: false }];

/// An address family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    option: &'static str,
    is_v4: bool,
}

/// The commands, for each family, that add the rules for packets that enter through these ports,
/// each given with the number of its routing table.
pub(super) fn additions(
    ports: &[(String, u32)],
    selection: &Selection,
) -> Result<[Vec<String>; 2], PolicyError> {
    let of_family = |family| {
        let rules = || ports.iter().flat_map(|(port, table)| rules_of(port, *table, selection, family));
        // The combinations of ports and prefixes may be millions.
        let count = rules().count();
        if count > RULES {
            return Err(PolicyError::TooMany(count));
        }
        let numbered = rules().zip(FIRST_PRIORITY..);
        Ok(numbered
            .map(|(rule, priority)| format!("rule add {rule} priority {priority} protocol {PROTOCOL}"))
            .collect())
    };
    let [v4, v6] = FAMILIES.map(of_family);
    Ok([v4?, v6?])
}

/// The rules for packets that enter through a port, without priorities: exclusions, then
/// inclusions.
fn rules_of(
    port: &str,
    table: u32,
    selection: &Selection,
    family: Family,
) -> impl Iterator<Item = String> + use<> {
    let from = format!("iif {port} ipproto tcp");
    let of_family = |prefixes: &[Prefix]| -> Vec<String> {
        let prefixes = prefixes.iter().filter(|prefix| prefix.is_ipv4() == family.is_v4);
        prefixes.flat_map(|prefix| [format!("from {prefix}"), format!("to {prefix}")]).collect()
    };
    let of_ports = |ports: &[u16]| {
        ports.iter().flat_map(|port| [format!("sport {port}"), format!("dport {port}")]).collect()
    };
    let excluded_ports: Vec<String> = of_ports(&selection.excluded_ports);
    let mut ports: Vec<String> = of_ports(&selection.ports);
    let mut prefixes = of_family(&selection.prefixes);

    let excluded = excluded_ports.into_iter().chain(of_family(&selection.excluded_prefixes));
    let excluded: Vec<String> = excluded.map(|selector| format!("{from} {selector} lookup main")).collect();
    if selection.ports.is_empty() {
        ports.push(String::new());
    }
    if selection.prefixes.is_empty() {
        prefixes.push(String::new());
    }
    let included = prefixes.into_iter().flat_map(move |prefix| {
        let rule = |port: &String| format!("{from} {prefix} {port} lookup {table}");
        ports.iter().map(rule).collect::<Vec<_>>()
    });
    excluded.into_iter().chain(included)
}

/// The rules for our ports.
#[derive(Debug)]
pub(super) struct Rules {
    /// The ports, with the numbers of their routing tables.
    ports: Vec<(String, u32)>,
    /// The commands that add the rules of each family.
    additions: [Vec<String>; 2],
    claims: Claims,
    /// Descriptors reserved to run `ip` at the end, when other threads may have used up all others.
    reserve: Vec<File>,
}

/// The number of descriptors needed to run `ip`: three pipes, and one that reports its start.
const DESCRIPTORS_OF_IP: usize = 8;

impl Rules {
    /// Creates the rules that route the selected packets to the tables of these ports, without
    /// adding them yet.
    pub(super) fn new(
        ports: Vec<(String, u32)>,
        selection: &Selection,
        claims: &Claims,
    ) -> Result<Self, PolicyError> {
        let additions = additions(&ports, selection)?;
        let reserve = (0..DESCRIPTORS_OF_IP).map(|_| File::open("/dev/null")).collect::<io::Result<_>>();
        Ok(Self { ports, additions, claims: claims.clone(), reserve: reserve.map_err(PolicyError::Start)? })
    }

    /// Removes the rules of previous gateways, for our ports and for others that are not claimed.
    pub(super) fn clear_away(&self, is_free: impl Fn(&str) -> bool) -> Result<(), PolicyError> {
        remove_rules(|port| self.claims.has(port) || is_free(port))
    }

    /// Adds the rules, and a route to the device of this name and address in each port's table.
    /// Removes our existing rules first.
    pub(super) fn add<'a>(
        &self,
        devices: impl Iterator<Item = &'a str>,
        address: &str,
    ) -> Result<(), PolicyError> {
        self.clear_away(|_| false)?;
        let devices: Vec<&str> = devices.collect();
        for (family, additions) in FAMILIES.into_iter().zip(&self.additions) {
            let mut commands = Vec::new();
            for (device, (_, table)) in devices.iter().zip(&self.ports) {
                if family.is_v4 {
                    commands.push(format!("address replace {address} dev {device} scope host"));
                }
                commands.push(format!("route replace default dev {device} table {table}"));
            }
            commands.extend(additions.iter().cloned());
            run_ip(family, &commands)?;
        }
        Ok(())
    }

    /// A query to the kernel whether all rules exist, and a route in each table. The answer may
    /// take long (see [`Poller`](crate::io::poller::Poller)).
    pub(super) fn are_whole(&self) -> impl Fn() -> io::Result<bool> + Send + use<> {
        let (ports, counts) = (self.ports.clone(), self.additions.each_ref().map(Vec::len));
        move || {
            for (family, count) in FAMILIES.into_iter().zip(counts) {
                let is_for_a_port = |rule: &PortRule| ports.iter().any(|(port, _)| *port == rule.port);
                let rules = routing::rules_of(family.is_v4, PROTOCOL)?;
                if rules.into_iter().filter(is_for_a_port).count() < count {
                    return Ok(false);
                }
                for (_, table) in &ports {
                    if !routing::has_route(family.is_v4, *table)? {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        }
    }

    /// Removes the rules.
    pub(super) fn remove(&mut self) {
        self.reserve.clear();
        if let Err(error) = self.clear_away(|_| false) {
            tracing::warn!(%error, "routing rules remain; they have no effect");
        }
    }
}

/// Removes the rules of killed gateways with this backend, for a gateway with another backend.
/// Without `ip` there are none.
pub fn clear_away(claims: &Claims) {
    match remove_rules(|port| claims.has(port) || claim::holder(port).is_none()) {
        Ok(()) | Err(PolicyError::Start(_)) => {}
        Err(error) => {
            tracing::warn!(%error, "routing rules of a killed gateway may remain; they have no effect");
        }
    }
}

/// Removes the rules of gateways for the ports that match. The tables' routes vanish with their
/// devices.
fn remove_rules(is_for: impl Fn(&str) -> bool) -> Result<(), PolicyError> {
    for family in FAMILIES {
        let ours = routing::rules_of(family.is_v4, PROTOCOL).map_err(PolicyError::Rules)?;
        let commands: Vec<String> = ours
            .iter()
            .filter(|rule| is_for(&rule.port))
            .map(|PortRule { priority, port }| {
                format!("rule del priority {priority} iif {port} ipproto tcp protocol {PROTOCOL}")
            })
            .collect();
        if !commands.is_empty() {
            run_ip(family, &commands)?;
        }
    }
    Ok(())
}

/// Has `ip` execute these commands in order. Returns its output.
pub(super) fn run_ip(family: Family, commands: &[String]) -> Result<String, PolicyError> {
    let mut child = Command::new("ip")
        .args([family.option, "-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(PolicyError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // `ip` may end at the first error without reading the rest; its exit status reports this.
        let _ = stdin.write_all((commands.join("\n") + "\n").as_bytes());
    }
    let output = child.wait_with_output().map_err(PolicyError::Start)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(PolicyError::Refused { message, commands: commands.join("; ") })
}
