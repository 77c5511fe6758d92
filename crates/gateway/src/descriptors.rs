//! Open files: a gateway with many threads and interfaces may exceed the usual soft limit of 1,024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's soft limit of open files to its hard limit. The usual soft limit protects
/// programs that call `select`, which this one does not.
pub(super) fn raise_the_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // If this fails, the limit stays, and an open file above it results in an error.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// An upper bound of the number of open files of a gateway: maps and programs of each thread,
/// devices and links of each radio interface, and a constant for the process, including 32 clients
/// of its sockets. Measured: 46 files with one thread and interface, 649 with 16 and 3.
pub(super) const fn needed(threads: usize, radio: usize) -> u64 {
    (64 + 4 * radio + threads * (26 + 6 * radio)) as u64
}
