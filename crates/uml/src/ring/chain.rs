//! A buffer: a chain of descriptors (virtio 1.2, section 2.7.5).

use crate::memory::{Memory, OutOfBounds};

/// A buffer that is available to the device. Kept between buffers, so that none allocates.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    head: u16,
    octets: usize,
    parts: Vec<(u64, u32)>,
}

/// A chain that breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Its table is not in memory.
    #[error(transparent)]
    OutOfBounds(#[from] OutOfBounds),
    /// A descriptor that is not in the table.
    #[error("descriptor {descriptor} of a table of {size}")]
    NoDescriptor {
        /// Its number.
        descriptor: u16,
        /// Entries of the table.
        size: u16,
    },
    /// A chain with more descriptors than there are: it loops.
    #[error("a chain of descriptors loops")]
    Loop,
    /// A descriptor with flags that were not negotiated, or that is read where one is written.
    #[error("a descriptor with flags {0:#x}")]
    Flags(u16),
    /// A chain of more octets than any buffer has.
    #[error("a buffer of more than {} octets", MAX_OCTETS)]
    TooLong,
}

/// What a device does with the buffers of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The guest has filled them.
    FromGuest,
    /// The device fills them.
    ToGuest,
}

/// Octets of a buffer: no device here takes more.
pub const MAX_OCTETS: usize = 1 << 17;

const NEXT: u16 = 1;
const WRITE: u16 = 2;

impl Chain {
    /// The number of its first descriptor.
    pub const fn head(&self) -> u16 {
        self.head
    }

    /// Its octets.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// Reads the chain that starts with the descriptor `head`. Descriptors without octets are passed over.
    pub(super) fn follow(
        &mut self,
        memory: &impl Memory,
        table: u64,
        size: u16,
        head: u16,
        direction: Direction,
    ) -> Result<(), ChainError> {
        self.parts.clear();
        (self.head, self.octets) = (head, 0);
        let mut descriptor = head;
        for _ in 0..size {
            if descriptor >= size {
                return Err(ChainError::NoDescriptor { descriptor, size });
            }
            let mut octets = [0; 16];
            memory.read(table + 16 * u64::from(descriptor), &mut octets)?;
            let fields = u128::from_le_bytes(octets);
            let (address, length, flags) = (fields as u64, (fields >> 64) as u32, (fields >> 96) as u16);
            let is_written = flags & WRITE != 0;
            if flags & !(NEXT | WRITE) != 0 || is_written != (direction == Direction::ToGuest) {
                return Err(ChainError::Flags(flags));
            }
            self.octets += length as usize;
            if self.octets > MAX_OCTETS {
                return Err(ChainError::TooLong);
            }
            if length > 0 {
                self.parts.push((address, length));
            }
            if flags & NEXT == 0 {
                return Ok(());
            }
            descriptor = (fields >> 112) as u16;
        }
        Err(ChainError::Loop)
    }

    /// Copies the octets of the buffer to the end of `octets`.
    pub fn read(&self, memory: &impl Memory, octets: &mut Vec<u8>) -> Result<(), OutOfBounds> {
        for &(address, length) in &self.parts {
            let start = octets.len();
            octets.resize(start + length as usize, 0);
            memory.read(address, &mut octets[start..])?;
        }
        Ok(())
    }

    /// Copies the pieces into the buffer, one after the other, as far as there is space.
    pub fn write(&self, memory: &mut impl Memory, pieces: [&[u8]; 2]) -> Result<(), OutOfBounds> {
        let mut parts = self.parts.iter().copied();
        let (mut address, mut space) = (0, 0);
        for mut piece in pieces {
            while !piece.is_empty() {
                if space == 0 {
                    let Some((start, length)) = parts.next() else { return Ok(()) };
                    (address, space) = (start, length as usize);
                }
                let (now, later) = piece.split_at(piece.len().min(space));
                memory.write(address, now)?;
                // `write` has checked that these addresses exist; the next one is checked by the next call.
                address = address.wrapping_add(now.len() as u64);
                space -= now.len();
                piece = later;
            }
        }
        Ok(())
    }
}
