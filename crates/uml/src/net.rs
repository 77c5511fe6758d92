//! A network device (virtio 1.2, section 5.1): whole Ethernet frames, without offloads.

use crate::vhost::{DeviceType, Queues};

/// A network device with this MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    address: [u8; 6],
}

/// The header of a frame: no checksum to be filled in, no segments, one buffer.
const HEADER: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
/// The feature that the device has an address.
const MAC: u64 = 1 << 5;
/// The shortest frame: two addresses and a type.
const MIN_FRAME: usize = 14;
/// The longest one: the largest MTU of Linux, with two VLAN tags.
const MAX_FRAME: usize = 65_535 + MIN_FRAME + 8;

impl Net {
    /// A device with this address.
    pub const fn new(address: [u8; 6]) -> Self {
        Self { address }
    }
}

impl DeviceType for Net {
    fn id(&self) -> u32 {
        1
    }

    fn features(&self) -> u64 {
        MAC
    }

    fn configuration(&self) -> &[u8] {
        &self.address
    }

    fn queues(&self) -> Queues {
        Queues { receive: 0, transmit: 1 }
    }

    fn header(&self) -> &[u8] {
        &HEADER
    }

    fn longest(&self) -> usize {
        HEADER.len() + MAX_FRAME
    }

    /// A header that asks for an offload is refused: none was offered.
    fn frame<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        let (header, frame) = message.split_first_chunk::<{ HEADER.len() }>()?;
        let [flags, segmentation, ..] = header;
        (*flags == 0 && *segmentation == 0 && frame.len() >= MIN_FRAME).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_stands_behind_its_header() {
        let net = Net::new([2, 0, 0, 0, 0, 1]);
        let message = [&HEADER[..], &[7; 14]].concat();
        assert_eq!(net.frame(&message), Some(&[7; 14][..]));
    }

    #[test]
    fn offloads_that_were_not_offered_and_stumps_are_refused() {
        let net = Net::new([2, 0, 0, 0, 0, 1]);
        let mut message = [&HEADER[..], &[7; 60]].concat();
        assert_eq!(net.frame(&message[..25]), None);
        assert_eq!(net.frame(&message[..3]), None);
        message[0] = 1;
        assert_eq!(net.frame(&message), None, "a checksum");
        message[..2].copy_from_slice(&[0, 1]);
        assert_eq!(net.frame(&message), None, "segments");
    }
}
