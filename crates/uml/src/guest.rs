//! A guest and its connections: one message after the other.
//!
//! A guest's kernel has one processor, and waits for the answer to each message, so that at most one
//! of its sockets has something at any time. If a guest does otherwise, its sockets are looked at in a
//! fixed order.

mod channel;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use channel::Channel;

use crate::error::Fault;
use crate::kernel::{Kernel, MAX_DEVICES};
use crate::machine::{Machine, StartError};
use crate::socket::Stream;
use crate::time::{self, Turn};
use crate::vhost::{self, Device};

/// A guest.
#[derive(Debug)]
pub struct Guest {
    machine: Machine,
    time: Channel,
    devices: Vec<Port>,
    turn: Turn,
    /// The device whose answer to an interrupt is awaited.
    interrupted: Option<usize>,
    has_ended: bool,
}

/// A device with its sockets.
#[derive(Debug)]
struct Port {
    device: Device,
    requests: Channel,
    /// Where interrupts go.
    interrupts: Option<Stream>,
}

/// What a guest does next.
#[derive(Debug)]
pub enum Input {
    /// A message on the time socket.
    Time(time::Message),
    /// A request of a device's driver.
    Request {
        /// The device's number.
        device: usize,
        /// The request.
        message: vhost::Message,
        /// The descriptors that came with it.
        files: Vec<OwnedFd>,
    },
    /// It has taken the interrupt.
    Interrupted,
    /// It has ended with success.
    Ended,
}

/// The descriptors that are waited for: time, devices, the interrupted one, the process.
const MAX_WAITS: usize = MAX_DEVICES + 3;

/// Octets of the answer to an interrupt.
const ANSWER: usize = vhost::HEADER + 8;

/// Real time that a process may take to end after it has closed its time socket.
const TO_END: Duration = Duration::from_secs(2);

impl Guest {
    /// Starts a kernel, on that processor if there is one.
    pub fn start(kernel: Kernel, time_of_day: u64, processor: Option<usize>) -> Result<Self, StartError> {
        let (machine, listeners) = Machine::start(&kernel)?;
        if let Some(processor) = processor {
            machine.stay_on(processor)?;
        }
        let memory = kernel.octets();
        let port = |(kind, listener)| Port {
            device: Device::new(kind, memory),
            requests: Channel::Awaited(listener),
            interrupts: None,
        };
        Ok(Self {
            machine,
            time: Channel::Awaited(listeners.time),
            devices: kernel.devices.into_iter().zip(listeners.devices).map(port).collect(),
            turn: Turn::new(time_of_day),
            interrupted: None,
            has_ended: false,
        })
    }

    /// Whether it has shut down.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// It has shut down: what is left of its processes is killed.
    pub fn end(&mut self) {
        self.machine.kill();
        self.has_ended = true;
    }

