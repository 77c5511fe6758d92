//! Which connections: by port and by prefix.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use lasthop_packet::FlowKey;

use crate::io::Selection;
use crate::io::selection::CAPACITY;
pub use crate::io::selection::Prefix;

/// Picks connections. What it does not mention it does not ask for; the default picks everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Either end's port is in one of these; empty for any port.
    pub ports: Vec<PortRange>,
    /// Either end's address is in one of these; empty for any address.
    pub prefixes: Vec<Prefix>,
    /// Neither end's port is in one of these.
    pub exclude_ports: Vec<PortRange>,
    /// Neither end's address is in one of these.
    pub exclude_prefixes: Vec<Prefix>,
}

/// TCP ports from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRange(pub RangeInclusive<u16>);

impl Selector {
    /// Whether it picks this connection.
    pub fn matches(&self, key: FlowKey) -> bool {
        let ports = [key.source.1, key.destination.1];
        let addresses = [key.source.0, key.destination.0];
        let has_port =
            |ranges: &[PortRange]| ranges.iter().any(|range| ports.iter().any(|p| range.0.contains(p)));
        let has_address =
            |prefixes: &[Prefix]| prefixes.iter().any(|prefix| addresses.iter().any(|a| prefix.contains(*a)));
        (self.ports.is_empty() || has_port(&self.ports))
            && (self.prefixes.is_empty() || has_address(&self.prefixes))
            && !has_port(&self.exclude_ports)
            && !has_address(&self.exclude_prefixes)
    }
}

impl Selector {
    /// As much of it as the kernel's side can tell: it takes single ports, and not any number of anything. What it lets come beyond
    /// this selector, no rule is asked about.
    pub fn selection(&self) -> Selection {
        let ports = |ranges: &[PortRange]| -> Vec<u16> {
            let ports: Vec<u16> =
                ranges.iter().flat_map(|range| range.0.clone()).take(CAPACITY + 1).collect();
            if ports.len() > CAPACITY { Vec::new() } else { ports }
        };
        let prefixes = |prefixes: &[Prefix]| -> Vec<Prefix> {
            if prefixes.len() > CAPACITY { Vec::new() } else { prefixes.to_vec() }
        };
        Selection {
            ports: ports(&self.ports),
            excluded_ports: ports(&self.exclude_ports),
            prefixes: prefixes(&self.prefixes),
            excluded_prefixes: prefixes(&self.exclude_prefixes),
        }
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no port; expected one such as 443, or a range such as \"8000-8099\"");
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let (from, to) = (port(from).ok_or_else(wrong)?, port(to).ok_or_else(wrong)?);
        if from > to {
            return Err(format!("{text:?} ends before it begins; expected a range such as \"8000-8099\""));
        }
        Ok(Self(from..=to))
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start(), self.0.end()) {
            (from, to) if from == to => write!(f, "{from}"),
            (from, to) => write!(f, "{from}-{to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: &str, destination: &str) -> FlowKey {
        let end = |text: &str| text.parse::<std::net::SocketAddr>().map(|end| (end.ip(), end.port()));
        FlowKey { source: end(source).expect("an end"), destination: end(destination).expect("an end") }
    }

    #[test]
    fn either_end_counts_and_exclusions_win() {
        let selector = Selector {
            ports: vec!["443".parse().expect("a port"), "8000-8099".parse().expect("a range")],
            prefixes: vec!["192.168.0.0/16".parse().expect("a prefix")],
            exclude_ports: vec!["8080".parse().expect("a port")],
            exclude_prefixes: vec!["192.168.7.7".parse().expect("an address")],
        };
        let matches = |source, destination| selector.matches(key(source, destination));
        assert!(matches("1.1.1.1:443", "192.168.3.4:50000"));
        assert!(matches("192.168.3.4:50000", "1.1.1.1:8000"));
        assert!(!matches("1.1.1.1:444", "192.168.3.4:50000"));
        assert!(!matches("1.1.1.1:443", "192.169.3.4:50000"));
        assert!(!matches("1.1.1.1:8080", "192.168.3.4:50000"));
        assert!(!matches("1.1.1.1:443", "192.168.7.7:50000"));
        assert!(!matches("[::1]:443", "[2001:db8::1]:50000"));
        assert!(Selector::default().matches(key("[::1]:443", "[2001:db8::1]:50000")));
    }
}
