//! Kernel features for threads that must not be late.

#![expect(unsafe_code, reason = "rustix has no call that sets a scheduling policy")]

use std::io;
use std::num::NonZeroU64;

use lasthop_config::words::without_error_numbers;
use rustix::mm::MlockAllFlags;

/// Higher than every ordinary thread, and lower than what the kernel itself may run in real time
/// (interrupt threads have 50).
pub const PRIORITY: libc::c_int = 40;

/// Requests real-time scheduling of the calling thread, and memory that is not paged out. Returns a
/// sentence for each request that was refused.
pub fn ask_for_it() -> Vec<String> {
    let mut refusals = Vec::new();
    if let Err(error) = schedule_first() {
        refusals.push(format!(
            "no real-time scheduling (SCHED_FIFO): {}; a busy machine will delay packets",
            without_error_numbers(&error.to_string())
        ));
    }
    // Pages are locked when they are first used: all at once would take the full stack of every
    // thread.
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    if let Err(error) = rustix::mm::mlockall(flags) {
        refusals.push(format!(
            "memory is not locked: {}; a machine short of memory will delay packets",
            without_error_numbers(&error.to_string())
        ));
    }
    refusals
}

/// Lets timers of the calling thread expire when they are due, not up to 50 us later.
pub fn no_timer_slack() {
    // An error leaves the default, which the measured lateness shows.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

fn schedule_first() -> io::Result<()> {
    // The kernel's `struct sched_param` is this one number.
    let parameter: libc::c_int = PRIORITY;
    // Children do not inherit it.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // Not the C library's function: that of musl refuses, because in POSIX it changes the whole
    // process.
    // SAFETY: the call reads `parameter` and changes nothing but the calling thread's scheduling.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
