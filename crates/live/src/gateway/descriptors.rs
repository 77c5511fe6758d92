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
