//! The registry of one daemon, in one file.
//!
//! [`Embedded`] is the [`State`] behind a lock, with a log of its events on a [`Disk`]. An event
//! is durable before any caller sees its effect. A failed write leaves open what the disk has, so
//! all later calls fail, until the file is opened again.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lasthop_packet::Instant;

mod disk;
mod file_system;
mod log;

use super::client::Client;
use super::entry::{AccessPoint, Change, Entry, LeaseId, Snapshot};
use super::error::{Error, Refusal};
use super::limits::Limits;
use super::registry::{Registry, Watch};
use super::state::{Command, Event, State};
pub use disk::Disk;
pub use file_system::FileSystem;
use log::Log;
pub use log::{Durability, OpenError};

/// The registry of one daemon, in one file.
pub struct Embedded {
    shared: Arc<Shared>,
}

struct Shared {
    core: Mutex<Core>,
    changed: Condvar,
}

struct Core {
    state: State,
    log: Log,
    /// A write failed or did not end.
    failed: bool,
}

impl Embedded {
    /// Opens the registry in a file, or creates it. All leases begin at `now`.
    ///
    /// Nothing else may be in a file with the same name and `.new` at its end. The folder is locked:
    /// only one process at a time has a registry in it.
    pub fn open(
        path: &Path,
        limits: Limits,
        durability: Durability,
        now: Instant,
    ) -> Result<Self, OpenError> {
        Self::on(FileSystem::open(path)?, limits, durability, now)
    }

    /// The same on another disk.
    pub fn on(
        disk: impl Disk + 'static,
        limits: Limits,
        durability: Durability,
        now: Instant,
    ) -> Result<Self, OpenError> {
        let (log, state) = Log::open(Box::new(disk), limits, durability, now)?;
        let core = Mutex::new(Core { state, log, failed: false });
        Ok(Self { shared: Arc::new(Shared { core, changed: Condvar::new() }) })
    }

    /// Ends the leases that have run out, and returns when the next one does unless it is renewed.
    /// Every call with a time does the same; where calls are rare, a watch sees the end of a lease
    /// only after this.
    pub fn expire(&self, now: Instant) -> Result<Option<Instant>, Error> {
        Ok(self.shared.at(now)?.state.next_end())
    }

    fn execute(&self, command: Command, now: Instant) -> Result<u64, Error> {
        let mut core = self.shared.at(now)?;
        let event = core.state.decide(command)?;
        self.shared.commit(&mut core, event, now)
    }
}

impl Registry for Embedded {
    fn join(&self, access_point: &AccessPoint, duration: Duration, now: Instant) -> Result<LeaseId, Error> {
        let command = Command::Join { access_point: access_point.clone(), duration };
        self.execute(command, now).map(LeaseId::new)
    }

    fn renew(&self, lease: LeaseId, now: Instant) -> Result<(), Error> {
        Ok(self.shared.at(now)?.state.renew(lease, now)?)
    }

    fn leave(&self, lease: LeaseId, now: Instant) -> Result<(), Error> {
        self.execute(Command::Leave(lease), now).map(drop)
    }

    fn claim(
        &self,
        client: &Client,
        lease: LeaseId,
        expected: Option<u64>,
        now: Instant,
    ) -> Result<u64, Error> {
        self.execute(Command::Claim { client: *client, lease, expected }, now)
    }

    fn release(&self, client: &Client, epoch: u64, now: Instant) -> Result<(), Error> {
        self.execute(Command::Release { client: *client, epoch }, now).map(drop)
    }

    fn get(&self, client: &Client, now: Instant) -> Result<Option<Entry>, Error> {
        Ok(self.shared.at(now)?.state.get(client))
    }

    fn snapshot(&self, now: Instant) -> Result<Snapshot, Error> {
        Ok(self.shared.at(now)?.state.snapshot())
    }

    fn watch(&self, after: u64) -> Result<Box<dyn Watch>, Error> {
        let changes = Changes { shared: Arc::clone(&self.shared), after };
        changes.after(&self.shared.lock()?.state)?;
        Ok(Box::new(changes))
    }
}

impl Shared {
    fn lock(&self) -> Result<MutexGuard<'_, Core>, Error> {
        usable(self.core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The core, without the leases that have run out.
    fn at(&self, now: Instant) -> Result<MutexGuard<'_, Core>, Error> {
        let mut core = self.lock()?;
        while let Some(event) = core.state.expired(now) {
            self.commit(&mut core, event, now)?;
        }
        Ok(core)
    }

    /// Makes an event durable, then visible.
    fn commit(&self, core: &mut Core, event: Event, now: Instant) -> Result<u64, Error> {
        core.failed = true;
        let written = core.log.append(&core.state, &event);
        if written.is_ok() {
            core.state.apply(event, now);
            core.failed = false;
        }
        self.changed.notify_all();
        written?;
        Ok(core.state.revision())
    }
}

/// The core, unless a write failed. A panic of another thread does no harm: it left the core as it
/// was, or marked as failed.
fn usable(core: MutexGuard<'_, Core>) -> Result<MutexGuard<'_, Core>, Error> {
    if core.failed {
        return Err(io::Error::other("an earlier write failed: the file must be opened again").into());
    }
    Ok(core)
}

/// A watch.
struct Changes {
    shared: Arc<Shared>,
    after: u64,
}

impl Watch for Changes {
    fn next(&mut self, wait: Duration) -> Result<Vec<Change>, Error> {
        let mut core = self.shared.lock()?;
        let mut changes = self.after(&core.state)?;
        if changes.is_empty() && !wait.is_zero() {
            let woken = self.shared.changed.wait_timeout(core, wait);
            core = usable(woken.unwrap_or_else(PoisonError::into_inner).0)?;
            changes = self.after(&core.state)?;
        }
        if let Some(last) = changes.last() {
            self.after = last.revision;
        }
        Ok(changes)
    }
}

impl Changes {
    fn after(&self, state: &State) -> Result<Vec<Change>, Refusal> {
        Ok(state.changes(self.after)?.cloned().collect())
    }
}
