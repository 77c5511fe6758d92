//! The limit of open files, which the emulation raises for itself but not for its command.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The requested limit: more than all relays and listeners use.
const WANTED: u64 = 16_384;

/// The previous limit.
#[derive(Clone, Copy, Debug)]
pub struct OpenFiles {
    before: Rlimit,
}

impl OpenFiles {
    /// Raises the limit of this process, up to its hard limit.
    pub fn raise() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current.is_some_and(|current| current < WANTED) {
            let raised = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
            // With fewer files there are fewer relays, which the summary reports.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
        }
        Self { before: Rlimit { current, maximum } }
    }

    /// Restores the previous limit. Makes only a call that is safe between fork and exec.
    pub(super) fn restore(self) {
        // A limit that stays high does no harm.
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}
