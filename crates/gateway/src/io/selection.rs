//! What is taken out of the kernel's path.

use lasthop_packet::Prefix;

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
