//! The ECN field (RFC 3168, section 5): the two low bits of the octet that IPv4 calls type of
//! service and IPv6 calls traffic class.

use super::Ip;

/// The bits of the field.
const MASK: u8 = 0b11;

/// A codepoint of the ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT: the transport does not support ECN.
    #[default]
    NotEct = 0b00,
    /// ECT(1).
    Ect1 = 0b01,
    /// ECT(0).
    Ect0 = 0b10,
    /// CE: a router on the path experienced congestion.
    Ce = 0b11,
}

impl Ecn {
    /// Whether a router may mark the packet instead of dropping it. A packet that is already marked
    /// may be marked again.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl Ip {
    /// The ECN field.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.traffic_class & MASK {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Sets the ECN field.
    #[inline]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.traffic_class = self.traffic_class & !MASK | ecn as u8;
    }

    /// The differentiated services code point, 0 to 63 (RFC 2474).
    pub const fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    //= RFC 3168, section 5: the ECN field has four codepoints, '00' to '11'.
    #[test]
    fn the_field_is_the_two_low_bits_and_leaves_the_others_alone() {
        let mut ip = Ip::new(IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST));
        for (ecn, bits) in [(Ecn::NotEct, 0b00), (Ecn::Ect1, 0b01), (Ecn::Ect0, 0b10), (Ecn::Ce, 0b11)] {
            ip.traffic_class = 0b1011_1001;
            ip.set_ecn(ecn);
            assert_eq!((ip.traffic_class, ip.ecn()), (0b1011_1000 | bits, ecn));
            assert_eq!(ecn.is_capable(), bits != 0);
        }
    }
}
