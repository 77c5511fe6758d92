//! The length of a PSDU that carries packets to one receiver (IEEE 802.11-2020, 9.3.2.2 and 9.7).

use crate::frame::{DELIMITER_OCTETS, DataOverhead, SUBFRAME_OCTETS};

/// The data of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Psdu {
    /// The number of MPDUs, from 1.
    pub(crate) mpdus: u32,
    /// The length of the MPDU, or of the A-MPDU if there are several.
    pub(crate) octets: u32,
}

impl Psdu {
    /// One MPDU of this length.
    pub(crate) const fn single(octets: u32) -> Self {
        Self { mpdus: 1, octets }
    }

    pub(crate) const fn is_aggregate(self) -> bool {
        self.mpdus > 1
    }
}

/// What a PSDU may carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The largest PSDU whose PPDU is not too long, in octets.
    pub(crate) psdu: u32,
    /// The same for one that has one MPDU, with which its delimiter does not count.
    pub(crate) single: u32,
    /// The largest A-MPDU, in octets.
    pub(crate) ampdu: u32,
    /// The largest A-MSDU, in octets.
    pub(crate) amsdu: u32,
    /// The block ack window.
    pub(crate) window: u16,
}

/// Packets to one receiver that can be transmitted together, if none is lost.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    length: Length,
    /// `None`: each packet goes alone.
    limits: Option<Limits>,
}

impl Aggregate {
    pub(crate) const fn new(overhead: DataOverhead, limits: Option<Limits>, octets: u32) -> Self {
        Self { length: Length::new(overhead, octets), limits }
    }

    /// A packet with which no other goes.
    pub const fn alone(octets: u32) -> Self {
        Self::new(DataOverhead::QOS, None, octets)
    }

    /// With another packet of this length; `None`: it has to wait for the next transmission.
    #[must_use]
    pub fn with(self, octets: u32) -> Option<Self> {
        let (length, _) = self.length.extend(octets, self.limits.as_ref()?, (true, true))?;
        Some(Self { length, ..self })
    }
}

/// The length of a PSDU, packet by packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    overhead: DataOverhead,
    /// All MPDUs but the last, with delimiters and padding.
    before: u32,
    mpdus: u32,
    /// The last MPDU.
    last: u32,
    /// What the last MPDU carries, as an A-MSDU.
    amsdu: u32,
}

impl Length {
    /// A packet alone.
    pub(super) const fn new(overhead: DataOverhead, octets: u32) -> Self {
        let none = Self { overhead, before: 0, mpdus: 0, last: 0, amsdu: 0 };
        none.add(octets)
    }

    /// With another MPDU for this packet.
    pub(super) const fn add(self, octets: u32) -> Self {
        let before = if self.mpdus == 0 { 0 } else { self.before + in_ampdu(self.last).next_multiple_of(4) };
        let last = octets.saturating_add(self.overhead.octets());
        Self { before, mpdus: self.mpdus + 1, last, amsdu: self.subframe(octets), ..self }
    }

    /// With this packet in the last MPDU.
    pub(super) const fn join(self, octets: u32) -> Self {
        let amsdu = self.amsdu.next_multiple_of(4) + self.subframe(octets);
        Self { last: self.overhead.header + self.overhead.fcs + amsdu, amsdu, ..self }
    }

    /// With another packet as far as the limits allow: in the last MPDU if that `is_open`, or in an MPDU of its own if it may
    /// have one. Returns whether it has.
    pub(super) fn extend(
        self,
        octets: u32,
        limits: &Limits,
        (is_open, may_add): (bool, bool),
    ) -> Option<(Self, bool)> {
        let joined = self.join(octets);
        if is_open && joined.is_amsdu_within(limits) && joined.is_within(limits) {
            return Some((joined, false));
        }
        let added = self.add(octets);
        (may_add && added.is_within(limits)).then_some((added, true))
    }

    const fn subframe(self, octets: u32) -> u32 {
        (SUBFRAME_OCTETS + self.overhead.llc).saturating_add(octets)
    }

    /// Whether that is within the limits.
    pub(super) fn is_within(self, limits: &Limits) -> bool {
        let Psdu { mpdus, octets } = self.psdu();
        if mpdus == 1 {
            return octets <= limits.single;
        }
        mpdus <= u32::from(limits.window) && octets <= limits.psdu.min(limits.ampdu)
    }

    /// Whether the A-MSDU in the last MPDU is.
    pub(super) const fn is_amsdu_within(self, limits: &Limits) -> bool {
        self.amsdu <= limits.amsdu
    }

    pub(super) const fn psdu(self) -> Psdu {
        let octets = if self.mpdus == 1 { self.last } else { self.before + in_ampdu(self.last) };
        Psdu { mpdus: self.mpdus, octets }
    }
}

const fn in_ampdu(mpdu: u32) -> u32 {
    DELIMITER_OCTETS + mpdu
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length() -> Length {
        Length::new(DataOverhead::QOS, 1_501)
    }

    #[test]
    fn each_mpdu_but_the_last_is_padded() {
        assert_eq!(length().psdu(), Psdu::single(1_539));
        assert_eq!(length().add(1_501).psdu(), Psdu { mpdus: 2, octets: 1_544 + 1_543 });
        assert_eq!(length().add(1_501).add(100).psdu(), Psdu { mpdus: 3, octets: 2 * 1_544 + 142 });
    }

    #[test]
    fn each_packet_of_an_a_msdu_but_the_last_is_padded() {
        // 26 + 4, and for each packet 14 + 8.
        assert_eq!(length().join(1_501).psdu(), Psdu::single(30 + 1_524 + 1_523));
        let two = length().add(1_501).join(100);
        assert_eq!(two.psdu(), Psdu { mpdus: 2, octets: 1_544 + 4 + 30 + 1_524 + 122 });
    }

    #[test]
    fn limits_apply_to_what_is_on_the_air() {
        let limits = Limits { psdu: 3_087, single: 3_087, ampdu: 3_087, amsdu: 3_047, window: 2 };
        assert!(length().add(1_501).is_within(&limits));
        assert!(!length().add(1_502).is_within(&limits));
        assert!(!length().add(1).add(1).is_within(&limits));
        assert!(length().join(1_501).is_amsdu_within(&limits));
        assert!(!length().join(1_502).is_amsdu_within(&limits));
        assert!(!length().add(1).is_within(&Limits { ampdu: 0, ..limits }));
    }
}
