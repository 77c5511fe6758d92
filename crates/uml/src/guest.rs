//! A guest and its connections: one message after the other.
//!
//! A guest's kernel has one processor, and waits for the answer to each message, so that at most one
//! of its sockets has something at any time. If a guest does otherwise, its sockets are looked at in a
//! fixed order.

mod channel;
mod watch;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use channel::Channel;
use watch::{Source, Watch};

use crate::error::Fault;
use crate::kernel::Kernel;
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
    watch: Watch,
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

/// Octets of the answer to an interrupt.
const ANSWER: usize = vhost::HEADER + 8;

/// Real time that a process may take to end after it has closed its time socket.
const TO_END: Duration = Duration::from_secs(2);

impl Guest {
    /// Starts a kernel, with the file of its memory in `of_memory`, on that processor if there is one.
    pub fn start(
        kernel: Kernel,
        of_memory: &Path,
        time_of_day: u64,
        processor: Option<usize>,
    ) -> Result<Self, StartError> {
        let (machine, listeners) = Machine::start(&kernel, of_memory)?;
        if let Some(processor) = processor {
            machine.stay_on(processor)?;
        }
        let watch = Watch::new().map_err(StartError::Watch)?;
        watch.add(Source::End, machine.end()).map_err(StartError::Watch)?;
        watch.add(Source::Time, &listeners.time).map_err(StartError::Watch)?;
        for (device, listener) in listeners.devices.iter().enumerate() {
            watch.add(Source::Device(device), listener).map_err(StartError::Watch)?;
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
            watch,
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
        let Some(first) = self.watch.wait(patience)? else { return Ok(Waited::InVain) };
        match first {
            Source::Time => {
                if self.time.proceed(time::LENGTH, |stream| self.watch.add(first, stream))? {
                    // A kernel that ends closes its sockets first.
                    return self.machine.status(TO_END)?.map(Waited::Ended).ok_or(Fault::Closed);
                }
            }
            Source::Device(device) => {
                let requests = &mut self.devices[device].requests;
                if requests.proceed(vhost::LONGEST, |stream| self.watch.add(first, stream))? {
                    // The driver has gone, as when a guest shuts down.
                    *requests = Channel::Closed;
                }
            }
            Source::Interrupt(device) => {
                if let Some(stream) = &mut self.devices[device].interrupts
                    && stream.receive()?
                {
                    self.forget_interrupts(device)?;
                }
            }
            Source::End => {
                let status = self.machine.status(Duration::ZERO)?;
                return Ok(status.map_or(Waited::Something, Waited::Ended));
            }
        }
        Ok(Waited::Something)
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
    pub fn set_interrupts(&mut self, device: usize, socket: OwnedFd) -> Result<(), Fault> {
        self.forget_interrupts(device)?;
        self.watch.add(Source::Interrupt(device), &socket)?;
        self.devices[device].interrupts = Some(Stream::new(socket, ANSWER));
        Ok(())
    }

    /// The guest may have the socket's other descriptors, so that to close this one is not enough.
    fn forget_interrupts(&mut self, device: usize) -> Result<(), Fault> {
        if let Some(stream) = self.devices[device].interrupts.take() {
            self.watch.remove(&stream)?;
        }
        Ok(())
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
