//! The loop: packets in, the world up to now, packets out, and to sleep until the next event.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::Duration;

use lasthop_packet::{Instant, wire};
use lasthop_sim::World;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::device::{LONGEST_FRAME, Received};
use super::end::End;
use super::measurements::Measurements;
use super::summary::Summary;
use lasthop_linux::clock;

/// Packets taken from an end before the world moves on: a burst at one end must not make the
/// other's packets late.
const BATCH: usize = 8;
/// The longest sleep, so that a stall is noticed even while nothing is to be done.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// The world moving on this late is a stall.
const STALL: Duration = Duration::from_millis(10);
/// The most that is caught up with. What a stall takes beyond that is cut out of the model's time:
/// its packets would else come out as one burst, and its simulated stations would keep the
/// processor busy and make the next packets late, too.
const CATCH_UP: Duration = Duration::from_millis(100);

/// What a run can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Ask for real-time scheduling and locked memory. Where they are refused the run goes on
    /// without, and its summary says so.
    pub real_time: bool,
    /// Watch the clock, instead of sleeping, when the next event is nearer than this: less late, at
    /// the price of a processor. Zero for never; 60 us is what a sleep can be late by.
    pub spin: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { real_time: true, spin: Duration::ZERO }
    }
}

/// What the loop can be told while it runs.
pub(super) enum Command {
    /// To end.
    Stop,
    /// To do something with the world, between events.
    Do(Box<dyn FnOnce(&mut World) + Send>),
    /// To say what it has done so far.
    Summarize(Sender<Summary>),
    /// To do nothing for a time, as a machine without processor time to spare would have it.
    Sleep(Duration),
}

/// An emulation at work.
pub(super) struct Pacer {
    world: World,
    /// The time in the model at the start.
    start: Instant,
    ends: Vec<End>,
    options: Options,
    commands: Receiver<Command>,
    /// Readable when there is a command.
    wake: Arc<OwnedFd>,
    /// The model's time zero, on the kernel's clock.
    epoch: Instant,
    /// By when the world is to be brought up to date again.
    expected: Instant,
    measured: Measurements,
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
        let epoch = Instant::from_nanos(clock::now().as_nanos().saturating_sub(world.now().as_nanos()));
        Self {
            epoch,
            expected: world.now() + LONGEST_SLEEP,
            start: world.now(),
            world,
            measured: Measurements::new(ends.iter().map(|end| end.node)),
            ends,
            options,
            commands,
            wake,
            buffer: vec![0; LONGEST_FRAME],
            stopping: false,
        }
    }

    /// Runs until it is told to stop.
    pub(super) fn run(&mut self) {
        while !self.stopping {
            self.take_packets();
            self.obey();
            self.advance();
            self.hand_out();
            self.wait(self.expected);
        }
    }

    /// What the run has done so far; `notes` say what the kernel did not grant.
    pub(super) fn summary(&self, notes: Vec<String>) -> Summary {
        Summary::new(&self.world, self.start, &self.measured, notes)
    }

    /// The time in the model.
    fn now(&self) -> Instant {
        Instant::from_nanos(clock::now().as_nanos().saturating_sub(self.epoch.as_nanos()))
    }

    /// Brings the world up to now. Where that should have been done long ago, it notes a stall: a
    /// part of it is caught up with, which makes packets late; the rest is cut out.
    fn advance(&mut self) {
        let mut now = self.now();
        let late = now.since(self.expected);
        if late >= STALL {
            let cut = late.saturating_sub(CATCH_UP);
            self.epoch += cut;
            self.measured.stalls.note(clock::now(), late, cut);
            now = self.now();
        }
        self.world.advance_to(now);
        let next = self.world.next_event_at().unwrap_or(Instant::MAX);
        self.expected = next.min(now + LONGEST_SLEEP);
    }

    fn take_packets(&mut self) {
        for index in 0..self.ends.len() {
            for _ in 0..BATCH {
                match self.ends[index].device.receive(&mut self.buffer) {
                    Ok(Some(Received::Packet(octets))) => self.take_packet(index, octets),
                    Ok(Some(Received::NotIp)) => self.measured.packets.not_ip += 1,
                    // Errors are those of a device that is down or gone: it may come back.
                    Ok(None) | Err(_) => break,
                }
            }
        }
    }

    fn take_packet(&mut self, end: usize, octets: bytes::Bytes) {
        let Ok(packet) = wire::parse(octets) else {
            self.measured.packets.malformed += 1;
            return;
        };
        self.measured.packets.taken += 1;
        self.advance();
        let End { node, peer, .. } = self.ends[end];
        self.world.inject_to(node, peer, packet);
    }

    fn hand_out(&mut self) {
        for index in 0..self.ends.len() {
            for (at, packet) in self.world.collect(self.ends[index].node) {
                let late = self.now().since(at);
                let octets = wire::emit(&packet);
                match self.ends[index].device.send(&octets) {
                    Ok(()) => {
                        self.measured.lateness.record(late);
                        let delivered = &mut self.measured.delivered[index];
                        delivered.packets += 1;
                        delivered.octets += octets.len() as u64;
                    }
                    Err(_) => self.measured.packets.refused += 1,
                }
            }
        }
    }

    /// Sleeps until `until`, a packet or a command; or watches the clock if that is near.
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

    /// Whether there is a packet or a command, at the latest after `timeout`.
    fn poll(&self, timeout: Duration) -> bool {
        let timeout =
            Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: i64::from(timeout.subsec_nanos()) };
        let wake = PollFd::from_borrowed_fd((*self.wake).as_fd(), PollFlags::IN);
        let ends = self.ends.iter().map(|end| PollFd::from_borrowed_fd(end.device.as_fd(), PollFlags::IN));
        let mut files: Vec<PollFd<'_>> = std::iter::once(wake).chain(ends).collect();
        match poll(&mut files, Some(&timeout)) {
            Ok(ready) => {
                // A device that is gone is always "ready" and has nothing: sleeping beats a loop
                // that spins on it.
                let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
                if ready > 0
                    && files.iter().all(|file| !file.revents().contains(PollFlags::IN))
                    && files.iter().any(|file| file.revents().intersects(broken))
                {
                    rest();
                }
                ready > 0
            }
            // A signal is for somebody else.
            Err(Errno::INTR) => true,
            Err(_) => {
                rest();
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
                    work(&mut self.world);
                }
                Ok(Command::Summarize(answer)) => {
                    self.advance();
                    // Whoever asked is waiting for it.
                    let _ = answer.send(self.summary(Vec::new()));
                }
                Ok(Command::Sleep(pause)) => nap(pause),
                Err(TryRecvError::Empty) => break,
            }
        }
        let mut count = [0; 8];
        // Nothing to read means nothing to do.
        let _ = rustix::io::read(&*self.wake, &mut count);
    }
}

fn rest() {
    nap(Duration::from_millis(1));
}

fn nap(pause: Duration) {
    let pause = Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: i64::from(pause.subsec_nanos()) };
    // A signal that cuts it short does no harm.
    let _ = rustix::thread::nanosleep(&pause);
}
