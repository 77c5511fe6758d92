//! The map that says when the packet loop was last alive, in our own memory.
#![expect(unsafe_code, reason = "a BPF array is mapped, so that a heartbeat costs no system call")]

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use lasthop_packet::Instant;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The mapped map: one number of 64 bits, at its start.
#[derive(Debug)]
pub(super) struct Heartbeat {
    map: NonNull<u64>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only the owner stores there.
unsafe impl Send for Heartbeat {}

impl Heartbeat {
    pub(super) fn new(map: BorrowedFd<'_>) -> io::Result<Self> {
        let len = rustix::param::page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which overlaps nothing.
        let map = unsafe { mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, map, 0) }?;
        let map = NonNull::new(map.cast()).ok_or_else(|| io::Error::other("mmap returned null"))?;
        Ok(Self { map, len })
    }

    pub(super) fn beat(&mut self, now: Instant) {
        // SAFETY: the mapping is a page long, aligned, and lives as long as we do. The kernel reads it at the same time. On a machine
        // of 32 bits it may read half of it new and half old, and then one frame passes by us.
        unsafe { self.map.as_ptr().write_volatile(now.as_nanos()) };
    }

    /// From now on frames pass.
    pub(super) fn stop(&mut self) {
        self.beat(Instant::ZERO);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this length, to which no reference is left. Nothing can be done about an error.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.len) };
    }
}
