//! Types of virtio devices.

/// What makes a device one of its type: what it offers, and what a message in its queues is.
pub trait DeviceType: std::fmt::Debug {
    /// Its device ID (virtio 1.2, section 5).
    fn id(&self) -> u32;

    /// The features of its type that it offers, one bit each.
    fn features(&self) -> u64;

    /// Its configuration space: at most 256 octets. What follows reads as 0.
    fn configuration(&self) -> &[u8];

    /// The numbers of its queues.
    fn queues(&self) -> Queues;

    /// What stands before each frame to the guest.
    fn header(&self) -> &[u8];

    /// Octets of the longest message that the guest may send.
    fn longest(&self) -> usize;

    /// The frame in a message of the guest; `None` if the message breaks a rule.
    fn frame<'a>(&self, message: &'a [u8]) -> Option<&'a [u8]>;
}

/// The numbers of a device's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// To the guest.
    pub receive: u16,
    /// From the guest.
    pub transmit: u16,
}
