//! The part that both kernel backends share: one device per port, and waiting for any of them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use lasthop_agent::Fate;
use lasthop_packet::{Instant, Packet};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};

use super::proof::{Broken, Proof, is_removal};
use super::{LONGEST_WAIT, Port, PortId, Sent, Wake};
use crate::buffer::{Buffers, KEPT_BUFFERS};
use crate::device::FrameDevice;
use crate::device::tx_status::TxStatusPath;
use crate::frame::Frame;
use lasthop_linux::clock;

/// The maximum number of frames and octets that one call of `receive` takes from a port. A port is
/// read until it is empty or a bound is reached, so that a complete window is received at once. Its
/// sender then waits for acknowledgments, no data arrive meanwhile, and the following data can
/// bypass the engine.
const BATCH_FRAMES: usize = KEPT_BUFFERS;
const BATCH_OCTETS: usize = 4 << 20;
/// The maximum number of copies. They are read until there are none, because otherwise their
/// acknowledgments would be processed first; the bound prevents a turn of the loop from outlasting
/// the heartbeat.
const BATCH_COPIES: usize = 1024;

/// The maximum number of batches in a drain: more than fit in the devices' queues.
const DRAINED_BATCHES: usize = 1000;

/// The ports' devices.
#[derive(Debug)]
pub(super) struct Devices {
    ports: Vec<Port>,
    /// The devices, indexed by port.
    taps: Vec<Tap>,
    buffers: Buffers,
    /// The frames of ports that are not for copies; they are delivered after the copies.
    originals: Vec<(PortId, Frame)>,
    wake: Arc<OwnedFd>,
    /// When proofs were last due.
    proofs_due: Option<Instant>,
}

/// The TUN or TAP device of a port.
#[derive(Debug)]
struct Tap {
    device: FrameDevice,
    /// Whether the device may have a frame.
    readable: bool,
    /// Whether the device exists; a removed device must not be polled.
    is_there: bool,
    proof: Proof,
    /// The path of frames that are sent, if a driver reports their TX status.
    tx_status: Option<Reporting>,
}

/// A path to a driver that reports the TX status of frames.
#[derive(Debug)]
struct Reporting {
    path: TxStatusPath,
    /// Whether it may have reports.
    readable: bool,
}

impl From<FrameDevice> for Tap {
    fn from(device: FrameDevice) -> Self {
        Self { device, readable: true, is_there: true, proof: Proof::default(), tx_status: None }
    }
}

