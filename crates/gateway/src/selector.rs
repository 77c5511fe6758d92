//! Selection of connections by port and by prefix.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use lasthop_packet::{FlowKey, Prefix};

use crate::io::Selection;
use crate::io::selection::CAPACITY;

/// Selects connections that meet all its conditions; the default has none and selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The port of either endpoint is in one of these ranges; empty for any port.
    pub ports: Vec<PortRange>,
    /// The address of either endpoint is in one of these prefixes; empty for any address.
    pub prefixes: Vec<Prefix>,
    /// No endpoint's port is in one of these ranges.
    pub exclude_ports: Vec<PortRange>,
    /// No endpoint's address is in one of these prefixes.
    pub exclude_prefixes: Vec<Prefix>,
}

/// An inclusive range of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRange(pub RangeInclusive<u16>);

impl Selector {
    /// Whether it selects this connection.
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
    /// The part of the selector that the BPF programs can evaluate: they take single ports only,
    /// and a bounded number of ports and prefixes. Connections that they divert in excess match no
    /// rule.
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
            ..Selection::default()
        }
    }
}

impl Selector {
    /// Whether it may select connections that BPF programs with this selection do not divert.
    pub fn goes_beyond(&self, kernel: &Selection) -> bool {
        let has_port = |ranges: &[PortRange], port: u16| ranges.iter().any(|range| range.0.contains(&port));
        let mut ports = self.ports.iter().flat_map(|range| range.0.clone());
        let of_ports = !kernel.ports.is_empty()
            && (self.ports.is_empty() || ports.any(|port| !kernel.ports.contains(&port)));
        let of_prefixes = !kernel.prefixes.is_empty()
            && (self.prefixes.is_empty()
                || self.prefixes.iter().any(|prefix| !kernel.prefixes.contains(prefix)));
        of_ports
            || of_prefixes
            || kernel.excluded_ports.iter().any(|port| !has_port(&self.exclude_ports, *port))
            || kernel.excluded_prefixes.iter().any(|prefix| !self.exclude_prefixes.contains(prefix))
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a port; expected one such as 443, or a range such as \"8000-8099\"");
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
        let (from, to) = (port(from).ok_or_else(wrong)?, port(to).ok_or_else(wrong)?);
        if from > to {
            return Err(format!(
                "the range {text:?} ends before it begins; expected a range such as \"8000-8099\""
            ));
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
        FlowKey::tcp(end(source).expect("an end"), end(destination).expect("an end"))
    }

    #[test]
    fn a_selector_goes_beyond_only_what_the_kernel_does_not_divert() {
        let of = |ports: &[&str], excluded: &[&str]| {
            let ranges = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a range")).collect();
            Selector { ports: ranges(ports), exclude_ports: ranges(excluded), ..Selector::default() }
        };
        for (start, later, goes_beyond) in [
            (of(&[], &[]), of(&[], &["22"]), false),
            (of(&[], &["22"]), of(&[], &[]), true),
            (of(&[], &["22"]), of(&[], &["20-30"]), false),
            (of(&["80", "443"], &[]), of(&["443"], &["80"]), false),
            (of(&["80", "443"], &[]), of(&["443-444"], &[]), true),
            (of(&["80"], &[]), of(&[], &[]), true),
        ] {
            assert_eq!(later.goes_beyond(&start.selection()), goes_beyond, "{start:?}, then {later:?}");
        }
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
