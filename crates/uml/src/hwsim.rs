//! The simulated radios of a guest's `mac80211_hwsim`: one device for all of them. A message in its queues is one of
//! generic netlink, as the driver speaks it with a medium in user space.
//!
//! The driver sends each frame with the rates that mac80211 has chosen for it, and waits for what became of it. It has
//! nothing between mac80211 and the medium: no queue, no contention, no retransmissions. All that is the medium's.

mod message;

use crate::vhost::{DeviceType, Queues};

pub use message::{
    FromRadios, MessageError, MessageProblem, ReceivedFrame, SentFrame, Stage, TxStatus, parse,
};

/// The device of a guest's simulated radios. Their number is the driver's parameter `mac80211_hwsim.radios`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hwsim;

/// The longest message: the driver hands over the whole buffer in which a message is.
const LONGEST: usize = 16 << 10;

/// The address by which the driver knows one of its radios, from 0.
pub const fn radio_address(radio: u16) -> [u8; 6] {
    [0x42, 0, 0, (radio >> 8) as u8, radio as u8, 0]
}

/// The address of a radio's first network device, as long as nothing changes it.
pub const fn device_address(radio: u16) -> [u8; 6] {
    [0x02, 0, 0, (radio >> 8) as u8, radio as u8, 0]
}

impl DeviceType for Hwsim {
    /// `VIRTIO_ID_MAC80211_HWSIM`.
    fn id(&self) -> u32 {
        29
    }

    fn features(&self) -> u64 {
        0
    }

    fn configuration(&self) -> &[u8] {
        &[]
    }

    fn queues(&self) -> Queues {
        Queues { receive: 1, transmit: 0 }
    }

    fn header(&self) -> &[u8] {
        &[]
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    /// What follows a message in its buffer does not belong to it.
    fn frame<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]> {
        let len = u32::from_le_bytes(*message.first_chunk()?);
        message.get(..len as usize).filter(|message| message.len() >= message::HEADERS)
    }
}
