//! A split virtqueue, the device's side (virtio 1.2, section 2.7).
//!
//! All that is in the guest's memory may be anything, and may change at any time: each value is read
//! once and checked. Buffers are used in the order in which they come, so that one which was looked at
//! and not completed is the next one again. Neither indirect descriptors nor event indices are offered.

mod chain;

use std::sync::atomic::{Ordering, fence};

pub use chain::{Chain, ChainError, Direction};

use crate::memory::{Memory, OutOfBounds};

/// The largest size that is accepted; Linux's driver for user mode uses 256.
pub const MAX_SIZE: u16 = 1024;

/// A queue that a guest has set up.
#[derive(Clone, Debug)]
pub struct Ring {
    size: u16,
    addresses: Addresses,
    next_available: u16,
    next_used: u16,
}

/// Where the three parts of a queue are, as guest physical addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The table of descriptors, of 16 octets each.
    pub descriptors: u64,
    /// The ring of buffers that are available to the device.
    pub available: u64,
    /// The ring of buffers that the device has used.
    pub used: u64,
}

/// A queue that breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// A size that is not a power of 2, or too large.
    #[error("a ring of {0} entries; expected a power of 2, at most {MAX_SIZE}")]
    Size(u32),
    /// Its parts are not aligned, or end after the last address.
    #[error("a part of the ring is misaligned, or ends after the last address: {0:x?}")]
    Addresses(Addresses),
    /// Something that is not in memory.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// The index of available buffers is further ahead than the ring has entries.
    #[error("the index of available buffers went from {from} to {to} in a ring of {size}")]
    Jump {
        /// The device's index.
        from: u16,
        /// The driver's.
        to: u16,
        /// Entries of the ring.
        size: u16,
    },
    /// A buffer that is not one.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// The flag of the available ring: the driver needs no interrupt.
const NO_INTERRUPT: u16 = 1;
/// The flag of the used ring: the device needs no notification.
const NO_NOTIFY: u16 = 1;

impl Ring {
    /// A queue of this size at these addresses. `base` is the index at which it starts.
    pub fn new(size: u32, addresses: Addresses, base: u16) -> Result<Self, RingError> {
        let short = u16::try_from(size).ok().filter(|size| size.is_power_of_two() && *size <= MAX_SIZE);
        let short = short.ok_or(RingError::Size(size))?;
        let entries = u64::from(short);
        let fits = |address: u64, alignment: u64, octets: u64| {
            address.is_multiple_of(alignment) && address.checked_add(octets).is_some()
        };
        let Addresses { descriptors, available, used } = addresses;
        if !(fits(descriptors, 16, 16 * entries)
            && fits(available, 2, 6 + 2 * entries)
            && fits(used, 4, 6 + 8 * entries))
        {
            return Err(RingError::Addresses(addresses));
        }
        Ok(Self { size: short, addresses, next_available: base, next_used: base })
    }

    /// Looks at the next available buffer; returns whether there is one.
    pub fn peek(
        &self,
        memory: &impl Memory,
        direction: Direction,
        chain: &mut Chain,
    ) -> Result<bool, RingError> {
        let to = memory.read_u16(self.addresses.available + 2)?;
        fence(Ordering::Acquire);
        match to.wrapping_sub(self.next_available) {
            0 => return Ok(false),
            ahead if ahead > self.size => {
                return Err(RingError::Jump { from: self.next_available, to, size: self.size });
            }
            _ => {}
        }
        let entry = u64::from(self.next_available & (self.size - 1));
        let head = memory.read_u16(self.addresses.available + 4 + 2 * entry)?;
        chain.follow(memory, self.addresses.descriptors, self.size, head, direction)?;
        Ok(true)
    }

    /// Returns the buffer that was looked at, with this number of octets written; returns whether the
    /// driver needs an interrupt.
    pub fn complete(
        &mut self,
        memory: &mut impl Memory,
        chain: &Chain,
        written: u32,
    ) -> Result<bool, RingError> {
        let entry = u64::from(self.next_used & (self.size - 1));
        let element = u64::from(chain.head()) | u64::from(written) << 32;
        memory.write(self.addresses.used + 4 + 8 * entry, &element.to_le_bytes())?;
        fence(Ordering::Release);
        self.next_available = self.next_available.wrapping_add(1);
        self.next_used = self.next_used.wrapping_add(1);
        memory.write(self.addresses.used + 2, &self.next_used.to_le_bytes())?;
        fence(Ordering::SeqCst);
        Ok(memory.read_u16(self.addresses.available)? & NO_INTERRUPT == 0)
    }

    /// Whether the driver should notify the device of new buffers. One that came just before is seen
    /// only by looking.
    pub fn ask_for_notifications(&self, memory: &mut impl Memory, wanted: bool) -> Result<(), RingError> {
        let flags = if wanted { 0 } else { NO_NOTIFY };
        memory.write(self.addresses.used, &flags.to_le_bytes())?;
        fence(Ordering::SeqCst);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
