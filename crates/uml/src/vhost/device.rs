//! A device: what is the same for every type of virtio device with one queue in each direction.

mod error;
mod queue;

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use crate::memory::GuestMemory;
use crate::ring::{Chain, Direction, RingError};

use super::device_type::{DeviceType, Queues};
use super::message::{Request, reply};
pub use error::DeviceError;
use queue::Queue;

/// What has passed a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames from the guest.
    pub sent: u64,
    /// Frames to the guest.
    pub received: u64,
    /// Messages of the guest that were too long, or broke a rule of their type, and were dropped.
    pub refused: u64,
    /// Frames to the guest that were longer than its buffers, and were dropped.
    pub too_long: u64,
    /// Frames to the guest that came while too many waited for buffers, and were dropped.
    pub overflowed: u64,
}

impl Counts {
    /// How many frames were lost here, and why; `None` if none was. What is lost on the way is the wire's, and not
    /// counted.
    pub fn losses(&self) -> Option<String> {
        let reasons = [
            (self.refused, "from the guest, which were too long or not of the device's type"),
            (self.too_long, "to the guest, which were longer than its buffers"),
            (self.overflowed, "to the guest, for which too many waited already"),
        ];
        let lost: Vec<String> = reasons
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{count} {why}"))
            .collect();
        (!lost.is_empty()).then(|| lost.join("; "))
    }
}

/// What a request leads to.
#[derive(Debug)]
pub enum Outcome {
    /// It was done.
    Done,
    /// This is its reply.
    Reply(Vec<u8>),
    /// Interrupts go to this socket.
    Interrupts(OwnedFd),
    /// The guest has sent something.
    Transmits,
    /// The guest has new buffers.
    Receives,
}

/// A queue whose driver needs an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub queue: u16,
}

/// Every device is of virtio 1, and has protocol features.
const COMMON: u64 = 1 << 32 | 1 << 30;
/// `REPLY_ACK`, `BACKEND_REQ`, `INBAND_NOTIFICATIONS`: without these, kicks and interrupts have no order.
const PROTOCOL_NEEDED: u64 = 1 << 3 | 1 << 5 | 1 << 14;
/// And `CONFIG`.
const PROTOCOL_OFFERED: u64 = PROTOCOL_NEEDED | 1 << 9;

/// Frames that may wait for buffers of the guest.
const MAX_PENDING: usize = 1024;

/// A virtio device, as one guest's driver uses it.
#[derive(Debug)]
pub struct Device {
    kind: Box<dyn DeviceType>,
    features: u64,
    most_memory: u64,
    memory: GuestMemory,
    receive: Queue,
    transmit: Queue,
    /// Frames for the guest, and empty ones that are used again.
    pending: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// The guest has no buffers, and has not said that it has new ones.
    is_stalled: bool,
    /// The driver is to report new buffers.
    asks_for_buffers: bool,
    chain: Chain,
    message: Vec<u8>,
    counts: Counts,
}

