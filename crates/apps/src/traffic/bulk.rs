//! All data at once: TCP sends as fast as it may, UDP as fast as the first queue accepts datagrams.

use super::write::{Next, Write};

/// All data at once. Over UDP it saturates the sender's interface: the first queue always has one
/// datagram of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// The octets to send, rounded up to complete datagrams over UDP; without end if `None`.
    pub size: Option<u64>,
    /// A datagram's payload in octets, 1 to 65,507. Not used by TCP.
    pub message: u32,
}

impl Bulk {
    /// Without end; datagrams fill an Ethernet frame (1,500 octets with UDP's and IP's headers).
    pub const ENDLESS: Self = Self { size: None, message: 1472 };
}

/// A running source of datagrams. TCP receives all data at once, without a source.
#[derive(Debug)]
pub struct Source {
    message: u32,
    /// The number of remaining datagrams; `None` without end.
    left: Option<u64>,
}

impl Source {
    pub(super) fn new(bulk: &Bulk) -> Self {
        let message = bulk.message.max(1);
        Self { message, left: bulk.size.map(|size| size.div_ceil(u64::from(message))) }
    }

    pub(super) fn write(&mut self) -> Write {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return Write { octets: 0, next: Next::Never };
            }
            *left -= 1;
        }
        let next = if self.left == Some(0) { Next::Never } else { Next::WhenSent };
        Write { octets: self.message, next }
    }
}
