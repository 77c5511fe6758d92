//! Endpoints: an address, a protocol and a port.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Serialize};

/// The protocols that are translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Protocol {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
    /// Queries and answers of RFC 792, by their identifier.
    Icmp,
}

/// An endpoint of an inside host, inside or outside of the translator. The order is by address, so that the
/// endpoints of one host are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its address.
    pub address: Ipv4Addr,
    /// The protocol of the port.
    pub protocol: Protocol,
    /// Its port; of ICMP, the identifier.
    pub port: u16,
}

impl Endpoint {
    /// An endpoint of this protocol.
    pub const fn new(protocol: Protocol, socket: SocketAddrV4) -> Self {
        Self { address: *socket.ip(), protocol, port: socket.port() }
    }

    /// Address and port.
    pub const fn socket(self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address, self.port)
    }

    /// The first and the last endpoint of a host, in order.
    pub(crate) const fn all_of(address: Ipv4Addr) -> [Self; 2] {
        let first = Self { address, protocol: Protocol::Tcp, port: 0 };
        let last = Self { address, protocol: Protocol::Icmp, port: u16::MAX };
        [first, last]
    }

    /// Whether a host can have it: its address is one host's, and port 0 is used by ICMP only.
    pub(crate) fn is_possible(self) -> bool {
        let Self { address, protocol, port } = self;
        let is_one_host = !(address.is_unspecified() || address.is_multicast() || address.is_broadcast());
        is_one_host && (port != 0 || protocol == Protocol::Icmp)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp => "icmp",
        };
        write!(f, "{protocol} {}:{}", self.address, self.port)
    }
}
