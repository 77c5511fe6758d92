//! Which connections: by port and by prefix.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use lasthop_packet::FlowKey;

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

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

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

impl Prefix {
    /// Whether the address is in it.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(prefix), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.length);
                (u32::from(prefix) ^ u32::from(address)).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(prefix), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.length);
                (u128::from(prefix) ^ u128::from(address)).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
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

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no prefix; expected one such as \"192.168.0.0/16\" or \"2001:db8::/32\"");
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(length) => length.trim().parse().ok().filter(|length| *length <= most).ok_or_else(wrong)?,
        };
        Ok(Self { address, length })
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

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
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

    #[test]
    fn prefixes_of_every_length_contain_what_begins_like_them() {
        let everything: Prefix = "::/0".parse().expect("a prefix");
        assert!(
            everything.contains(IpAddr::from([0xffff; 8]))
                && !everything.contains(IpAddr::from([1, 1, 1, 1]))
        );
        assert!("0.0.0.0/0".parse::<Prefix>().is_ok_and(|all| all.contains(IpAddr::from([255, 1, 1, 1]))));
        let host: Prefix = "2001:db8::1".parse().expect("an address");
        assert_eq!(host.to_string(), "2001:db8::1/128");
        for wrong in ["", "1.2.3", "1.2.3.4/33", "::/129", "1.2.3.4/-1", "a/8"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
        for wrong in ["", "0", "65536", "5-4", "-", "x"] {
            assert!(wrong.parse::<PortRange>().is_err(), "{wrong}");
        }
    }
}