    /// Whose turn it is.
    pub const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Whose turn it is, to be changed.
    pub const fn turn_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }

    /// Its process.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its process, to be asked for its end.
    pub const fn machine_mut(&mut self) -> &mut Machine {
        &mut self.machine
    }

    /// The number of its devices.
    pub const fn devices(&self) -> usize {
        self.devices.len()
    }

    /// A device; there are as many as its kernel was given.
    pub fn device(&self, device: usize) -> &Device {
        &self.devices[device].device
    }

    /// A device, to be used.
    pub fn device_mut(&mut self, device: usize) -> &mut Device {
        &mut self.devices[device].device
    }

    /// The next message, or the guest's end; `None` if nothing comes in for `patience` of real time.
    pub fn next(&mut self, patience: Duration) -> Result<Option<Input>, Fault> {
        loop {
            if let Some(input) = self.take()? {
                return Ok(Some(input));
            }
            match self.wait(patience)? {
                Waited::Something => {}
                Waited::InVain => return Ok(None),
                Waited::Ended(status) if status.success() => return Ok(Some(Input::Ended)),
                Waited::Ended(status) => return Err(Fault::Died(status)),
            }
        }
    }

    /// A message that has come in whole.
    fn take(&mut self) -> Result<Option<Input>, Fault> {
        if let Channel::Open(stream) = &mut self.time
            && let Some(octets) = stream.octets().first_chunk()
        {
            let message = time::Message::parse(*octets)?;
            stream.take(time::LENGTH);
            return Ok(Some(Input::Time(message)));
        }
        for (device, port) in self.devices.iter_mut().enumerate() {
            let Channel::Open(stream) = &mut port.requests else { continue };
            let parsed = vhost::Message::parse(stream.octets());
            let Some(message) = parsed.map_err(|cause| Fault::Message { device, cause })? else { continue };
            stream.take(message.length);
            let expected = message.request.descriptors();
            let files = stream.take_files(expected).ok_or(Fault::Descriptors { device, expected })?;
            if stream.octets().is_empty() && stream.has_files() {
                return Err(Fault::Descriptors { device, expected });
            }
            return Ok(Some(Input::Request { device, message, files }));
        }
        if let Some(device) = self.interrupted
            && let Some(stream) = &mut self.devices[device].interrupts
            && stream.octets().len() >= ANSWER
        {
            let is_taken = stream.octets()[vhost::HEADER..ANSWER] == [0; 8];
            stream.take(ANSWER);
            self.interrupted = None;
            return if is_taken { Ok(Some(Input::Interrupted)) } else { Err(Fault::Interrupt(device)) };
        }
        Ok(None)
    }

    /// Waits until something has come in, and reads it.
    fn wait(&mut self, patience: Duration) -> Result<Waited, Fault> {
        let Some(first) = self.poll(patience)? else { return Ok(Waited::InVain) };
        match first {
            Ready::Time => {
                if self.time.proceed(time::LENGTH)? {
                    // A kernel that ends closes its sockets first.
                    return self.machine.status(TO_END)?.map(Waited::Ended).ok_or(Fault::Closed);
                }
            }
            Ready::Device(device) => {
                let requests = &mut self.devices[device].requests;
                if requests.proceed(vhost::LONGEST)? {
                    // The driver has gone, as when a guest shuts down.
                    *requests = Channel::Closed;
                }
            }
            Ready::Interrupt(device) => {
                if let Some(stream) = &mut self.devices[device].interrupts
                    && stream.receive()?
                {
                    self.devices[device].interrupts = None;
                }
            }
            Ready::End => {
                let status = self.machine.status(Duration::ZERO)?;
                return Ok(status.map_or(Waited::Something, Waited::Ended));
            }
        }
        Ok(Waited::Something)
    }

    fn poll(&self, patience: Duration) -> io::Result<Option<Ready>> {
        let end = self.machine.end();
        let waits = self.waits();
        let mut polled: [PollFd<'_>; MAX_WAITS] = std::array::from_fn(|index| {
            let file = waits.get(index).copied().flatten().map_or(end, |(file, _)| file);
            PollFd::from_borrowed_fd(file, PollFlags::IN)
        });
        let number = waits.iter().flatten().count();
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        loop {
            match poll(&mut polled[..number], Some(&timeout)) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        let is_ready = |(wait, polled): (&Option<(_, Ready)>, &PollFd<'_>)| {
            wait.map(|(_, ready)| ready).filter(|_| !polled.revents().is_empty())
        };
        Ok(waits.iter().zip(&polled).find_map(is_ready))
    }

    /// What to wait for, without gaps.
    fn waits(&self) -> [Option<(BorrowedFd<'_>, Ready)>; MAX_WAITS] {
        let mut waits = [None; MAX_WAITS];
        let time = self.time.file().map(|file| (file, Ready::Time));
        let devices = self
            .devices
            .iter()
            .enumerate()
            .filter_map(|(device, port)| Some((port.requests.file()?, Ready::Device(device))));
        let interrupt = self.interrupted.and_then(|device| {
            Some((self.devices[device].interrupts.as_ref()?.as_fd(), Ready::Interrupt(device)))
        });
        let end = [(self.machine.end(), Ready::End)];
        let all = time.into_iter().chain(devices).chain(interrupt).chain(end);
        for (slot, wait) in waits.iter_mut().zip(all) {
            *slot = Some(wait);
        }
        waits
    }

    /// Sends a message on the time socket.
    pub fn send(&self, message: time::Message) -> Result<(), Fault> {
        Ok(self.time.stream()?.send(&message.emit())?)
    }

    /// Answers START with the file of the shared schedule, and with one for a log.
    pub fn send_schedule(&self, message: time::Message, schedule: BorrowedFd<'_>) -> Result<(), Fault> {
        let log = self.machine.console()?;
        Ok(self.time.stream()?.send_with(&message.emit(), &[schedule, log.as_fd()])?)
    }

    /// Sends a reply to a device's driver.
    pub fn reply(&self, device: usize, reply: &[u8]) -> Result<(), Fault> {
        Ok(self.devices[device].requests.stream()?.send(reply)?)
    }

    /// Sets where a device's interrupts go.
    pub fn set_interrupts(&mut self, device: usize, socket: OwnedFd) {
        self.devices[device].interrupts = Some(Stream::new(socket, ANSWER));
    }

    /// Interrupts the guest, which waits. Its answer comes as [`Input::Interrupted`]. Returns false if the driver has
    /// not said where interrupts go.
    pub fn interrupt(&mut self, device: usize, queue: u16) -> Result<bool, Fault> {
        let Some(stream) = &self.devices[device].interrupts else { return Ok(false) };
        stream.send(&vhost::call(queue))?;
        self.interrupted = Some(device);
        Ok(true)
    }
}

/// What waiting has led to.
#[derive(Clone, Copy, Debug)]
enum Waited {
    /// Something has come in.
    Something,
    /// Nothing has.
    InVain,
    /// The process has ended.
    Ended(ExitStatus),
}

/// What has something.
#[derive(Clone, Copy, Debug)]
enum Ready {
    Time,
    Device(usize),
    Interrupt(usize),
    End,
}
