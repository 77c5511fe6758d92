//! What is between the devices of the guests.

use lasthop_packet::Instant;

/// A device of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// The number of the guest, in the order in which the guests were given to the calendar.
    pub guest: usize,
    /// The number of the device, in the order of the guest's configuration.
    pub device: usize,
}

/// What is between the devices: it takes their frames, and has events of its own.
pub trait Wire {
    /// The time of its next event. It may be past: then the event is due.
    fn next_event(&self) -> Option<Instant>;

    /// Processes its events up to `now`. Frames that arrive at devices go to `out`.
    fn advance(&mut self, now: Instant, out: &mut Frames);

    /// A device sends a frame. Frames that arrive at devices at this moment go to `out`.
    fn on_frame(&mut self, now: Instant, device: DeviceId, frame: &[u8], out: &mut Frames);

    /// Whether the run is over: looked at before each step and each message of a guest, and ten times a second (of real time) while a guest is
    /// silent.
    fn is_over(&self) -> bool {
        false
    }
}

/// Frames on their way to devices. Its memory is kept.
#[derive(Debug, Default)]
pub struct Frames {
    octets: Vec<u8>,
    /// For each frame its device, and where its octets end.
    ends: Vec<(DeviceId, usize)>,
}

impl Frames {
    /// Adds a frame.
    pub fn push(&mut self, device: DeviceId, frame: &[u8]) {
        self.octets.extend_from_slice(frame);
        self.ends.push((device, self.octets.len()));
    }

    /// The frames, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (DeviceId, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        starts.zip(&self.ends).map(|(start, &(device, end))| (device, &self.octets[start..end]))
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_in_the_order_in_which_they_were_added() {
        let device = |device| DeviceId { guest: 0, device };
        let mut frames = Frames::default();
        for round in [b"first", b"again"] {
            frames.push(device(1), round);
            frames.push(device(0), b"");
            frames.push(device(0), b"second");
            let expected: [(DeviceId, &[u8]); 3] =
                [(device(1), round), (device(0), b""), (device(0), b"second")];
            assert!(frames.iter().eq(expected));
            frames.clear();
            assert_eq!(frames.iter().count(), 0);
        }
    }
}
