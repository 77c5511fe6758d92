//! One device a port, and waiting for any of them: what both kernel backends share.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};

use super::proof::{Broken, Proof, is_removal};
use super::{LONGEST_WAIT, Port, PortId, Sent, Wake};
use crate::buffer::{Buffers, KEPT_BUFFERS};
use crate::device::FrameDevice;
use crate::frame::Frame;
use lasthop_linux::clock;

/// Frames and octets that one call of `receive` takes from a port at most. A port is read until it is
/// empty or a bound is reached, so that a whole window is in hand at once. Its sender then waits for
/// acknowledgments, nothing arrives meanwhile, and what follows can pass in the kernel.
const BATCH_FRAMES: usize = KEPT_BUFFERS;
const BATCH_OCTETS: usize = 4 << 20;
/// Copies are taken until there are none, or their acknowledgments would come first; so many frames
/// at most, or one turn of the loop would outlast the heartbeat.
const BATCH_COPIES: usize = 1024;

/// More than fits in the devices' queues.
const DRAINED_BATCHES: usize = 1000;

/// The ports' devices.
#[derive(Debug)]
pub(super) struct Devices {
    ports: Vec<Port>,
    /// By port.
    taps: Vec<Tap>,
    buffers: Buffers,
    /// What came from ports that are not for copies, and is handed in behind them.
    behind: Vec<(PortId, Frame)>,
    wake: Arc<OwnedFd>,
    /// When the devices were last tried.
    tried: Option<Instant>,
}

/// The TUN or TAP device of a port.
#[derive(Debug)]
struct Tap {
    device: FrameDevice,
    /// Whether it may have something, as far as we know.
    readable: bool,
    /// Whether there is anything to wait for: not in a device that was removed.
    is_there: bool,
    proof: Proof,
}

impl From<FrameDevice> for Tap {
    fn from(device: FrameDevice) -> Self {
        Self { device, readable: true, is_there: true, proof: Proof::default() }
    }
}

