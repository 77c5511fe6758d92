//! An emulation on its own thread.

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

/// An emulation at work. It stops, and its devices vanish, when this value does.
#[derive(Debug)]
pub struct Running {
    handle: Handle,
    thread: Option<JoinHandle<Summary>>,
}

/// A way to speak to an emulation at work, from any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: Sender<Command>,
    wake: Arc<OwnedFd>,
}

/// The emulation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the emulation has ended")]
pub struct Gone;

impl Handle {
    /// Does something with the world between two events, and returns what comes of it: a look at
    /// its counters, a change of a link. The model's clock does not stand still meanwhile.
    pub fn with_world<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Result<R, Gone> {
        let (answer, answers) = channel();
        self.send(Command::Do(Box::new(move |world| {
            // Whoever asked is waiting for it.
            let _ = answer.send(work(world));
        })))?;
        answers.recv().map_err(|_| Gone)
    }

    /// What the emulation has done so far.
    pub fn summary(&self) -> Result<Summary, Gone> {
        let (answer, answers) = channel();
        self.send(Command::Summarize(answer))?;
        answers.recv().map_err(|_| Gone)
    }

    fn send(&self, command: Command) -> Result<(), Gone> {
        self.commands.send(command).map_err(|_| Gone)?;
        // A counter that is full wakes the loop as well.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        Ok(())
    }
}

impl Running {
    pub(super) fn start(world: World, ends: Vec<End>, options: Options) -> io::Result<Self> {
        let wake = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let (commands, orders) = channel();
        let waker = Arc::clone(&wake);
        let thread = std::thread::Builder::new().name("emulator".to_owned()).spawn(move || {
            realtime::no_timer_slack();
            let refusals = if options.real_time { realtime::ask_for_it() } else { Vec::new() };
            let mut pacer = Pacer::new(world, ends, options, orders, waker);
            pacer.run();
            pacer.summary(refusals)
        })?;
        Ok(Self { handle: Handle { commands, wake }, thread: Some(thread) })
    }

    /// A way to speak to it from other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// See [`Handle::with_world`].
    pub fn with_world<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Result<R, Gone> {
        self.handle.with_world(work)
    }

    /// Stops the clock, removes the devices and says how it went.
    pub fn stop(mut self) -> io::Result<Summary> {
        self.end().unwrap_or_else(|| Err(panicked()))
    }

    /// Whether it still works; it ends of its own accord only by a panic.
    pub fn is_alive(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Makes the loop do nothing for a time: a test of what a run says when it could not keep up.
    #[doc(hidden)]
    pub fn stall(&self, pause: Duration) -> Result<(), Gone> {
        self.handle.send(Command::Sleep(pause))
    }

    fn end(&mut self) -> Option<io::Result<Summary>> {
        // It may have ended before.
        let _ = self.handle.send(Command::Stop);
        Some(self.thread.take()?.join().map_err(|_| panicked()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a thread that ended in a panic is reported as.
fn panicked() -> io::Error {
    io::Error::other("the emulator's thread panicked")
}
