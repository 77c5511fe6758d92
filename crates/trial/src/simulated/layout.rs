//! Through which device of which guest each end of the model is reached, and each radio. A guest's first device is the
//! control device; then come those at ends of the model. The last is that of its radios, if it has any.

use lasthop_uml::{DeviceId, Frames};

/// The number of the control device.
pub(super) const CONTROL: usize = 0;

/// The devices of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    guests: Vec<Devices>,
    /// The device at each end.
    ends: Vec<DeviceId>,
    /// The device of each radio.
    radios: Vec<DeviceId>,
}

/// The devices of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Devices {
    /// The ends that it has, in the order of their devices.
    ends: Vec<usize>,
    has_radios: bool,
}

impl Layout {
    /// For this many guests, with the guest of each end and of each radio.
    pub(super) fn new(guests: usize, ends: &[usize], radios: &[usize]) -> Self {
        let mut of_guests = vec![Devices::default(); guests];
        for (end, guest) in ends.iter().enumerate() {
            of_guests[*guest].ends.push(end);
        }
        for guest in radios {
            of_guests[*guest].has_radios = true;
        }
        let device_of = |(end, guest): (usize, &usize)| {
            let place = of_guests[*guest].ends.iter().position(|other| *other == end);
            DeviceId { guest: *guest, device: 1 + place.unwrap_or_default() }
        };
        let of_radios = |guest: &usize| DeviceId { guest: *guest, device: 1 + of_guests[*guest].ends.len() };
        Self {
            ends: ends.iter().enumerate().map(device_of).collect(),
            radios: radios.iter().map(of_radios).collect(),
            guests: of_guests,
        }
    }

    /// The ends of a guest, in the order of their devices.
    pub(super) fn ends_of(&self, guest: usize) -> &[usize] {
        &self.guests[guest].ends
    }

    /// Whether a guest has radios.
    pub(super) fn has_radios(&self, guest: usize) -> bool {
        self.guests[guest].has_radios
    }

    /// The number of ends with devices.
    pub(super) const fn end_count(&self) -> usize {
        self.ends.len()
    }

    /// Hands a frame that the model delivers at an end to the device there. Behind the ends with devices are the hosts of
    /// simulated stations, by whose number their packets go to `packets`.
    pub(super) fn hand_out(
        &self,
        end: usize,
        frame: &[u8],
        out: &mut Frames,
        packets: &mut Vec<(usize, Vec<u8>)>,
    ) {
        match self.ends.get(end) {
            Some(device) => out.push(*device, frame),
            None => packets.push((end - self.ends.len(), frame.to_vec())),
        }
    }

    /// The end at which a device is.
    pub(super) fn end(&self, id: DeviceId) -> Option<usize> {
        let place = id.device.checked_sub(1)?;
        self.guests.get(id.guest)?.ends.get(place).copied()
    }

    /// The device of a radio.
    pub(super) fn radio(&self, number: usize) -> DeviceId {
        self.radios[number]
    }

    /// Whether a device is that of radios.
    pub(super) fn is_of_radios(&self, id: DeviceId) -> bool {
        let guest = self.guests.get(id.guest);
        guest.is_some_and(|guest| guest.has_radios && id.device == 1 + guest.ends.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn device(guest: usize, device: usize) -> DeviceId {
        DeviceId { guest, device }
    }

    #[test]
    fn each_end_has_a_device_of_the_guest_that_it_is_in() {
        let layout = Layout::new(2, &[0, 1, 0], &[0, 1]);
        let devices = [device(0, 1), device(1, 1), device(0, 2)];
        assert_eq!(devices.map(|device| layout.end(device)), [0, 1, 2].map(Some));
        let (mut out, mut packets) = (Frames::default(), Vec::new());
        (0..4).for_each(|end| layout.hand_out(end, &[end as u8], &mut out, &mut packets));
        assert_eq!(packets, [(0, vec![3])], "it is behind the ends with devices");
        assert_eq!((layout.ends_of(0), layout.ends_of(1)), (&[0, 2][..], &[1][..]));
        assert_eq!([0, 1].map(|radio| layout.radio(radio)), [device(0, 3), device(1, 2)]);
        assert!(layout.is_of_radios(device(0, 3)) && !layout.is_of_radios(device(1, 1)));
        for other in [device(0, CONTROL), device(0, 3), device(2, 1)] {
            assert_eq!(layout.end(other), None);
        }
    }

    #[test]
    fn a_guest_without_radios_has_no_device_for_them() {
        let layout = Layout::new(2, &[0, 1], &[1]);
        assert_eq!([0, 1].map(|guest| layout.has_radios(guest)), [false, true]);
        assert!(!layout.is_of_radios(device(0, 2)) && layout.is_of_radios(device(1, 2)));
    }
}
