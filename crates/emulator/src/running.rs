//! A running emulation on its own thread.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use lasthop_sim::World;
use rustix::event::{EventfdFlags, eventfd};
use thiserror::Error;

use super::end::End;
use super::pacer::{Command, Options, Pacer};
use super::summary::Summary;
use lasthop_linux::realtime;

/// A running emulation. Dropping this value stops it and removes its devices.
#[derive(Debug)]
pub struct Running {
    handle: Handle,
    thread: Option<JoinHandle<Summary>>,
}

/// A handle to a running emulation, for any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: Sender<Command>,
    wake: Arc<OwnedFd>,
}

/// The error of a request to an emulation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the emulation has ended")]
pub struct EmulationEnded;

impl Handle {
    /// Calls `work` with the world between two events, for example to read its counters or to
    /// change a link, and returns the result. The model's clock continues meanwhile.
    pub fn with_world<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Result<R, EmulationEnded> {
        let (answer, answers) = channel();
        self.send(Command::Do(Box::new(move |world| {
            // The receiver waits for the answer.
            let _ = answer.send(work(world));
        })))?;
        answers.recv().map_err(|_| EmulationEnded)
    }

    /// Returns the summary so far.
    pub fn summary(&self) -> Result<Summary, EmulationEnded> {
        let (answer, answers) = channel();
        self.send(Command::Summarize(answer))?;
        answers.recv().map_err(|_| EmulationEnded)
    }

    fn send(&self, command: Command) -> Result<(), EmulationEnded> {
        self.commands.send(command).map_err(|_| EmulationEnded)?;
        // If this fails, the counter is full, and wakes the loop as well.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        Ok(())
    }
}

impl Running {
    pub(super) fn start(world: World, ends: Vec<End>, options: Options) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (commands, receiver) = channel();
        let waker = Arc::clone(&wake);
        let thread = std::thread::Builder::new().name("emulator".to_owned()).spawn(move || {
            realtime::no_timer_slack();
            let refusals = if options.real_time { realtime::ask_for_it() } else { Vec::new() };
            let mut pacer = Pacer::new(world, ends, options, receiver, waker);
            pacer.run();
            pacer.summary(refusals)
        })?;
        Ok(Self { handle: Handle { commands, wake }, thread: Some(thread) })
    }

    /// Returns a handle for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// See [`Handle::with_world`].
    pub fn with_world<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Result<R, EmulationEnded> {
        self.handle.with_world(work)
    }

    /// Stops the clock, removes the devices and returns the summary.
    pub fn stop(mut self) -> io::Result<Summary> {
        self.end().unwrap_or_else(|| Err(panicked()))
    }

    /// Whether the emulation is still running. Before [`Self::stop`], only a panic ends it.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Blocks the loop for a time, for tests of the summary of a run that was late.
    #[doc(hidden)]
    pub fn stall(&self, pause: Duration) -> Result<(), EmulationEnded> {
        self.handle.send(Command::Sleep(pause))
    }

    fn end(&mut self) -> Option<io::Result<Summary>> {
        // The thread may have ended already.
        let _ = self.handle.send(Command::Stop);
        Some(self.thread.take()?.join().map_err(|_| panicked()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The error for a thread that panicked.
fn panicked() -> io::Error {
    io::Error::other("the emulator's thread panicked")
}
