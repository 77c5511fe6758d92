//! What is taken out of the kernel's path.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// What agents get to see: TCP, and datagrams if they have a use for them. Empty selects all of it.
/// An exclusion goes before every inclusion; where both ports and prefixes are included, a
/// connection has to have one of each.
///
/// The kernel's side knows no connections, so a port is the server's or the client's, and an
/// address that of either end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// If there are any, only connections with one of these ports.
    pub ports: Vec<u16>,
    /// Not these.
    pub excluded_ports: Vec<u16>,
    /// If there are any, only connections with one end in one of these.
    pub prefixes: Vec<Prefix>,
    /// Not these.
    pub excluded_prefixes: Vec<Prefix>,
    /// UDP that may be RTP, too.
    pub datagrams: bool,
    /// All of it passes at once, and only the headers of TCP are seen.
    pub passive: bool,
    /// Of how many connections the kernel's side remembers what may pass; `None` for the usual number.
    pub connections: Option<u32>,
}

/// How many ports, and how many prefixes of a kind, the kernel's side has room for.
pub const CAPACITY: usize = 1024;

/// Of UDP nothing is taken to or from a port of a well-known service, such as DNS: user ports begin
/// here (RFC 6335, section 6).
pub const FIRST_USER_PORT: u16 = 1024;

/// An address prefix, such as `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

/// Why a text is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// It is something else.
    #[error("expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32, found {0:?}")]
    Unreadable(String),
    /// Bits of the address are set behind the prefix, more often than not by a slip of the pen; `ip route`
    /// refuses them, too.
    #[error(
        "{address}/{len} has bits behind the prefix; expected {network} for the network, or {address} for this address alone"
    )]
    HostBits {
        /// The address as it was written.
        address: IpAddr,
        /// The length as it was written.
        len: u8,
        /// The prefix of this length with the address in it.
        network: Prefix,
    },
}

impl Prefix {
    /// The prefix of the first `len` bits of an address; `None` if the address has fewer.
    pub const fn new(address: IpAddr, len: u8) -> Option<Self> {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if len <= longest { Some(Self { address, len }) } else { None }
    }

    /// The same prefix without bits behind it.
    fn network(self) -> Self {
        let network = |bits: u128, width: u32| {
            let behind = width - u32::from(self.len);
            bits.checked_shr(behind).and_then(|kept| kept.checked_shl(behind)).unwrap_or(0)
        };
        let address = match self.address {
            IpAddr::V4(address) => {
                IpAddr::V4(Ipv4Addr::from_bits(network(address.to_bits().into(), 32) as u32))
            }
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(network(address.to_bits(), 128))),
        };
        Self { address, ..self }
    }

    /// Whether it is of IPv4.
    pub const fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// Whether the address is in it. Addresses of the other family are not.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (len, own) = self.mapped();
        let differing = u128::from_be_bytes(own) ^ u128::from_be_bytes(mapped(address));
        self.is_ipv4() == address.is_ipv4() && differing.checked_shr(128 - len).unwrap_or(0) == 0
    }

    /// Whether all addresses of the other prefix are in this one.
    pub fn covers(&self, other: &Self) -> bool {
        self.len <= other.len && self.contains(other.address)
    }

    /// Whether some address is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// The same as a prefix of IPv6-mapped addresses.
    pub(super) fn mapped(&self) -> (u32, [u8; 16]) {
        let len = u32::from(self.len) + if self.is_ipv4() { 96 } else { 0 };
        (len, mapped(self.address))
    }
}

/// The octets of an address, with IPv4 as `::ffff:a.b.c.d`.
pub(super) fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
    .octets()
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let wrong = || PrefixError::Unreadable(text.chars().take(60).collect());
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let len = len.map_or(Ok(longest), str::parse).map_err(|_| wrong())?;
        let prefix = Self::new(address, len).ok_or_else(wrong)?;
        match prefix.network() {
            network if network == prefix => Ok(prefix),
            network => Err(PrefixError::HostBits { address, len, network }),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_contains_what_begins_like_it() {
        let contains = |prefix: &str, address: &str| {
            prefix.parse::<Prefix>().expect(prefix).contains(address.parse().expect(address))
        };
        assert!(contains("192.0.2.0/24", "192.0.2.255") && !contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("0.0.0.0/0", "255.1.1.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "ffff::1") && !contains("::/0", "1.1.1.1"));
        assert!(contains("2001:db8::1", "2001:db8::1") && !contains("2001:db8::1", "2001:db8::2"));
    }

    #[test]
    fn prefixes_overlap_if_one_covers_the_other() {
        let prefix = |text: &str| text.parse::<Prefix>().expect(text);
        let (wide, narrow) = (prefix("100.64.0.0/10"), prefix("100.64.7.0/30"));
        assert!(wide.covers(&narrow) && !narrow.covers(&wide) && wide.covers(&wide));
        assert!(wide.overlaps(&narrow) && narrow.overlaps(&wide));
        assert!(!narrow.overlaps(&prefix("100.64.7.4/30")) && !prefix("::/0").overlaps(&narrow));
    }

    #[test]
    fn prefixes_are_read_as_they_are_written() {
        for text in ["192.0.2.0/24", "0.0.0.0/0", "::/0", "2001:db8::/32", "2001:db8::1/128"] {
            assert_eq!(text.parse::<Prefix>().expect(text).to_string(), text);
        }
        assert_eq!("192.0.2.7".parse::<Prefix>().expect("an address").to_string(), "192.0.2.7/32");
        for text in ["", "192.0.2.0/33", "::/129", "ten/8", "1.2.3.4/"] {
            assert!(matches!(text.parse::<Prefix>(), Err(PrefixError::Unreadable(_))), "{text}");
        }
    }

    #[test]
    fn a_prefix_with_bits_behind_it_is_refused_and_its_network_is_named() {
        for (text, network, alone) in [
            ("10.0.0.5/24", "10.0.0.0/24", "10.0.0.5"),
            ("10.0.0.5/31", "10.0.0.4/31", "10.0.0.5"),
            ("128.0.0.1/1", "128.0.0.0/1", "128.0.0.1"),
            ("0.0.0.1/0", "0.0.0.0/0", "0.0.0.1"),
            ("2001:db8::1/32", "2001:db8::/32", "2001:db8::1"),
            ("2001:db8::1/64", "2001:db8::/64", "2001:db8::1"),
            ("::1/0", "::/0", "::1"),
        ] {
            let problem = text.parse::<Prefix>().expect_err(text).to_string();
            assert!(
                problem.contains(&format!("expected {network} for the network, or {alone} for")),
                "{problem}"
            );
        }
    }
}
