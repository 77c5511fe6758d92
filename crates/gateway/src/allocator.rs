//! A setting of the allocator for the memory of tables that grow.

#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "there is no safe call for mallopt"))]

/// Has each large table allocated in a mapping of its own, so that its memory is returned to the
/// system when the table is reallocated. By default glibc raises its threshold for this with each
/// table that is freed, and later tables leave holes: with 100,000 connections on two threads, 90
/// of 298 MB.
pub(super) fn return_large_tables() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 128 << 10;
        // SAFETY: it sets a number that the allocator reads at its next call.
        unsafe {
            // If the call fails, the allocator keeps its default.
            let _ = libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        }
    }
}
