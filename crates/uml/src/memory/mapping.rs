//! A shared mapping of a file: the only unsafe code of this crate.
#![expect(unsafe_code, reason = "memory that another process may change is mapped and copied")]

use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Octets of a file, mapped and shared with other processes.
///
/// The file was long enough when it was mapped. If it is not [sealed](Self::is_sealed), a process that has it may
/// make it shorter, and access to what is gone then ends this process with SIGBUS. The files of guests' memory are not
/// sealed. A program in a guest cannot reach them; its kernel, which runs with this user's rights, could.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
    is_sealed: bool,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is used through `&self` by copies only.
unsafe impl Send for Mapping {}

/// A file that cannot be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// The octets to be mapped are not all in the file.
    #[error("{size} octets at {offset} of a file of {length} octets")]
    TooShort {
        /// Where they start.
        offset: u64,
        /// How many they are.
        size: u64,
        /// The file's length.
        length: u64,
    },
    /// The system refused.
    #[error("it cannot be mapped: {0}")]
    Io(#[from] io::Error),
}

/// Addresses that are not in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} octets at {address:#x} are not in the guest's memory")]
pub struct OutOfBounds {
    /// The first address.
    pub address: u64,
    /// Octets from there on.
    pub length: usize,
}

impl Mapping {
    /// Maps `size` octets of a file, which start at `offset`, a multiple of the page size.
    pub fn new(file: impl AsFd, offset: u64, size: u64) -> Result<Self, MappingError> {
        let length = u64::try_from(fstat(&file).map_err(io::Error::from)?.st_size).unwrap_or(0);
        let too_short = MappingError::TooShort { offset, size, length };
        let end = offset.checked_add(size);
        // No object in memory is larger than the largest `isize`.
        let mapped = isize::try_from(size).ok().filter(|&mapped| mapped > 0).map(isize::cast_unsigned);
        let (Some(_), Some(mapped)) = (end.filter(|&end| end <= length), mapped) else {
            return Err(too_short);
        };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so that no other memory is replaced.
        let start = unsafe { mmap(ptr::null_mut(), mapped, access, MapFlags::SHARED, &file, offset) };
        let start = NonNull::new(start.map_err(io::Error::from)?.cast());
        let start = start.ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
        let is_sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        Ok(Self { start, length: mapped, is_sealed })
    }

    /// Whether the file cannot become shorter.
    pub const fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// Copies octets out of the mapping, from `at` on.
    #[inline]
    pub fn read(&self, at: usize, octets: &mut [u8]) -> Result<(), OutOfBounds> {
        let from = self.place(at, octets.len())?;
        // SAFETY: `place` has checked that the octets are within the mapping, which no reference points into;
        // `octets` is memory of this process alone. Another process may write meanwhile: then any octets are
        // copied, and all values are valid.
        unsafe { ptr::copy_nonoverlapping(from, octets.as_mut_ptr(), octets.len()) };
        Ok(())
    }

    /// Copies octets into the mapping, from `at` on.
    #[inline]
    pub fn write(&self, at: usize, octets: &[u8]) -> Result<(), OutOfBounds> {
        let to = self.place(at, octets.len())?;
        // SAFETY: as in `read`.
        unsafe { ptr::copy_nonoverlapping(octets.as_ptr(), to, octets.len()) };
        Ok(())
    }

    /// The address of `length` octets from `at` on, which are within the mapping.
    fn place(&self, at: usize, length: usize) -> Result<*mut u8, OutOfBounds> {
        if at.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(OutOfBounds { address: at as u64, length });
        }
        // SAFETY: `at` is not greater than the length of the mapping.
        Ok(unsafe { self.start.as_ptr().add(at) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and no reference points into it. That it fails is impossible for
        // a whole mapping, and would leave it mapped.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
