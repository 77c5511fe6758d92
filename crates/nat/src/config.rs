//! Settings.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::session::Timeouts;
use crate::table::Limits;

/// The settings of a translator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatConfig {
    /// Its outside addresses, one or more.
    pub outside: Vec<Ipv4Addr>,
    /// The outside ports that it gives; identifiers of ICMP are from the same range.
    pub ports: RangeInclusive<u16>,
    /// Which packets from outside a mapping admits, besides those of its sessions.
    pub filtering: Filtering,
    /// Whether an inside port is kept outside, where it is free.
    pub keeps_ports: bool,
    /// Whether a UDP port that is not kept has at least the same parity (RFC 4787, REQ-4): RTP has an even
    /// port, RTCP the next one.
    pub keeps_parity: bool,
    /// Whether a TCP segment other than a SYN opens a session for a connection that began elsewhere, as with
    /// Linux's `nf_conntrack_tcp_loose`. The connection then has another outside end than its peer
    /// knows, and the peer resets it.
    pub picks_up: bool,
    /// Whether packets from outside refresh a session (RFC 4787, REQ-6).
    pub inbound_refresh: bool,
    /// How long sessions last when idle.
    pub timeouts: Timeouts,
    /// What it may hold.
    pub limits: Limits,
}

impl NatConfig {
    /// The default settings with these outside addresses.
    pub fn new(outside: Vec<Ipv4Addr>) -> Self {
        Self {
            outside,
            ports: 1024..=u16::MAX,
            filtering: Filtering::Address,
            keeps_ports: true,
            keeps_parity: true,
            picks_up: false,
            inbound_refresh: true,
            timeouts: Timeouts::default(),
            limits: Limits::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.outside.is_empty() {
            return Err(ConfigError::NoAddress);
        }
        if self.ports.is_empty() || *self.ports.start() == 0 {
            return Err(ConfigError::Ports);
        }
        Ok(())
    }
}

/// Why settings are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// There is no outside address.
    #[error("a translator needs an outside address")]
    NoAddress,
    /// The range is empty, or has port 0.
    #[error("the range of outside ports is empty or begins with 0")]
    Ports,
}

/// Which packets from outside a mapping admits (RFC 4787, section 5). Static forwardings admit all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// All: endpoint-independent.
    Open,
    /// Those from addresses to which the inside endpoint has sent: address-dependent.
    Address,
    /// Those from addresses and ports to which it has sent: address- and port-dependent.
    AddressAndPort,
}
