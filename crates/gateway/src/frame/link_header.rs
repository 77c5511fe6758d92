//! Link headers: the octets before the IP packet.

use std::fmt;

use super::mac_address::MacAddress;

/// A link header: Ethernet with at most two VLAN tags (IEEE 802.1Q, 802.1ad), or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkHeader {
    len: u8,
    octets: [u8; Self::CAPACITY],
}

/// The length of the two addresses.
const ADDRESSES: usize = 12;
/// The length of a VLAN tag.
const TAG: usize = 4;
/// Values of the type field.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const CUSTOMER_TAG: u16 = 0x8100;
const SERVICE_TAG: u16 = 0x88a8;

impl LinkHeader {
    /// The length of an Ethernet header with two tags.
    const CAPACITY: usize = ADDRESSES + 2 + 2 * TAG;
    /// The empty link header of a frame on a TUN device.
    pub const NONE: Self = Self { len: 0, octets: [0; Self::CAPACITY] };

    /// The Ethernet header at the start of these octets; `None` if what follows it is not IP, or
    /// there are more than two tags.
    pub fn ethernet(octets: &[u8]) -> Option<Self> {
        let mut kind_at = ADDRESSES;
        loop {
            let kind = u16::from_be_bytes(*octets.get(kind_at..)?.first_chunk()?);
            match kind {
                CUSTOMER_TAG | SERVICE_TAG if kind_at < ADDRESSES + 2 * TAG => kind_at += TAG,
                IPV4 | IPV6 => break,
                _ => return None,
            }
        }
        let len = kind_at + 2;
        let mut header = Self { len: len as u8, ..Self::NONE };
        header.octets[..len].copy_from_slice(&octets[..len]);
        Some(header)
    }

    /// The octets of the header: none, or 14, 18 or 22.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..self.len()]
    }

    /// The length in octets.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether the header is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The destination's address; `None` for an empty header.
    pub fn destination(&self) -> Option<MacAddress> {
        self.octets().first_chunk().copied().map(MacAddress)
    }

    /// The source's address; `None` for an empty header.
    pub fn source(&self) -> Option<MacAddress> {
        self.octets().get(6..)?.first_chunk().copied().map(MacAddress)
    }

    /// Whether the destination is a multicast or broadcast address, which no connection uses (RFC
    /// 9293, section 3.9.2.3).
    pub fn is_to_a_group(&self) -> bool {
        !self.is_empty() && self.octets[0] & 1 != 0
    }

    /// The header for an IP packet of this version, which the type field of Ethernet indicates.
    #[must_use]
    pub(super) fn announcing(mut self, is_v4: bool) -> Self {
        if let Some(kind_at) = self.len().checked_sub(2) {
            let kind = if is_v4 { IPV4 } else { IPV6 };
            self.octets[kind_at..kind_at + 2].copy_from_slice(&kind.to_be_bytes());
        }
        self
    }
}

impl fmt::Debug for LinkHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LinkHeader({:02x?})", self.octets())
    }
}
