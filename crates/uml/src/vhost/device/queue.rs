//! A queue of a device, from its set-up on.

use crate::memory::Memory;
use crate::ring::{Addresses, Chain, Ring, RingError};

use super::error::DeviceError;

/// A queue. It has a ring from the first time that it is enabled.
#[derive(Debug, Default)]
pub struct Queue {
    size: u32,
    base: u16,
    addresses: Option<Addresses>,
    ring: Option<Ring>,
    is_enabled: bool,
    owes_interrupt: bool,
}

impl Queue {
    pub fn set_size(&mut self, number: u32, size: u32) -> Result<(), DeviceError> {
        self.change(number)?.size = size;
        Ok(())
    }

    pub fn set_base(&mut self, number: u32, base: u32) -> Result<(), DeviceError> {
        // Indices have 16 bits.
        self.change(number)?.base = base as u16;
        Ok(())
    }

    pub fn set_addresses(&mut self, number: u32, addresses: Addresses) -> Result<(), DeviceError> {
        self.change(number)?.addresses = Some(addresses);
        Ok(())
    }

    fn change(&mut self, number: u32) -> Result<&mut Self, DeviceError> {
        if self.is_enabled {
            return Err(DeviceError::Order(number));
        }
        self.ring = None;
        Ok(self)
    }

    pub fn enable(&mut self, number: u32, enable: bool) -> Result<(), DeviceError> {
        if enable && self.ring.is_none() {
            let addresses = self.addresses.ok_or(DeviceError::Order(number))?;
            self.ring = Some(Ring::new(self.size, addresses, self.base)?);
        }
        self.is_enabled = enable;
        Ok(())
    }

    pub const fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Entries of its ring.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Its ring, if it is enabled.
    pub fn ring(&self) -> Option<&Ring> {
        self.ring.as_ref().filter(|_| self.is_enabled)
    }

    /// Returns a buffer of the ring, which is there if one was looked at.
    pub fn complete(
        &mut self,
        memory: &mut impl Memory,
        chain: &Chain,
        written: u32,
    ) -> Result<(), RingError> {
        if let Some(ring) = &mut self.ring {
            self.owes_interrupt |= ring.complete(memory, chain, written)?;
        }
        Ok(())
    }

    pub const fn owes_interrupt(&self) -> bool {
        self.owes_interrupt
    }

    pub const fn take_interrupt(&mut self) -> bool {
        std::mem::replace(&mut self.owes_interrupt, false)
    }
}
