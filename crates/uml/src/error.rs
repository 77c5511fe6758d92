//! What can go wrong with a guest.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use lasthop_packet::Instant;

use crate::machine::StartError;
use crate::memory::MappingError;
use crate::processor::ProcessorError;
use crate::time::{Message, Operation, TurnError, UnknownOperation};
use crate::vhost::{DeviceError, MessageError, Request};

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A kernel did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// This thread may not run on the processor that was chosen.
    #[error(transparent)]
    Processor(#[from] ProcessorError),
    /// The memory that is shared with guests could not be made.
    #[error("memory for the time of guests: {0}")]
    Schedule(#[from] MappingError),
    /// Something is wrong with a guest.
    #[error(transparent)]
    Guest(#[from] Box<GuestError>),
    /// Every guest waits for an interrupt, and the wire has no event: nothing will ever happen.
    #[error("at {0} no guest has a timer, and nothing is on the wire: the run is stuck")]
    Stuck(Instant),
    /// The wire's next event stays in the past.
    #[error("the wire has processed its events {steps} times, and time stays at {now}")]
    Wire {
        /// How often.
        steps: u32,
        /// The time.
        now: Instant,
    },
}

/// What is wrong with a guest, and what it did before.
#[derive(Debug)]
pub struct GuestError {
    /// The guest's number.
    pub guest: usize,
    /// The time.
    pub now: Instant,
    /// Its last message, if it has sent one.
    pub last: Option<LastMessage>,
    /// What is wrong.
    pub fault: Fault,
    /// The last lines of its console.
    pub console: String,
}

impl fmt::Display for GuestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {} at {}: {}", self.guest, self.now, self.fault)?;
        match &self.last {
            Some(last) => write!(f, "; its last message: {last}")?,
            None => write!(f, "; it has sent no message")?,
        }
        if self.console.is_empty() {
            write!(f, "; its console is empty")
        } else {
            write!(f, "; the end of its console:\n{}", self.console)
        }
    }
}

impl std::error::Error for GuestError {}

/// A message of a guest.
#[derive(Clone, Debug)]
pub enum LastMessage {
    /// On the time socket.
    Time(Message),
    /// From the driver of the device with this number.
    Request(usize, Request),
    /// The answer to an interrupt.
    Interrupted,
}

impl fmt::Display for LastMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(Message { operation, time, .. }) => match operation {
                Operation::Start => write!(f, "it has started"),
                Operation::Request => write!(f, "it asks to run at {time} ns"),
                Operation::Wait => write!(f, "it waits until it may run"),
                Operation::Get => write!(f, "it asks for the time"),
                Operation::Update => write!(f, "its clock shows {time} ns"),
                Operation::TimeOfDay => write!(f, "it asks for the time of day"),
                Operation::Ack => write!(f, "it answers on its time socket"),
                Operation::Run | Operation::FreeUntil | Operation::Broadcast => {
                    write!(f, "{operation:?} on its time socket")
                }
            },
            Self::Request(device, request) => write!(f, "the driver of its device {device} {request}"),
            Self::Interrupted => write!(f, "the answer to an interrupt"),
        }
    }
}

/// What is wrong with a guest.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Its process ended, and not with success.
    #[error("its process ended ({0})")]
    Died(ExitStatus),
    /// It closed its time socket, and its process goes on.
    #[error("it closed its time socket")]
    Closed,
    /// It sent nothing for so long, in real time.
    #[error("it has sent nothing for {0:?}")]
    Hung(Duration),
    /// The run is over, and it was its turn.
    #[error("the run is over")]
    Stopped,
    /// Its time stands still.
    #[error("{0} messages, and its time stands still")]
    Loop(u32),
    /// Its console is too long.
    #[error("its console has more than {0} octets")]
    Console(u64),
    /// It sent what is not of the time socket's protocol.
    #[error(transparent)]
    Operation(#[from] UnknownOperation),
    /// It breaks the rules of time.
    #[error(transparent)]
    Turn(#[from] TurnError),
    /// It answered what was not asked.
    #[error("an answer with sequence number {received}; expected {expected:?}")]
    Answer {
        /// What came.
        received: u32,
        /// What should come.
        expected: Option<u32>,
    },
    /// It sent what is not of vhost-user.
    #[error("device {device}: {cause}")]
    Message {
        /// The device's number.
        device: usize,
        /// What is wrong.
        cause: MessageError,
    },
    /// A message without its descriptors, or descriptors without a message.
    #[error("device {device}: a message with {expected} descriptors came with fewer or more")]
    Descriptors {
        /// The device's number.
        device: usize,
        /// What belongs to the message.
        expected: usize,
    },
    /// It uses a device as it may not.
    #[error("device {device}: {cause}")]
    Device {
        /// The device's number.
        device: usize,
        /// What is wrong.
        cause: DeviceError,
    },
    /// It did not take an interrupt.
    #[error("device {0}: an interrupt was refused")]
    Interrupt(usize),
    /// Its sockets failed.
    #[error("its sockets: {0}")]
    Io(#[from] io::Error),
}
