//! A BPF array mapped into memory: the programs see stores to it without a system call.
#![expect(unsafe_code, reason = "a BPF array is mapped")]

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped array of 64-bit words.
#[derive(Debug)]
pub(super) struct Mapped {
    map: NonNull<u64>,
    words: usize,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only the owner stores there.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps an array of this number of words.
    pub(super) fn new(map: BorrowedFd<'_>, words: usize) -> io::Result<Self> {
        let len = (words * size_of::<u64>()).next_multiple_of(rustix::param::page_size());
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which overlaps nothing.
        let map = unsafe { mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, map, 0) }?;
        let map = NonNull::new(map.cast()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        Ok(Self { map, words, len })
    }

    /// Stores a word. The kernel reads it concurrently; on a 32-bit machine it may read one half
    /// before and the other half after the store.
    ///
    /// # Panics
    ///
    /// If there is no such word.
    pub(super) fn store(&mut self, word: usize, value: u64) {
        assert!(word < self.words, "word {word} of {}", self.words);
        // SAFETY: within the mapping, which is aligned to a page and lives as long as we do.
        unsafe { self.map.as_ptr().add(word).write_volatile(value) };
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length, without remaining references. An error cannot be
        // handled.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.len) };
    }
}