impl Devices {
    /// These ports with the device of each.
    pub(super) fn new(ports: Vec<Port>, devices: Vec<FrameDevice>) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            ports,
            taps: devices.into_iter().map(Tap::from).collect(),
            buffers: Buffers::new(),
            behind: Vec::new(),
            wake: Arc::new(wake),
            tried: None,
        })
    }

    /// Gives a port another device.
    pub(super) fn replace(&mut self, port: usize, device: FrameDevice) {
        self.taps[port] = device.into();
    }

    /// A port's device.
    pub(super) fn device(&self, port: usize) -> &FrameDevice {
        &self.taps[port].device
    }

    /// Has a proof sent by each device, if it is time, as soon as the device has been read until it was
    /// empty.
    pub(super) fn try_all(&mut self, now: Instant) {
        if self.tried.is_none_or(|tried| now.since(tried) >= LONGEST_WAIT) {
            self.tried = Some(now);
            for tap in self.taps.iter_mut().filter(|tap| tap.is_there) {
                tap.proof.fall_due();
                tap.readable = true;
            }
        }
    }

    /// The ports whose devices are broken, as far as proofs tell.
    pub(super) fn broken(&self) -> impl Iterator<Item = (usize, Broken)> {
        self.taps.iter().enumerate().filter_map(|(port, tap)| Some((port, tap.proof.broken()?)))
    }

    /// Of these ports, those whose devices are to be mended.
    pub(super) fn to_be_mended(&self) -> impl Iterator<Item = (usize, Broken)> {
        self.broken().filter(|(port, _)| self.taps[*port].proof.is_lasting())
    }

    pub(super) fn ports(&self) -> &[Port] {
        &self.ports
    }

    pub(super) fn waker(&self) -> Wake {
        let wake = Arc::clone(&self.wake);
        Box::new(move || {
            // A counter that is full ends the wait as well.
            let _ = write(&wake, &1_u64.to_ne_bytes());
        })
    }

    pub(super) fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        // Also where one has more than we read at a time: the others would wait as long as it has.
        if self.taps.iter().any(|tap| tap.is_there && !tap.readable) {
            self.look(Duration::ZERO, None)?;
        }
        // A copy is there before what it is a copy of goes on. So it is there when the
        // acknowledgment is, if it is looked for later.
        let mut behind = std::mem::take(&mut self.behind);
        for index in 0..self.ports.len() {
            if self.ports[index].copies_of.is_none() {
                self.receive_from(index, (BATCH_FRAMES, BATCH_OCTETS), &mut behind)?;
            }
        }
        for index in 0..self.ports.len() {
            if self.ports[index].copies_of.is_some() {
                self.taps[index].readable |= !behind.is_empty();
                self.receive_from(index, (BATCH_COPIES, usize::MAX), frames)?;
            }
        }
        frames.append(&mut behind);
        self.behind = behind;
        Ok(())
    }

    /// Takes what is there from one port, within bounds in frames and octets.
    fn receive_from(
        &mut self,
        index: usize,
        (most_frames, most_octets): (usize, usize),
        frames: &mut Vec<(PortId, Frame)>,
    ) -> io::Result<()> {
        let mut octets = 0;
        let tap = &mut self.taps[index];
        for _ in 0..most_frames {
            if !tap.readable || octets >= most_octets {
                break;
            }
            match tap.device.read(&mut self.buffers) {
                Ok(Some(frame)) if tap.proof.is_answer(&frame.octets) => {}
                Ok(Some(frame)) => {
                    octets += frame.octets.len();
                    frames.push((PortId(index as u16), frame));
                }
                Ok(None) => {
                    tap.readable = false;
                    tap.proof.on_empty(&tap.device);
                }
                Err(error) if is_removal(&error) => {
                    (tap.readable, tap.is_there) = (false, false);
                    tap.proof.on_removal();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(super) fn send(&self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        match self.taps.get(usize::from(port.0)) {
            Some(tap) => tap.device.write(frame),
            None => Ok(Sent::Lost),
        }
    }

    /// Waits for a frame, a call, or for `beside` to be readable; whether that is.
    pub(super) fn wait(
        &mut self,
        until: Option<Instant>,
        beside: Option<BorrowedFd<'_>>,
    ) -> io::Result<bool> {
        if self.is_any_readable() {
            // Something was left over. Look only whether somebody calls, and what came elsewhere.
            return self.look(Duration::ZERO, beside);
        }
        let longest = until.map_or(LONGEST_WAIT, |until| until.since(clock::now()).min(LONGEST_WAIT));
        self.look(longest, beside)
    }

    fn is_any_readable(&self) -> bool {
        self.taps.iter().any(|tap| tap.readable)
    }

    /// Sends on what is here already, for an end in good order.
    pub(super) fn drain(&mut self) {
        if let Err(error) = self.send_all_on() {
            tracing::warn!(%error, "frames in transit were lost");
        }
    }

    fn send_all_on(&mut self) -> io::Result<()> {
        let mut frames = Vec::new();
        for _ in 0..DRAINED_BATCHES {
            self.receive(&mut frames)?;
            if frames.is_empty() {
                break;
            }
            for (port, frame) in frames.drain(..) {
                let (Sent::Whole | Sent::Lost) = self.send(port, &frame)?;
            }
        }
        Ok(())
    }

    /// Waits so long for anything to be there; whether `beside` is readable.
    fn look(&mut self, longest: Duration, beside: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let timeout =
            Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        // One that was removed is in error for ever, and would call at once.
        let there = self.taps.iter().filter(|tap| tap.is_there).map(|tap| tap.device.as_fd());
        let ports = there.clone().count();
        let files = there.chain([self.wake.as_fd()]).chain(beside);
        let mut polled: Vec<PollFd<'_>> =
            files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let revents: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        for (tap, revents) in self.taps.iter_mut().filter(|tap| tap.is_there).zip(&revents) {
            // An error is found by reading, too.
            tap.readable |= !revents.is_empty();
        }
        let has_come = |at: usize| revents.get(at).is_some_and(|revents| !revents.is_empty());
        let (is_called, is_beside) = (has_come(ports), has_come(ports + 1));
        if is_called {
            clear(self.wake.as_fd());
        }
        Ok(is_beside)
    }
}

fn clear(wake: BorrowedFd<'_>) {
    let mut count = [0; 8];
    // Nothing to read means that it is clear.
    let _ = read(wake, &mut count);
}
