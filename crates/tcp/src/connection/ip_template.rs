//! The common fields of the IP headers of a connection.

use std::net::IpAddr;

use lasthop_packet::{Ecn, Ip, Packet, Payload, Tcp};
use serde::{Deserialize, Serialize};

/// A socket: an address with a port (RFC 9293, section 4).
pub type Socket = (IpAddr, u16);

/// Builds and counts the packets of a connection. Each has the next identification (RFC 791).
#[derive(Debug)]
pub(super) struct IpTemplate {
    local: Socket,
    remote: Socket,
    identification: u16,
    host: HostFields,
    packets: u64,
}

/// The header fields of the host in whose name packets are sent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct HostFields {
    /// Differentiated services code point (RFC 2474).
    dscp: u8,
    /// If packets are sent in the name of another host.
    hop_limit: Option<u8>,
}

impl IpTemplate {
    pub(super) fn new(local: Socket, remote: Socket) -> Self {
        Self { local, remote, identification: 0, host: HostFields::default(), packets: 0 }
    }

    /// Restores the fields of a saved connection.
    pub(super) const fn restore(&mut self, identification: u16, host: HostFields) {
        (self.identification, self.host) = (identification, host);
        self.host.dscp &= 0x3f;
    }

    pub(super) const fn identification(&self) -> u16 {
        self.identification
    }

    pub(super) const fn host(&self) -> HostFields {
        self.host
    }

    pub(super) const fn local(&self) -> Socket {
        self.local
    }

    pub(super) const fn remote(&self) -> Socket {
        self.remote
    }

    pub(super) const fn set_remote(&mut self, remote: Socket) {
        self.remote = remote;
    }

    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets have this host's code point from now on, and the largest of its hop limits.
    pub(super) fn stand_for(&mut self, host: &Ip) {
        self.host.dscp = host.dscp();
        self.host.hop_limit = self.host.hop_limit.max(Some(host.hop_limit));
    }

    /// The next packet.
    #[inline]
    pub(super) fn packet(&mut self, to: Socket, ecn: Ecn, tcp: Tcp, payload: Payload) -> Packet {
        let packet = self.draft(to, ecn, tcp, payload);
        self.identification = self.identification.wrapping_add(1);
        self.packets += 1;
        packet
    }

    /// A draft of the next packet.
    #[inline]
    pub(super) fn draft(&self, to: Socket, ecn: Ecn, tcp: Tcp, payload: Payload) -> Packet {
        let HostFields { dscp, hop_limit } = self.host;
        let identification = self.identification;
        let ip = Ip { traffic_class: dscp << 2 | ecn as u8, identification, ..Ip::new(self.local.0, to.0) };
        let ip = match hop_limit {
            Some(hop_limit) => Ip { hop_limit, ..ip },
            None => ip,
        };
        Packet::tcp_segment(ip, tcp, payload)
    }
}