impl Devices {
    /// Creates the devices of these ports.
    pub(super) fn new(ports: Vec<Port>, devices: Vec<FrameDevice>) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            ports,
            taps: devices.into_iter().map(Tap::from).collect(),
            buffers: Buffers::new(),
            originals: Vec::new(),
            wake: Arc::new(wake),
            proofs_due: None,
        })
    }

    /// Replaces a port's device.
    pub(super) fn replace(&mut self, port: usize, device: FrameDevice) {
        let tx_status = self.taps[port].tx_status.take();
        self.taps[port] = Tap { tx_status, ..device.into() };
    }

    /// From now on frames that are sent through a port take this path, whose driver reports their fates.
    pub(super) fn report_fates(&mut self, port: usize, path: TxStatusPath) {
        self.taps[port].tx_status = Some(Reporting { path, readable: true });
    }

    /// Frames whose fates drivers were asked for.
    pub(super) fn asked_for(&self) -> u64 {
        self.taps.iter().filter_map(|tap| tap.tx_status.as_ref()).map(|reporting| reporting.path.sent()).sum()
    }

    /// Calls `take` with the packet and the fate of each frame that was reported since the last call.
    pub(super) fn fates(&mut self, take: &mut dyn FnMut(&Packet, Fate)) {
        for reporting in self.taps.iter_mut().filter_map(|tap| tap.tx_status.as_mut()) {
            if !reporting.readable {
                continue;
            }
            reporting.readable = reporting.path.take_reports(take).unwrap_or_else(|error| {
                tracing::debug!(%error, "cannot read the TX status of frames");
                false
            });
        }
    }

    /// A port's device.
    pub(super) fn device(&self, port: usize) -> &FrameDevice {
        &self.taps[port].device
    }

    /// Schedules a proof for each device, if it is time. It is sent once the device has been read
    /// until empty.
    pub(super) fn schedule_proofs(&mut self, now: Instant) {
        if self.proofs_due.is_none_or(|due| now.since(due) >= LONGEST_WAIT) {
            self.proofs_due = Some(now);
            for tap in self.taps.iter_mut().filter(|tap| tap.is_there) {
                tap.proof.fall_due();
                tap.readable = true;
            }
        }
    }

    /// The ports whose devices are broken according to their proofs.
    pub(super) fn broken(&self) -> impl Iterator<Item = (usize, Broken)> {
        self.taps.iter().enumerate().filter_map(|(port, tap)| Some((port, tap.proof.broken()?)))
    }

    /// The ports among these whose devices are to be mended.
    pub(super) fn to_be_mended(&self) -> impl Iterator<Item = (usize, Broken)> {
        self.broken().filter(|(port, _)| self.taps[*port].proof.is_lasting())
    }

    pub(super) fn ports(&self) -> &[Port] {
        &self.ports
    }

    pub(super) fn waker(&self) -> Wake {
        let wake = Arc::clone(&self.wake);
        Box::new(move || {
            // If the counter is full, the write fails, but the wait ends as well.
            let _ = write(&wake, &1_u64.to_ne_bytes());
        })
    }

    pub(super) fn receive(&mut self, frames: &mut Vec<(PortId, Frame)>) -> io::Result<()> {
        // Poll also if a device has more frames than one batch: otherwise the other devices would
        // wait until it is empty.
        if self.taps.iter().any(|tap| tap.is_there && !tap.readable) {
            self.poll(Duration::ZERO, None)?;
        }
        // The kernel delivers a copy before it forwards the original. If the copies are read last,
        // those of all acknowledged data are therefore available.
        let mut originals = std::mem::take(&mut self.originals);
        for index in 0..self.ports.len() {
            if self.ports[index].copies_of.is_none() {
                self.receive_from(index, (BATCH_FRAMES, BATCH_OCTETS), &mut originals)?;
            }
        }
        for index in 0..self.ports.len() {
            if self.ports[index].copies_of.is_some() {
                self.taps[index].readable |= !originals.is_empty();
                self.receive_from(index, (BATCH_COPIES, usize::MAX), frames)?;
            }
        }
        frames.append(&mut originals);
        self.originals = originals;
        Ok(())
    }

    /// Reads the available frames of a port, within bounds in frames and octets.
    fn receive_from(
        &mut self,
        index: usize,
        (max_frames, max_octets): (usize, usize),
        frames: &mut Vec<(PortId, Frame)>,
    ) -> io::Result<()> {
        let mut octets = 0;
        let tap = &mut self.taps[index];
        for _ in 0..max_frames {
            if !tap.readable || octets >= max_octets {
                break;
            }
            match tap.device.read(&mut self.buffers) {
                Ok(Some(frame)) if tap.proof.is_answer(&frame.octets) => {}
                Ok(Some(frame)) => {
                    octets += frame.octets.len();
                    let port = PortId(index as u16);
                    // Agents are to see what the driver will report.
                    match tap.tx_status.as_ref().and_then(|_| frame.segments(true)) {
                        Some(segments) => frames.extend(segments.map(|segment| (port, segment))),
                        None => frames.push((port, frame)),
                    }
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
        let Some(tap) = self.taps.get(usize::from(port.0)) else { return Ok(Sent::Lost) };
        match &tap.tx_status {
            Some(reporting) => reporting.path.send(frame),
            None => tap.device.write(frame),
        }
    }

    /// Waits for a frame, a wake-up, or for `other` to become readable. Returns whether `other` is.
    pub(super) fn wait(&mut self, until: Option<Instant>, other: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        if self.is_any_readable() {
            // Frames remain from the previous batch: check the other sources without waiting.
            return self.poll(Duration::ZERO, other);
        }
        let longest = until.map_or(LONGEST_WAIT, |until| until.since(clock::now()).min(LONGEST_WAIT));
        self.poll(longest, other)
    }

    fn is_any_readable(&self) -> bool {
        self.taps.iter().any(|tap| tap.readable)
    }

    /// Forwards the frames already received, before an orderly end.
    pub(super) fn drain(&mut self) {
        if let Err(error) = self.forward_all() {
            tracing::warn!(%error, "frames in transit were lost");
        }
    }

    fn forward_all(&mut self) -> io::Result<()> {
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

    /// Waits at most `longest` for any source to become readable. Returns whether `other` is.
    fn poll(&mut self, longest: Duration, other: Option<BorrowedFd<'_>>) -> io::Result<bool> {
        let timeout =
            Timespec { tv_sec: longest.as_secs().cast_signed(), tv_nsec: longest.subsec_nanos().into() };
        // A removed device reports an error permanently, and would end each wait at once.
        let there = self.taps.iter().filter(|tap| tap.is_there).map(|tap| tap.device.as_fd());
        let ports = there.clone().count();
        let other_count = usize::from(other.is_some());
        let reporting = self.taps.iter().filter_map(|tap| tap.tx_status.as_ref());
        let files = there.chain([self.wake.as_fd()]).chain(other).chain(reporting.map(|it| it.path.as_fd()));
        let mut polled: Vec<PollFd<'_>> =
            files.map(|file| PollFd::from_borrowed_fd(file, PollFlags::IN)).collect();
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let revents: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        for (tap, revents) in self.taps.iter_mut().filter(|tap| tap.is_there).zip(&revents) {
            // Reading also reports errors.
            tap.readable |= !revents.is_empty();
        }
        let is_ready = |at: usize| revents.get(at).is_some_and(|revents| !revents.is_empty());
        let (is_woken, is_other_ready) = (is_ready(ports), other_count > 0 && is_ready(ports + 1));
        let reporting = self.taps.iter_mut().filter_map(|tap| tap.tx_status.as_mut());
        for (reporting, at) in reporting.zip(ports + 1 + other_count..) {
            // An error queue is always polled for.
            reporting.readable |= is_ready(at);
        }
        if is_woken {
            clear(self.wake.as_fd());
        }
        Ok(is_other_ready)
    }
}

fn clear(wake: BorrowedFd<'_>) {
    let mut count = [0; 8];
    // The read fails if the counter is already zero.
    let _ = read(wake, &mut count);
}
