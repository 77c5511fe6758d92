//! The selection of packets to take out of the kernel's path.

use lasthop_packet::Prefix;

/// The packets for agents: TCP, and datagrams if agents use them. The empty selection selects all
/// of them. Exclusions take precedence over inclusions; if both ports and prefixes are included, a
/// connection must match one of each.
///
/// The kernel side does not track connections, so a port matches that of either endpoint, and so
/// does a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only connections with one of these ports; empty for any port.
    pub ports: Vec<u16>,
    /// No connections with one of these ports.
    pub excluded_ports: Vec<u16>,
    /// Only connections with an endpoint in one of these prefixes; empty for any address.
    pub prefixes: Vec<Prefix>,
    /// No connections with an endpoint in one of these prefixes.
    pub excluded_prefixes: Vec<Prefix>,
    /// Whether UDP that may be RTP is selected as well.
    pub datagrams: bool,
    /// Whether all packets pass at once, and only the headers of TCP are delivered.
    pub passive: bool,
    /// Whether agents are to learn the TX status of frames from the Wi-Fi drivers of the radio interfaces.
    pub tx_status: bool,
    /// The number of connections for which the kernel side stores a bypass; `None` for the default.
    pub connections: Option<u32>,
}

/// The maximum number of ports, and of prefixes of each kind, on the kernel side.
pub const CAPACITY: usize = 1024;

/// The first user port (RFC 6335, section 6). UDP to or from a port of a well-known service, such
/// as DNS, is not taken.
pub const FIRST_USER_PORT: u16 = 1024;
