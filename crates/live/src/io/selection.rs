//! What is taken out of the kernel's path.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
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
#[error("expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32, found {0:?}")]
pub struct PrefixError(String);

impl Prefix {
    /// The prefix of the first `len` bits of an address; `None` if the address has fewer.
    pub const fn new(address: IpAddr, len: u8) -> Option<Self> {
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if len <= longest { Some(Self { address, len }) } else { None }
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
        let wrong = || PrefixError(text.chars().take(60).collect());
        let (address, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let len = len.map_or(Ok(longest), str::parse).map_err(|_| wrong())?;
        let bits = u128::from_be_bytes(Ipv6Addr::from(mapped(address)).octets());
        let prefix = Self::new(address, len).ok_or_else(wrong)?;
        // Bits behind the prefix are a slip of the pen more often than not; `ip route` refuses them
        // too.
        let behind = u32::from(longest - len);
        let is_clean = behind == 128 || bits & ((1 << behind) - 1) == 0;
        if len == 0 && address.is_unspecified() || is_clean { Ok(prefix) } else { Err(wrong()) }
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
        for text in ["", "192.0.2.0/33", "192.0.2.1/24", "2001:db8::1/32", "::/129", "ten/8", "1.2.3.4/"] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }
}
