//! What the allocator does with the memory of a table that has grown.

#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "there is no safe call for mallopt"))]

/// Has each large table in a mapping of its own, so that its memory goes back to the system when it has
/// grown into another. By default glibc raises its threshold for that with each table that is freed, and
/// later ones leave holes: with 100,000 connections on two threads they were 90 of 298 MB.
pub(super) fn give_back_large_tables() {
    #[cfg(target_env = "gnu")]
    {
        const LARGE: libc::c_int = 128 << 10;
        // SAFETY: it sets a number that the allocator reads at its next call.
        unsafe {
            // Where it is refused the allocator does as before.
            let _ = libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        }
    }
}
