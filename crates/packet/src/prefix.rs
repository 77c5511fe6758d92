//! Address prefixes, and their notation in files and on command lines.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// An address prefix, such as `192.0.2.0/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// With zeros after the prefix.
    address: IpAddr,
    len: u8,
}

/// Why a text is no prefix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PrefixError {
    /// It is something else.
    #[error("expected an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32, found {0:?}")]
    Unreadable(String),
    /// It may be a host's name.
    #[error(
        "{0:?} is a name; expected an address or a prefix: a name may have several addresses (`getent ahosts NAME` lists them)"
    )]
    Name(String),
    /// The length exceeds the bits of the address.
    #[error("{text}: the prefix is out of range; expected 0 to {longest} bits")]
    Length {
        /// The text.
        text: String,
        /// The bits of the address.
        longest: u8,
    },
    /// Bits of the address are set after the prefix, usually by mistake; `ip route` refuses them,
    /// too.
    #[error(
        "{address}/{len} has bits behind the prefix; expected {network} for the network, or {address} for this address alone"
    )]
    HostBits {
        /// The address in the text.
        address: IpAddr,
        /// The length in the text.
        len: u8,
        /// The prefix of this length that contains the address.
        network: Prefix,
    },
}

impl Prefix {
    /// The prefix of the first `len` bits of an address, whose other bits are ignored; `None` if the
    /// address has fewer bits.
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let rest = bits_of(address).checked_sub(len)?.into();
        let network =
            |bits: u128| bits.checked_shr(rest).and_then(|kept| kept.checked_shl(rest)).unwrap_or(0);
        let address = match address {
            IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(network(address.to_bits().into()) as u32)),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(network(address.to_bits()))),
        };
        Some(Self { address, len })
    }

    /// Whether it is an IPv4 prefix.
    pub const fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// Whether the prefix contains the address. It contains none of the other family.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (len, own) = self.mapped();
        let differing = u128::from_be_bytes(own) ^ u128::from_be_bytes(mapped(address));
        self.is_ipv4() == address.is_ipv4() && differing.checked_shr(128 - len).unwrap_or(0) == 0
    }

    /// Whether this prefix contains all addresses of the other one.
    pub fn covers(&self, other: &Self) -> bool {
        self.len <= other.len && self.contains(other.address)
    }

    /// Whether the prefixes have an address in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// The same as a prefix of IPv6-mapped addresses.
    pub fn mapped(&self) -> (u32, [u8; 16]) {
        let len = u32::from(self.len) + if self.is_ipv4() { 96 } else { 0 };
        (len, mapped(self.address))
    }
}

/// The octets of an address, with IPv4 as `::ffff:a.b.c.d`.
pub fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
    .octets()
}

/// The number of bits of an address.
const fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let shown = |text: &str| text.chars().take(60).collect::<String>();
        let (written, len) = text.split_once('/').map_or((text, None), |(address, len)| (address, Some(len)));
        let is_name = written.contains(|char: char| char.is_ascii_alphabetic()) && !written.contains(':');
        let address: IpAddr = written.parse().map_err(|_| {
            if is_name { PrefixError::Name(shown(written)) } else { PrefixError::Unreadable(shown(text)) }
        })?;
        let longest = bits_of(address);
        let bits = |digits: &str| {
            let is_number = digits.bytes().all(|octet| octet.is_ascii_digit());
            if is_number { digits.parse().ok() } else { None }
        };
        let prefix = len.map_or(Some(longest), bits).and_then(|len| Self::new(address, len));
        match prefix {
            None => Err(PrefixError::Length { text: shown(text), longest }),
            Some(network) if network.address == address => Ok(network),
            Some(network) => Err(PrefixError::HostBits { address, len: network.len, network }),
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
    fn a_prefix_contains_the_addresses_that_begin_with_it() {
        let contains = |prefix: &str, address: &str| {
            prefix.parse::<Prefix>().expect(prefix).contains(address.parse().expect(address))
        };
        assert!(contains("192.0.2.0/24", "192.0.2.255") && !contains("192.0.2.0/24", "192.0.3.0"));
        assert!(contains("0.0.0.0/0", "255.1.1.1") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("::/0", "ffff::1") && !contains("::/0", "1.1.1.1"));
        assert!(contains("2001:db8::1", "2001:db8::1") && !contains("2001:db8::1", "2001:db8::2"));
        assert!(contains("10.0.0.0/9", "10.127.0.0") && !contains("10.0.0.0/9", "10.128.0.0"));
        assert!(
            contains("2001:db8::/33", "2001:db8:7fff::") && !contains("2001:db8::/33", "2001:db8:8000::")
        );
        assert!(contains("::/0", "::ffff:10.0.0.1"));
    }

    #[test]
    fn a_prefix_of_an_address_has_none_of_its_other_bits() {
        let new = |address: &str, len| Prefix::new(address.parse().expect(address), len);
        for (address, len, network) in [
            ("10.0.0.5", 8, "10.0.0.0/8"),
            ("255.255.255.255", 0, "0.0.0.0/0"),
            ("192.0.2.7", 32, "192.0.2.7/32"),
            ("2001:db8::1", 32, "2001:db8::/32"),
            ("ffff::1", 0, "::/0"),
        ] {
            let prefix = new(address, len);
            assert_eq!(prefix.map(|prefix| prefix.to_string()).as_deref(), Some(network));
            assert_eq!(prefix, network.parse().ok());
        }
        assert_eq!((new("10.0.0.5", 33), new("::1", 129)), (None, None));
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
    }

    #[test]
    fn a_malformed_prefix_is_refused_with_its_reason() {
        for (text, problem) in [
            ("", "expected an address or a prefix such as"),
            ("10.0.0/24", "expected an address or a prefix such as"),
            ("10.0.0.256", "found \"10.0.0.256\""),
            ("host.example/8", "\"host.example\" is a name; expected an address"),
            ("192.0.2.0/33", "192.0.2.0/33: the prefix is out of range; expected 0 to 32 bits"),
            ("192.0.2.0/300", "expected 0 to 32 bits"),
            ("192.0.2.0/255.255.255.0", "expected 0 to 32 bits"),
            ("192.0.2.0/", "expected 0 to 32 bits"),
            ("192.0.2.0/+8", "expected 0 to 32 bits"),
            ("::/129", "expected 0 to 128 bits"),
        ] {
            let message = text.parse::<Prefix>().expect_err(text).to_string();
            assert!(message.contains(problem), "{text}: {message}");
        }
    }

    #[test]
    fn a_prefix_with_bits_after_it_is_refused_and_its_network_is_named() {
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