impl Device {
    /// A device for a guest with this number of octets of memory.
    pub fn new(kind: Box<dyn DeviceType>, most_memory: u64) -> Self {
        Self {
            kind,
            features: 0,
            most_memory,
            memory: GuestMemory::default(),
            receive: Queue::default(),
            transmit: Queue::default(),
            pending: VecDeque::new(),
            spare: Vec::new(),
            is_stalled: false,
            asks_for_buffers: false,
            chain: Chain::default(),
            message: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// What has passed it.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Carries out a request; `files` are the descriptors that came with it.
    pub fn handle(&mut self, request: &Request, files: Vec<OwnedFd>) -> Result<Outcome, DeviceError> {
        let offered = COMMON | self.kind.features();
        match *request {
            Request::SetOwner | Request::SetConfiguration => {}
            Request::GetFeatures => return Ok(Outcome::Reply(reply(request, &offered.to_le_bytes()))),
            Request::SetFeatures(features) => {
                choose(features, offered, 1 << 32)?;
                self.features = features;
            }
            Request::GetProtocolFeatures => {
                return Ok(Outcome::Reply(reply(request, &PROTOCOL_OFFERED.to_le_bytes())));
            }
            Request::SetProtocolFeatures(features) => choose(features, PROTOCOL_OFFERED, PROTOCOL_NEEDED)?,
            Request::SetMemoryTable(ref regions) => {
                self.memory = GuestMemory::new(regions, &files, self.most_memory)?;
            }
            Request::SetRingSize { queue, size } => self.queue(queue)?.set_size(queue, size)?,
            Request::SetRingBase { queue, base } => self.queue(queue)?.set_base(queue, base)?,
            Request::SetRingAddresses { queue, addresses } => {
                self.queue(queue)?.set_addresses(queue, addresses)?;
            }
            Request::EnableRing { queue, enable } => self.enable(queue, enable)?,
            Request::SetBackendRequests => {
                let file = files.into_iter().next();
                return Ok(file.map_or(Outcome::Done, Outcome::Interrupts));
            }
            Request::GetConfiguration { offset, size, flags } => {
                return Ok(Outcome::Reply(self.configuration(request, [offset, size, flags])));
            }
            Request::Kick { queue } => {
                self.queue(queue)?;
                let is_transmit = queue == u32::from(self.kind.queues().transmit);
                return Ok(if is_transmit { Outcome::Transmits } else { Outcome::Receives });
            }
        }
        Ok(Outcome::Done)
    }

    fn queue(&mut self, number: u32) -> Result<&mut Queue, DeviceError> {
        let queues = self.kind.queues();
        match number {
            _ if number == u32::from(queues.receive) => Ok(&mut self.receive),
            _ if number == u32::from(queues.transmit) => Ok(&mut self.transmit),
            _ => Err(DeviceError::Queue(number)),
        }
    }

    fn enable(&mut self, number: u32, enable: bool) -> Result<(), DeviceError> {
        if enable {
            choose(self.features, u64::MAX, 1 << 32)?;
        }
        self.queue(number)?.enable(number, enable)?;
        if let Some(ring) = self.receive.ring() {
            // Buffers are looked for when there is a frame.
            ring.ask_for_notifications(&mut self.memory, self.asks_for_buffers)?;
        }
        Ok(())
    }

    fn configuration(&self, request: &Request, fields: [u32; 3]) -> Vec<u8> {
        let [offset, size, _] = fields.map(|field| field as usize);
        let mut octets = fields.map(u32::to_le_bytes).as_flattened().to_vec();
        let known = self.kind.configuration().get(offset..).unwrap_or_default();
        octets.extend(known.iter().chain(std::iter::repeat(&0)).take(size));
        reply(request, &octets)
    }

    /// Takes what the guest has sent, and hands the frames on.
    pub fn transmit(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), DeviceError> {
        // A guest that adds more meanwhile breaks the order of kicks, and sends that with its next one.
        for _ in 0..self.transmit.size() {
            let Some(ring) = self.transmit.ring() else { return Ok(()) };
            if !ring.peek(&self.memory, Direction::FromGuest, &mut self.chain)? {
                return Ok(());
            }
            self.message.clear();
            let frame = if self.chain.octets() > self.kind.longest() {
                None
            } else {
                self.chain.read(&self.memory, &mut self.message).map_err(RingError::from)?;
                self.kind.frame(&self.message)
            };
            if let Some(frame) = frame {
                self.counts.sent += 1;
                each(frame);
            } else {
                self.counts.refused += 1;
            }
            self.transmit.complete(&mut self.memory, &self.chain, 0)?;
        }
        Ok(())
    }

    /// A frame for the guest; it waits for [`Self::flush`].
    pub fn receive(&mut self, frame: &[u8]) {
        if self.pending.len() >= MAX_PENDING {
            self.counts.overflowed += 1;
            return;
        }
        let mut octets = self.spare.pop().unwrap_or_default();
        octets.clear();
        octets.extend_from_slice(frame);
        self.pending.push_back(octets);
    }

    /// Whether frames wait for [`Self::flush`], and the guest may have buffers.
    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty() && !self.is_stalled && self.receive.is_enabled()
    }

    /// Moves frames into the guest's buffers. What has no buffer waits until the guest says that it has some.
    pub fn flush(&mut self) -> Result<(), DeviceError> {
        while let Some(frame) = self.pending.front() {
            let Some(ring) = self.receive.ring() else { return Ok(()) };
            if !ring.peek(&self.memory, Direction::ToGuest, &mut self.chain)? {
                if self.asks_for_buffers {
                    self.is_stalled = true;
                    return Ok(());
                }
                ring.ask_for_notifications(&mut self.memory, true)?;
                self.asks_for_buffers = true;
                // A buffer may have come before the driver saw that: it is looked for again.
                continue;
            }
            let header = self.kind.header();
            let octets = header.len() + frame.len();
            if octets > self.chain.octets() {
                self.counts.too_long += 1;
            } else {
                self.chain.write(&mut self.memory, [header, frame]).map_err(RingError::from)?;
                self.receive.complete(&mut self.memory, &self.chain, octets as u32)?;
                self.counts.received += 1;
            }
            self.spare.extend(self.pending.pop_front());
        }
        if self.asks_for_buffers
            && let Some(ring) = self.receive.ring()
        {
            ring.ask_for_notifications(&mut self.memory, false)?;
            self.asks_for_buffers = false;
        }
        Ok(())
    }

    /// The guest has new buffers: frames that wait can be [flushed](Self::flush).
    pub const fn has_buffers(&mut self) {
        self.is_stalled = false;
    }

    /// Whether a driver needs an interrupt.
    pub const fn owes_interrupt(&self) -> bool {
        self.receive.owes_interrupt() || self.transmit.owes_interrupt()
    }

    /// An interrupt that is owed, and is now raised.
    pub fn take_interrupt(&mut self) -> Option<Interrupt> {
        let Queues { receive, transmit } = self.kind.queues();
        if self.receive.take_interrupt() {
            Some(Interrupt { queue: receive })
        } else if self.transmit.take_interrupt() {
            Some(Interrupt { queue: transmit })
        } else {
            None
        }
    }
}

/// What a driver has chosen is offered, and has all that is needed.
const fn choose(features: u64, offered: u64, needed: u64) -> Result<(), DeviceError> {
    if features & !offered != 0 || features & needed != needed {
        return Err(DeviceError::Features { features, offered, needed });
    }
    Ok(())
}
