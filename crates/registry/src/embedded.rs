//! The registry of one daemon, in one file.
//!
//! [`Embedded`] is the [`State`] behind a lock, with a log of its events on a [`Disk`]. An event
//! is durable before any caller sees its effect. Calls that come while others wait for the disk are
//! made durable together. A failed write leaves open what the disk has, so all later calls fail, until
//! the file is opened again.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lasthop_packet::Instant;

mod disk;
mod file_system;
mod log;
mod turns;

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
use turns::{Job, Turns};

/// The registry of one daemon, in one file.
pub struct Embedded {
    shared: Arc<Shared>,
}

struct Shared {
    turns: Turns,
    /// Locked until what was changed is durable.
    core: Mutex<Core>,
    changed: Condvar,
}

struct Core {
    state: State,
    log: Log,
    /// A write failed or did not end.
    failed: bool,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Embedded")
    }
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
        Ok(Self { shared: Arc::new(Shared { turns: Turns::default(), core, changed: Condvar::new() }) })
    }

    /// Ends the leases that have run out, and returns when the next one does unless it is renewed.
    /// Every call with a time does the same; where calls are rare, a watch sees the end of a lease
    /// only after this.
    pub fn expire(&self, now: Instant) -> Result<Option<Instant>, Error> {
        Ok(self.shared.at(now)?.state.next_end())
    }

    /// The access point of a lease; none if the lease has ended.
    pub fn access_point(&self, lease: LeaseId, now: Instant) -> Result<Option<Arc<AccessPoint>>, Error> {
        Ok(self.shared.at(now)?.state.access_point(lease))
    }

    fn execute(&self, command: Command, now: Instant) -> Result<u64, Error> {
        self.shared.turns.execute(command, now, |jobs| self.shared.execute(jobs))
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

    fn access_points(&self, now: Instant) -> Result<Vec<(LeaseId, Arc<AccessPoint>)>, Error> {
        Ok(self.shared.at(now)?.state.access_points().collect())
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
        self.commit(&mut core, |batch| batch.expire(now))?;
        Ok(core)
    }

    /// The result of each job. All that they change is durable, or none of the results counts.
    fn execute(&self, jobs: &[Job]) -> Vec<Result<u64, Error>> {
        let all = |error: &Error| jobs.iter().map(|_| Err(again(error))).collect();
        let mut core = match self.lock() {
            Ok(core) => core,
            Err(error) => return all(&error),
        };
        let mut results = Vec::new();
        let committed = self.commit(&mut core, |batch| {
            for job in jobs {
                batch.expire(job.now)?;
                results.push(batch.execute(job.command.clone(), job.now)?.map_err(Error::from));
            }
            Ok(())
        });
        committed.map_or_else(|error| all(&error), |()| results)
    }

    /// Makes durable what `change` does. Nobody sees it before that, because the core is locked.
    fn commit(
        &self,
        core: &mut Core,
        change: impl FnOnce(&mut Batch<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        core.failed = true;
        let before = core.state.revision();
        let mut batch = Batch { core, events: Vec::new() };
        let changed = change(&mut batch).and_then(|()| batch.flush());
        if changed.is_ok() {
            core.failed = false;
        }
        if core.failed || core.state.revision() > before {
            self.changed.notify_all();
        }
        changed
    }
}

/// Events that have been applied, and are not durable yet.
struct Batch<'a> {
    core: &'a mut Core,
    events: Vec<Event>,
}

impl Batch<'_> {
    fn expire(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(event) = self.core.state.expired(now) {
            self.apply(event, now)?;
        }
        Ok(())
    }

    fn execute(&mut self, command: Command, now: Instant) -> Result<Result<u64, Refusal>, Error> {
        match self.core.state.decide(command) {
            Ok(event) => self.apply(event, now).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn apply(&mut self, event: Event, now: Instant) -> Result<u64, Error> {
        if self.events.len() == Limits::BATCH {
            self.flush()?;
        }
        self.events.push(event.clone());
        Ok(self.core.state.apply(event, now))
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.events.is_empty() {
            return Ok(());
        }
        let Core { state, log, .. } = &mut *self.core;
        let first = state.revision() + 1 - self.events.len() as u64;
        log.append(first, &self.events, state)?;
        self.events.clear();
        Ok(())
    }
}

/// The same error for another caller.
fn again(error: &Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Refused(refusal.clone()),
        Error::Failed(error) => Error::Failed(io::Error::new(error.kind(), error.to_string())),
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
