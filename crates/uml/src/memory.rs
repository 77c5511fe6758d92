//! A guest's memory, as its devices see it: by guest physical addresses, copied in and out.
//!
//! No reference leads into it, because the guest may change it at any time.

mod mapping;

use std::os::fd::OwnedFd;

pub use mapping::{Mapping, MappingError, OutOfBounds};

/// Memory that is read and written at addresses.
pub trait Memory {
    /// Copies octets out of the memory.
    fn read(&self, address: u64, octets: &mut [u8]) -> Result<(), OutOfBounds>;

    /// Copies octets into the memory.
    fn write(&mut self, address: u64, octets: &[u8]) -> Result<(), OutOfBounds>;

    /// Two octets, little endian.
    fn read_u16(&self, address: u64) -> Result<u16, OutOfBounds> {
        let mut octets = [0; 2];
        self.read(address, &mut octets)?;
        Ok(u16::from_le_bytes(octets))
    }
}

/// A part of a guest's memory: where it is for the guest, and in which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The guest physical address of its start.
    pub address: u64,
    /// Its octets.
    pub size: u64,
    /// Where it starts in its file.
    pub offset: u64,
}

/// The memory of a guest, mapped. It is empty before the guest has sent a table of its regions.
#[derive(Debug, Default)]
pub struct GuestMemory {
    regions: Vec<(Region, Mapping)>,
}

/// Memory that cannot be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// A region that overlaps another one, or ends after the last address.
    #[error("the region {0:x?} is empty, overlaps another one, or ends after the last address")]
    Region(Region),
    /// More memory than the guest was given.
    #[error("{size} octets of guest memory; the guest has at most {most}")]
    TooMuch {
        /// The sum of its regions.
        size: u64,
        /// What it may have.
        most: u64,
    },
    /// A file that cannot be mapped.
    #[error("a region of guest memory: {0}")]
    Mapping(#[from] MappingError),
}

impl GuestMemory {
    /// Maps the regions, each from its file: at most `most` octets in all.
    pub fn new(regions: &[Region], files: &[OwnedFd], most: u64) -> Result<Self, MemoryError> {
        check(regions, most)?;
        let map = |(region, file): (&Region, &OwnedFd)| {
            Mapping::new(file, region.offset, region.size).map(|mapping| (*region, mapping))
        };
        let regions = regions.iter().zip(files).map(map).collect::<Result<_, _>>()?;
        Ok(Self { regions })
    }

    fn find(&self, address: u64, length: usize) -> Result<(&Mapping, usize), OutOfBounds> {
        for (region, mapping) in &self.regions {
            let Some(at) = address.checked_sub(region.address) else { continue };
            // It is mapped, so its size is a `usize`.
            if at.checked_add(length as u64).is_some_and(|end| end <= region.size) {
                return Ok((mapping, at as usize));
            }
        }
        Err(OutOfBounds { address, length })
    }
}

/// Regions are separate, have an end, and are not more than `most` octets.
fn check(regions: &[Region], most: u64) -> Result<(), MemoryError> {
    let mut sorted = regions.to_vec();
    sorted.sort_by_key(|region| region.address);
    let (mut free, mut size) = (0, 0_u64);
    for region in sorted {
        let end = region.address.checked_add(region.size).filter(|_| region.size > 0);
        match end {
            Some(end) if region.address >= free => free = end,
            _ => return Err(MemoryError::Region(region)),
        }
        size = size.saturating_add(region.size);
    }
    if size > most { Err(MemoryError::TooMuch { size, most }) } else { Ok(()) }
}

impl Memory for GuestMemory {
    fn read(&self, address: u64, octets: &mut [u8]) -> Result<(), OutOfBounds> {
        let (mapping, at) = self.find(address, octets.len())?;
        mapping.read(at, octets)
    }

    fn write(&mut self, address: u64, octets: &[u8]) -> Result<(), OutOfBounds> {
        let (mapping, at) = self.find(address, octets.len())?;
        mapping.write(at, octets)
    }
}

/// Memory from address 0 on, for tests.
impl Memory for Vec<u8> {
    fn read(&self, address: u64, octets: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = range(address, octets.len()).and_then(|range| self.get(range));
        octets.copy_from_slice(from.ok_or(OutOfBounds { address, length: octets.len() })?);
        Ok(())
    }

    fn write(&mut self, address: u64, octets: &[u8]) -> Result<(), OutOfBounds> {
        let to = range(address, octets.len()).and_then(|range| self.get_mut(range));
        to.ok_or(OutOfBounds { address, length: octets.len() })?.copy_from_slice(octets);
        Ok(())
    }
}

fn range(address: u64, length: usize) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(address).ok()?;
    Some(start..start.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    fn file(size: u64) -> OwnedFd {
        let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&file, size).expect("memory");
        file
    }

    const fn region(address: u64, size: u64) -> Region {
        Region { address, size, offset: 0 }
    }

    #[test]
    fn octets_are_copied_out_as_they_were_copied_in() {
        let regions = [region(0x10_000, 0x1000), Region { address: 0x40_000, size: 0x1000, offset: 0x1000 }];
        let mut memory = GuestMemory::new(&regions, &[file(0x1000), file(0x2000)], 0x2000).expect("memory");
        memory.write(0x40_ffd, &[1, 2, 3]).expect("within the second");
        memory.write(0x10_000, &[4]).expect("within the first");
        let mut octets = [0; 3];
        memory.read(0x40_ffd, &mut octets).expect("within the second");
        assert_eq!(octets, [1, 2, 3]);
        assert_eq!(memory.read_u16(0x10_000), Ok(4));
    }

    #[test]
    fn addresses_outside_of_the_regions_are_refused() {
        let mut memory =
            GuestMemory::new(&[region(0x10_000, 0x1000)], &[file(0x1000)], 0x1000).expect("memory");
        for address in [0, 0xffff, 0x10_fff, 0x11_000, u64::MAX - 1, u64::MAX] {
            assert_eq!(memory.read_u16(address), Err(OutOfBounds { address, length: 2 }));
            assert_eq!(memory.write(address, &[0, 0]), Err(OutOfBounds { address, length: 2 }));
        }
    }

    #[test]
    fn regions_that_overlap_or_overflow_or_are_empty_are_refused() {
        let overlapping = [region(0x2000, 0x1000), region(0, 0x2001)];
        for regions in [&overlapping[..], &[region(u64::MAX, 0x1000)], &[region(0, 0)]] {
            assert!(matches!(check(regions, u64::MAX), Err(MemoryError::Region(_))), "{regions:?}");
        }
        check(&[region(0x2000, 0x1000), region(0, 0x2000)], 0x3000).expect("they touch");
    }

    #[test]
    fn more_memory_than_the_guest_has_is_refused() {
        let regions = [region(0, 0x2000), region(0x2000, 0x1000)];
        assert!(matches!(check(&regions, 0x2fff), Err(MemoryError::TooMuch { size: 0x3000, .. })));
    }

    #[test]
    fn a_file_that_is_shorter_than_its_region_is_refused() {
        for (offset, size) in [(0, 0x1001), (0x1000, 0x1000), (u64::MAX - 0xfff, 0x1000)] {
            let region = Region { address: 0, size, offset };
            let error = GuestMemory::new(&[region], &[file(0x1000)], u64::MAX).expect_err("too short");
            assert!(matches!(error, MemoryError::Mapping(MappingError::TooShort { .. })), "{error}");
        }
    }
}
