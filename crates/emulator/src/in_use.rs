//! The addresses in use in a network namespace, as the kernel lists them. A hop must use others.

use std::net::IpAddr;
use std::process::{Command, Output};

use lasthop_packet::Prefix;

use super::device::listed as device;
use lasthop_linux::namespace::IpError;

/// The shortest prefix that counts as in use. A shorter one of a route or rule stands for the
/// Internet at large, like a default route, and the hop's subnet may be an exception to it. No
/// registry allocates a shorter prefix at once (RFC 7249, section 2.2).
const SHORTEST: u8 = 8;

/// Device names and address prefixes in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InUse {
    devices: Vec<String>,
    /// The prefixes of addresses and their peers, of routes and their gateways in all tables, and
    /// of rules.
    prefixes: Vec<Prefix>,
}

impl InUse {
    /// No device and no prefix.
    pub(super) const NOTHING: Self = Self { devices: Vec::new(), prefixes: Vec::new() };

    /// Lists the network namespace of the calling thread. Starts no thread.
    pub(super) fn here() -> Result<Self, IpError> {
        let addresses = printed(&["address", "show"])?;
        let routes = printed(&["route", "show", "table", "all"])?;
        // A kernel without policy routing or IPv6 has no such rules, and the command fails.
        let rules = [&["-4", "rule", "show"], &["-6", "rule", "show"]]
            .map(|words| printed(words).unwrap_or_default());
        Ok(Self::read(&addresses, &(routes + &rules.concat())))
    }

    /// The union of the lists of two namespaces.
    pub(super) fn and(mut self, other: &Self) -> Self {
        self.devices.extend_from_slice(&other.devices);
        self.prefixes.extend_from_slice(&other.prefixes);
        self
    }

    fn read(addresses: &str, others: &str) -> Self {
        let all = addresses.split_whitespace().chain(others.split_whitespace());
        Self {
            devices: addresses.lines().filter_map(device).map(|(_, name)| name).collect(),
            prefixes: all.filter_map(prefix).collect(),
        }
    }

    /// Whether there is a device with this name.
    pub(super) fn has_device(&self, name: &str) -> bool {
        self.devices.iter().any(|device| device == name)
    }

    /// Whether any address of this prefix is in use.
    pub(super) fn has_any_of(&self, prefix: &Prefix) -> bool {
        self.prefixes.iter().any(|used| used.overlaps(prefix))
    }

    /// Whether all prefixes in use that overlap `space` are inside `parts`.
    pub(super) fn is_left_to(&self, space: &Prefix, parts: &[Prefix]) -> bool {
        let mut of_space = self.prefixes.iter().filter(|used| used.overlaps(space));
        of_space.all(|used| parts.iter().any(|part| part.covers(used)))
    }
}

/// Parses a word such as `192.0.2.7/24`, `192.0.2.0/24` or `192.0.2.1`.
fn prefix(word: &str) -> Option<Prefix> {
    let (address, len) = word.split_once('/').map_or((word, None), |(address, len)| (address, Some(len)));
    let address: IpAddr = address.parse().ok()?;
    let whole = if address.is_ipv4() { 32 } else { 128 };
    let len = len.map_or(Ok(whole), str::parse).ok()?;
    // The address may still be that of a host.
    Prefix::new(address, if len < SHORTEST { whole } else { len })
}

fn printed(words: &[&str]) -> Result<String, IpError> {
    let Output { status, stdout, stderr } =
        Command::new("ip").args(words).output().map_err(IpError::Start)?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&stderr).trim().to_owned();
    Err(IpError::Refused { namespace: "this machine".to_owned(), message, commands: words.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Prefix {
        text.parse().expect(text)
    }

    fn has(addresses: &str, others: &str, prefix: &str) -> bool {
        InUse::read(addresses, others).has_any_of(&of(prefix))
    }

    #[test]
    fn an_address_makes_its_whole_prefix_in_use() {
        let cgnat = "2: eth0: <UP> mtu 1500\n    inet 100.64.5.17/20 brd 100.64.15.255 scope global eth0\n";
        assert!(has(cgnat, "", "100.64.0.0/30") && has(cgnat, "", "100.64.15.0/30"));
        assert!(!has(cgnat, "", "100.64.16.0/30"));
        let v6 = "2: eth0: <UP> mtu 1500\n    inet6 fd6c:6f70::7/32 scope global\n";
        assert!(has(v6, "", "fd6c:6f70:5::/64") && !has(v6, "", "fd6d::/64"));
    }

    #[test]
    fn gateways_peers_routes_of_any_table_and_rules_are_in_use() {
        for line in [
            "default via 100.64.0.1 dev ppp0 onlink",
            "10.0.0.0/8 via 100.64.0.2 dev eth0",
            "100.64.0.0/10 dev wt0 table 7120 scope link",
            "100.64.0.1 dev tailscale0 table 52",
            "blackhole 100.64.0.0/26 proto 80",
            "default nhid 7 proto static \n\tnexthop via 100.64.0.1 dev eth0 weight 1 ",
            "5210:\tfrom all to 100.64.0.0/16 lookup 52",
            "100:\tfrom 100.64.0.2 lookup 100",
        ] {
            assert!(has("", line, "100.64.0.0/30"), "{line}");
        }
        assert!(has(
            "3: ppp0: <UP>\n    inet 10.0.0.7 peer 100.64.0.1/32 scope global ppp0\n",
            "",
            "100.64.0.0/30"
        ));
    }

    #[test]
    fn a_route_to_the_internet_at_large_does_not_count_as_in_use() {
        let vpn = "0.0.0.0/1 via 10.8.0.1 dev tun0\n128.0.0.0/1 via 10.8.0.1 dev tun0\n64.0.0.0/2 dev wg0\n\
                   default dev wg0 table 51820\n2000::/3 dev wg0\n";
        assert!(!has("", vpn, "100.64.0.0/30") && !has("", vpn, "198.18.0.0/30"));
        assert!(has("", vpn, "10.8.0.0/30"));
    }

    #[test]
    fn devices_are_found_by_their_whole_names() {
        let text = "1: lo: <UP>\n2: lasthop1@if3: <UP>\n    inet 10.0.0.1/24 scope global lasthop1\n13: lasthop12: <UP>\n";
        let in_use = InUse::read(text, "");
        assert!(in_use.has_device("lasthop1") && in_use.has_device("lasthop12"));
        assert!(!in_use.has_device("lasthop2") && !in_use.has_device("lasthop"));
    }

    #[test]
    fn a_space_is_left_to_emulations_if_all_its_prefixes_in_use_are_theirs() {
        let (space, parts) = (of("100.64.0.0/10"), [of("100.64.0.0/30"), of("100.64.1.0/30")]);
        let is_left = |text| InUse::read("", text).is_left_to(&space, &parts);
        assert!(is_left("100.64.1.0/30 dev lasthop1 src 100.64.1.1\nbroadcast 100.64.1.3 dev lasthop1\n"));
        assert!(is_left("192.0.2.0/24 dev eth0\n"));
        assert!(!is_left("100.101.102.103 dev tailscale0 table 52\n"));
        assert!(!is_left("100.64.0.0/29 dev eth0\n"));
    }
}
