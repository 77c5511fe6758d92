//! Lets a host behind an emulated hop reach what this machine reaches: forwarding, and this machine's own address on what it sends.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::namespace::Namespace;

const FORWARDING: &str = "ipv4/ip_forward";

/// Forwarding and address translation for one subnet, of IPv4. All of it is undone with this value.
#[derive(Debug)]
pub struct Masquerade<'n> {
    namespace: &'n Namespace,
    /// Undoes the translation.
    removal: Vec<String>,
    switched_forwarding_on: bool,
}

impl<'n> Masquerade<'n> {
    /// For the hosts of `subnet` behind `device`; with `nft`, or else with `iptables`. The error is a sentence for the user.
    pub fn start(namespace: &'n Namespace, subnet: &str, device: &str) -> Result<Self, String> {
        let removal = with_nft(namespace, subnet, device)
            .or_else(|nft| {
                with_iptables(namespace, subnet, device).map_err(|iptables| format!("{nft}; {iptables}"))
            })
            .map_err(|problem| format!("only this machine can be reached from behind the hop: {problem}"))?;
        let mut started = Self { namespace, removal, switched_forwarding_on: false };
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
        Ok(())
    }
}

impl Drop for Masquerade<'_> {
    fn drop(&mut self) {
        // What cannot be undone now has gone already, or somebody else has taken it in hand.
        if self.switched_forwarding_on {
            let _ = self.namespace.sysctl(FORWARDING, "0");
        }
        let words: Vec<&str> = self.removal.iter().map(String::as_str).collect();
        let _ = run(self.namespace, &words, "");
    }
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

fn run(namespace: &Namespace, words: &[&str], input: &str) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let output = namespace.enter(|| {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
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
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{program}`: {}", said.lines().next().unwrap_or("it failed").trim()))
}
