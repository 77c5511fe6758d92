//! The event loop: reads packets, advances the world to the present, writes packets, and sleeps
//! until the next event.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use lasthop_packet::Instant;
use lasthop_sim::World;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::border::Border;
use super::device::Device;
use super::end::End;
use super::framing::LONGEST_FRAME;
use super::summary::Summary;
use lasthop_linux::clock;

/// The maximum number of packets read from an end before the world advances: a burst at one end
/// must not delay the packets of the other.
const BATCH: usize = 8;
/// The longest sleep, so that a stall is detected even while no event is due.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// The delay of the world's clock that counts as a stall.
const STALL: Duration = Duration::from_millis(10);
/// The maximum time of a stall that the world catches up with. The rest of the stall is cut out of
/// the model's time: otherwise its packets would leave as one burst, and its simulated stations
/// would keep the processor busy and delay the next packets, too.
const CATCH_UP: Duration = Duration::from_millis(100);
/// The sleep after a failed or useless `poll`.
const PAUSE: Duration = Duration::from_millis(1);

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether to request real-time scheduling and locked memory. If the kernel refuses them, the
    /// run continues without, and its summary says so.
    pub real_time: bool,
    /// The time before the next event during which the loop polls the clock instead of sleeping,
    /// which reduces lateness at the cost of a processor. Zero disables polling; a sleep can be
    /// late by 60 us.
    pub spin: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { real_time: true, spin: Duration::ZERO }
    }
}

/// A command to the running loop.
pub(super) enum Command {
    /// Ends the loop.
    Stop,
    /// Calls a function with the world, between events.
    Do(Box<dyn FnOnce(&mut World) + Send>),
    /// Reports the summary so far.
    Summarize(Sender<Summary>),
    /// Blocks the loop for a time, to simulate a lack of processor time.
    Sleep(Duration),
}

/// A running emulation.
pub(super) struct Pacer {
    border: Border,
    /// The device of the host at each end.
    devices: Vec<Device>,
    options: Options,
    commands: Receiver<Command>,
    /// Readable when there is a command.
    wake: Arc<OwnedFd>,
    /// The model's time zero, on the kernel's clock.
    epoch: Instant,
    /// The time, on the model's clock, by which the world must be advanced again.
    expected: Instant,
    buffer: Vec<u8>,
    stopping: bool,
}

impl Pacer {
    pub(super) fn new(
        world: World,
        ends: Vec<End>,
        options: Options,
        commands: Receiver<Command>,
        wake: Arc<OwnedFd>,
    ) -> Self {
        let (places, devices) = ends.into_iter().map(|end| ((end.node, end.peer), end.device)).unzip();
        let epoch = Instant::from_nanos(clock::now().as_nanos().saturating_sub(world.now().as_nanos()));
        Self {
            epoch,
            expected: world.now() + LONGEST_SLEEP,
            border: Border::new(world, places),
            devices,
            options,
            commands,
            wake,
            buffer: vec![0; LONGEST_FRAME],
            stopping: false,
        }
    }

    /// Runs until the command to stop.
    pub(super) fn run(&mut self) {
        while !self.stopping {
            self.take_packets();
            self.obey();
            self.advance();
            self.hand_out();
            self.wait(self.expected);
        }
    }

    /// The summary so far; `notes` list the requests that the kernel refused.
    pub(super) fn summary(&self, notes: Vec<String>) -> Summary {
        self.border.summary(notes)
    }

    /// The current time of the model.
    fn now(&self) -> Instant {
        now(self.epoch)
    }

    /// Advances the world to the present. If that is overdue by [`STALL`] or more, records a stall:
    /// the world catches up with at most [`CATCH_UP`], which makes packets late, and the rest is
    /// cut out.
    fn advance(&mut self) {
        let mut now = self.now();
        let late = now.since(self.expected);
        if late >= STALL {
            let cut = late.saturating_sub(CATCH_UP);
            self.epoch += cut;
            self.border.measured().stalls.record(clock::now(), late, cut);
            now = self.now();
        }
        self.border.world().advance_to(now);
        let next = self.border.next_event().unwrap_or(Instant::MAX);
        self.expected = next.min(now + LONGEST_SLEEP);
    }

    fn take_packets(&mut self) {
        for index in 0..self.devices.len() {
            for _ in 0..BATCH {
                match self.devices[index].receive(&mut self.buffer) {
                    Ok(Some(received)) => {
                        self.advance();
                        self.border.take(index, received);
                    }
                    // An error means that the device is down or gone; it may come back.
                    Ok(None) | Err(_) => break,
                }
            }
        }
    }

    fn hand_out(&mut self) {
        let Self { border, devices, epoch, .. } = self;
        border.hand_out(|| now(*epoch), |index, packet| devices[index].send(packet).is_ok());
    }

    /// Waits until `until`, a packet or a command: sleeps, or polls the clock if `until` is near.
    fn wait(&mut self, until: Instant) {
        let left = until.since(self.now());
        let sleep = left.saturating_sub(self.options.spin);
        if sleep.is_zero() {
            while self.now() < until {
                if self.poll(Duration::ZERO) {
                    return;
                }
            }
            return;
        }
        self.poll(sleep);
    }

    /// Waits for a packet or a command, for at most `timeout`. Returns whether there is one.
    fn poll(&self, timeout: Duration) -> bool {
        let timeout =
            Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: i64::from(timeout.subsec_nanos()) };
        let wake = PollFd::from_borrowed_fd((*self.wake).as_fd(), PollFlags::IN);
        let ends = self.devices.iter().map(|device| PollFd::from_borrowed_fd(device.as_fd(), PollFlags::IN));
        let mut files: Vec<PollFd<'_>> = std::iter::once(wake).chain(ends).collect();
        match poll(&mut files, Some(&timeout)) {
            Ok(ready) => {
                // A device that is gone is always "ready" and has no packets. Sleep, so that the
                // loop does not spin.
                let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
                if ready > 0
                    && files.iter().all(|file| !file.revents().contains(PollFlags::IN))
                    && files.iter().any(|file| file.revents().intersects(broken))
                {
                    nap(PAUSE);
                }
                ready > 0
            }
            // Signals are handled elsewhere.
            Err(Errno::INTR) => true,
            Err(_) => {
                nap(PAUSE);
                true
            }
        }
    }

    fn obey(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Stop) | Err(TryRecvError::Disconnected) => {
                    self.stopping = true;
                    return;
                }
                Ok(Command::Do(work)) => {
                    self.advance();
                    work(self.border.world());
                }
                Ok(Command::Summarize(answer)) => {
                    self.advance();
                    // The receiver waits for the answer.
                    let _ = answer.send(self.summary(Vec::new()));
                }
                Ok(Command::Sleep(pause)) => nap(pause),
                Err(TryRecvError::Empty) => break,
            }
        }
        let mut count = [0; 8];
        // If the counter is zero, the read fails, which does not matter.
        let _ = rustix::io::read(&*self.wake, &mut count);
    }
}

/// The time of a model whose time zero is this one on the kernel's clock.
fn now(epoch: Instant) -> Instant {
    Instant::from_nanos(clock::now().as_nanos().saturating_sub(epoch.as_nanos()))
}

fn nap(pause: Duration) {
    let pause = Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: i64::from(pause.subsec_nanos()) };
    // A shorter sleep after a signal does no harm.
    let _ = rustix::thread::nanosleep(&pause);
}
