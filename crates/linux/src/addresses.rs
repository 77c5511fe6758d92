//! Where programs are in memory: by default the kernel chooses it at random for each process.

#![expect(unsafe_code, reason = "rustix has no call for personality(2)")]

use std::io;
use std::thread;

/// Runs `work` on a thread of its own. Programs that it starts are at the same addresses each time, as with `setarch
/// --addr-no-randomize`. An error means that this is not allowed here, as in containers that filter the system call;
/// then `work` has not run.
pub fn without_randomization<R: Send>(work: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            add_to_personality(libc::ADDR_NO_RANDOMIZE)?;
            Ok(work())
        });
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Adds a flag to the calling thread's personality, which the processes inherit that it starts.
fn add_to_personality(flag: libc::c_int) -> io::Result<()> {
    const ASK: libc::c_ulong = 0xffff_ffff;
    // SAFETY: the call has no pointers; it changes how this thread's processes start, and no memory.
    let current = unsafe { libc::personality(ASK) };
    let with_flag = libc::c_ulong::from((current | flag).cast_unsigned());
    // SAFETY: as above.
    if current == -1 || unsafe { libc::personality(with_flag) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn personality_of_a_child() -> String {
        let output = Command::new("cat").arg("/proc/self/personality").output().expect("a program");
        String::from_utf8(output.stdout).expect("a number")
    }

    #[test]
    fn programs_start_at_the_same_addresses_only_where_that_was_asked() {
        let before = personality_of_a_child();
        // A container may refuse it, and then nothing has changed, either.
        if let Ok(inside) = without_randomization(personality_of_a_child) {
            let number = i32::from_str_radix(inside.trim(), 16).expect("a number");
            assert_ne!(number & libc::ADDR_NO_RANDOMIZE, 0, "{inside}");
        }
        assert_eq!(personality_of_a_child(), before);
    }
}
