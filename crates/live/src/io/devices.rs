//! One device a port, and waiting for any of them: what both kernel backends share.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use lasthop_packet::Instant;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};

use super::{LONGEST_WAIT, Port, PortId, Sent, Wake};
use crate::buffer::{Buffers, KEPT_BUFFERS};
use crate::clock;
use crate::device::{Device, Interface};
use crate::frame::Frame;

/// Frames and octets that one call of `receive` takes from a port at most. A port is read until it is
/// empty or a bound is reached, so that a whole window is in hand at once. Its sender then waits for
/// acknowledgments, nothing arrives meanwhile, and what follows can pass in the kernel.
const BATCH_FRAMES: usize = KEPT_BUFFERS;
const BATCH_OCTETS: usize = 4 << 20;
/// Copies are taken until there are none, or their acknowledgments would come first; so many frames
/// at most, or one turn of the loop would outlast the heartbeat.
const BATCH_COPIES: usize = 1024;

/// How often it is looked whether the ports are still there.
const ROUND: Duration = Duration::from_secs(1);

/// More than fits in the devices' queues.
const DRAINED_BATCHES: usize = 1000;

/// The ports' devices.
#[derive(Debug)]
pub(super) struct Devices {
    ports: Vec<Port>,
    /// TUN or TAP, by port.
    taps: Vec<Device>,
    /// Which devices may have something, as far as we know.
    readable: Vec<bool>,
    buffers: Buffers,
    /// What came from ports that are not for copies, and is handed in behind them.
    behind: Vec<(PortId, Frame)>,
    wake: Arc<OwnedFd>,
    /// The number of each port's interface, and when it was last looked whether it is still there.
    interfaces: Vec<u32>,
    last_round: Instant,
}

impl Devices {
    /// These ports with the device of each.
    pub(super) fn new(ports: Vec<Port>, taps: Vec<Device>) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let readable = vec![true; taps.len()];
        let wake = Arc::new(wake);
        let interfaces = ports.iter().map(|port| Ok(Interface::named(&port.name)?.index()));
        let interfaces = interfaces.collect::<io::Result<_>>()?;
        let last_round = clock::now();
        Ok(Self {
            ports,
            taps,
            readable,
            buffers: Buffers::new(),
            behind: Vec::new(),
            wake,
            interfaces,
            last_round,
        })
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
        if !self.readable.contains(&true) {
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
                self.readable[index] |= !behind.is_empty();
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
        for _ in 0..most_frames {
            if !self.readable[index] || octets >= most_octets {
                break;
            }
            match self.taps[index].read(&mut self.buffers)? {
                Some(frame) => {
                    octets += frame.octets.len();
                    frames.push((PortId(index as u16), frame));
                }
                None => self.readable[index] = false,
            }
        }
        Ok(())
    }

    pub(super) fn send(&self, port: PortId, frame: &Frame) -> io::Result<Sent> {
        match self.taps.get(usize::from(port.0)) {
            Some(device) => device.write(frame),
            None => Ok(Sent::Lost),
        }
    }

    /// Waits for a frame, a call, or for `beside` to be readable; whether that is.
    pub(super) fn wait(
        &mut self,
        until: Option<Instant>,
        beside: Option<BorrowedFd<'_>>,
    ) -> io::Result<bool> {
        let now = clock::now();
        if now.since(self.last_round) >= ROUND {
            self.last_round = now;
            self.look_after_ports()?;
        }
        if self.readable.contains(&true) {
            // Something was left over. Look only whether somebody calls, and what came elsewhere.
            return self.look(Duration::ZERO, beside);
        }
        let longest = until.map_or(LONGEST_WAIT, |until| until.since(clock::now()).min(LONGEST_WAIT));
        self.look(longest, beside)
    }

    /// Fails if a port's interface has vanished. One that came back under the same name is another
    /// one: nothing is attached to it.
    fn look_after_ports(&self) -> io::Result<()> {
        for (port, index) in self.ports.iter().zip(&self.interfaces) {
            if Interface::named(&port.name).map(|interface| interface.index()).ok() != Some(*index) {
                let message = format!("the interface {} has disappeared", port.name);
                return Err(io::Error::new(io::ErrorKind::NotFound, message));
            }
        }
        Ok(())
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
        let ports = self.taps.len();
        let timeout =
            Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        let files = self.taps.iter().map(AsFd::as_fd).chain([self.wake.as_fd()]).chain(beside);
        let mut polled: Vec<PollFd<'_>> =
            files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for (readable, polled) in self.readable.iter_mut().zip(&polled) {
            // An error is found by reading, too.
            *readable |= !polled.revents().is_empty();
        }
        let is_called = polled.get(ports).is_some_and(|wake| !wake.revents().is_empty());
        let is_beside = polled.get(ports + 1).is_some_and(|beside| !beside.revents().is_empty());
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
