//! Open files: a gateway of many threads and interfaces has more than the usual soft limit of 1,024.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's soft limit of open files to its hard limit. The usual soft limit is for
/// programs that call `select`, and this one does not.
pub(super) fn raise_the_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Where it is refused the limit stays, and what cannot be opened says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// An upper bound of the files that a gateway opens: maps and programs of each thread, devices and
/// links of each radio interface, and what the process has in any case, 32 clients of its sockets
/// included. Counted: 46 files with one thread and interface, 649 with 16 and 3.
pub(super) const fn needed(threads: usize, radio: usize) -> u64 {
    (64 + 4 * radio + threads * (26 + 6 * radio)) as u64
}
