//! What the medium reads in a frame (IEEE 802.11-2020, 9.2).

/// An MPDU without FCS.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a>(pub(super) &'a [u8]);

/// Octets of the FCS.
const FCS: usize = 4;
/// The first octet of a beacon's frame control: type 0, subtype 8.
const BEACON: u8 = 0x80;
/// Of the second octet.
const POWER_MANAGEMENT: u8 = 0x10;

impl Frame<'_> {
    /// Octets with FCS.
    pub(super) const fn octets_with_fcs(self) -> u32 {
        (self.0.len() + FCS) as u32
    }

    /// The address of its receiver; `None` if that is a group, or is missing.
    pub(super) fn receiver(self) -> Option<[u8; 6]> {
        let address: [u8; 6] = *self.0.get(4..)?.first_chunk()?;
        (address[0] & 1 == 0).then_some(address)
    }

    pub(super) fn is_beacon(self) -> bool {
        self.0.first() == Some(&BEACON)
    }

    /// The power management bit of a data frame, with or without data: whether its sender dozes after it.
    pub(super) fn power_management(self) -> Option<bool> {
        let [control, flags] = *self.0.first_chunk()?;
        (control & 0x0c == 0x08).then_some(flags & POWER_MANAGEMENT != 0)
    }

    /// Whether it carries data to one station: type 2, without the bit of the subtypes that carry none.
    pub(super) fn is_data(self) -> bool {
        self.0.first().is_some_and(|control| control & 0x4c == 0x08) && self.receiver().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(control: u8, receiver: u8) -> Vec<u8> {
        [vec![control, 0, 0, 0, receiver, 0, 0, 0, 1, 0], vec![0; 14]].concat()
    }

    #[test]
    fn data_for_a_station_is_told_from_all_else() {
        let is_data = |control, receiver| Frame(&frame(control, receiver)).is_data();
        assert!(is_data(0x08, 2), "data");
        assert!(is_data(0x88, 2), "QoS data");
        assert!(!is_data(0x48, 2), "null");
        assert!(!is_data(0xc8, 2), "QoS null");
        assert!(!is_data(0x80, 2), "a beacon");
        assert!(!is_data(0xd4, 2), "an ACK");
        assert!(!is_data(0x08, 3), "for a group");
    }

    #[test]
    fn data_frames_say_whether_their_sender_dozes() {
        let of = |control, flags| Frame(&[control, flags]).power_management();
        assert_eq!([of(0x48, 0x11), of(0x08, 0x01), of(0xb0, 0x10)], [Some(true), Some(false), None]);
    }

    #[test]
    fn a_stump_has_no_receiver() {
        assert_eq!(Frame(&[0x08, 0, 0, 0, 2, 0, 0, 0, 1]).receiver(), None);
        assert_eq!(Frame(&frame(0x08, 2)).receiver(), Some([2, 0, 0, 0, 1, 0]));
        assert_eq!(Frame(&frame(0x08, 2)).octets_with_fcs(), 28);
    }
}
