//! The limit of open files, which is higher for the emulation than for its command.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as all relays and doors together can use, and then some.
const WANTED: u64 = 16_384;

/// The limit that was in force before.
#[derive(Clone, Copy, Debug)]
pub struct OpenFiles {
    before: Rlimit,
}

impl OpenFiles {
    /// Raises the limit of this process, as far as it may.
    pub fn raise() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| current < WANTED) {
            let raised = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
            // With fewer files there are fewer relays, which is told.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
        }
        Self { before: Rlimit { current, maximum } }
    }

    /// Gives a process the limit from before. Makes only a call that is safe between fork and exec.
    pub(super) fn restore(self) {
        // A limit that stays high harms nobody.
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}
