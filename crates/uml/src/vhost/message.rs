//! The octets of vhost-user messages: a header of three words (request, flags, size of the payload),
//! and the payload, in the guest's byte order, which is little endian.

use std::fmt;

use crate::memory::Region;
use crate::ring::Addresses;

/// Octets of a header.
pub const HEADER: usize = 12;
/// Octets of the longest message that is accepted.
pub const LONGEST: usize = HEADER + 512;

/// Regions of a memory table: Linux's driver sends one or two.
const MAX_REGIONS: usize = 8;
/// Octets of a device's configuration space.
const MAX_CONFIGURATION: usize = 256;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;

/// A message from a guest's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it asks for.
    pub request: Request,
    /// Whether the driver waits for a word that it was done.
    pub needs_reply: bool,
    /// Octets of the whole message.
    pub length: usize,
}

/// The requests of a driver, by the names of the vhost-user specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `GET_FEATURES`
    GetFeatures,
    /// `SET_FEATURES`
    SetFeatures(u64),
    /// `SET_OWNER`
    SetOwner,
    /// `SET_MEM_TABLE`, with a descriptor for each region
    SetMemoryTable(Vec<Region>),
    /// `SET_VRING_NUM`
    SetRingSize {
        /// The queue.
        queue: u32,
        /// Entries of its ring.
        size: u32,
    },
    /// `SET_VRING_ADDR`; in Linux's driver the addresses are guest physical ones
    SetRingAddresses {
        /// The queue.
        queue: u32,
        /// The parts of its ring.
        addresses: Addresses,
    },
    /// `SET_VRING_BASE`
    SetRingBase {
        /// The queue.
        queue: u32,
        /// The index of its next available buffer.
        base: u32,
    },
    /// `GET_PROTOCOL_FEATURES`
    GetProtocolFeatures,
    /// `SET_PROTOCOL_FEATURES`
    SetProtocolFeatures(u64),
    /// `SET_VRING_ENABLE`
    EnableRing {
        /// The queue.
        queue: u32,
        /// Whether it may be used.
        enable: bool,
    },
    /// `SET_BACKEND_REQ_FD`, with the descriptor on which the device interrupts
    SetBackendRequests,
    /// `GET_CONFIG`
    GetConfiguration {
        /// The first octet.
        offset: u32,
        /// Octets from there on.
        size: u32,
        /// Not used by devices here; the reply repeats them.
        flags: u32,
    },
    /// `SET_CONFIG`: nothing in the configurations here can be set
    SetConfiguration,
    /// `VRING_KICK`: there is something new in a ring
    Kick {
        /// The queue.
        queue: u32,
    },
}

impl fmt::Display for Request {
    /// What a driver does, behind its name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GetFeatures => write!(f, "asks what the device can do"),
            Self::SetFeatures(features) => write!(f, "chooses the device's features {features:#x}"),
            Self::SetOwner => write!(f, "takes the device"),
            Self::SetMemoryTable(_) => write!(f, "says where the guest's memory is"),
            Self::SetRingSize { queue, size } => write!(f, "gives queue {queue} {size} entries"),
            Self::SetRingAddresses { queue, .. } => write!(f, "says where queue {queue} is"),
            Self::SetRingBase { queue, base } => write!(f, "starts queue {queue} at entry {base}"),
            Self::GetProtocolFeatures => write!(f, "asks which messages the device knows"),
            Self::SetProtocolFeatures(features) => write!(f, "chooses the protocol's features {features:#x}"),
            Self::EnableRing { queue, enable: true } => write!(f, "enables queue {queue}"),
            Self::EnableRing { queue, enable: false } => write!(f, "disables queue {queue}"),
            Self::SetBackendRequests => write!(f, "says where interrupts go"),
            Self::GetConfiguration { .. } => write!(f, "reads the device's configuration"),
            Self::SetConfiguration => write!(f, "writes the device's configuration"),
            Self::Kick { queue } => write!(f, "says that there is something new in queue {queue}"),
        }
    }
}

/// A message that breaks the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// A request that no device here offers.
    #[error("request {0}, which was not offered")]
    Request(u32),
    /// Flags of another version, or of a reply.
    #[error("request {request} with flags {flags:#x}; expected version 1")]
    Flags {
        /// The request.
        request: u32,
        /// Its flags.
        flags: u32,
    },
    /// A payload of another size than the request has.
    #[error("request {request} with a payload of {size} octets")]
    Size {
        /// The request.
        request: u32,
        /// The size in its header.
        size: u32,
    },
    /// A memory table with no region, or with too many.
    #[error("a memory table of {0} regions; expected 1 to {MAX_REGIONS}")]
    Regions(u32),
    /// A part of the configuration space that does not exist.
    #[error("{size} octets at {offset} of a configuration of at most {MAX_CONFIGURATION}")]
    Configuration {
        /// The first octet.
        offset: u32,
        /// Octets from there on.
        size: u32,
    },
}

impl Message {
    /// The first message of these octets, if they have all of it.
    pub fn parse(octets: &[u8]) -> Result<Option<Self>, MessageError> {
        let Some(header) = octets.first_chunk::<HEADER>() else { return Ok(None) };
        let mut header = Fields(header);
        let (request, flags, size) = (header.word(), header.word(), header.word());
        if flags & (VERSION_MASK | REPLY) != VERSION {
            return Err(MessageError::Flags { request, flags });
        }
        let wrong_size = MessageError::Size { request, size };
        let length = HEADER + size as usize;
        if length > LONGEST {
            return Err(wrong_size);
        }
        let Some(payload) = octets.get(HEADER..length) else { return Ok(None) };
        let request = Request::parse(request, payload).map_err(|error| error.unwrap_or(wrong_size))?;
        Ok(Some(Self { request, needs_reply: flags & NEED_REPLY != 0, length }))
    }
}

impl Request {
    /// File descriptors that come with it.
    pub const fn descriptors(&self) -> usize {
        match self {
            Self::SetMemoryTable(regions) => regions.len(),
            Self::SetBackendRequests => 1,
            _ => 0,
        }
    }

    /// Its number in the specification.
    pub const fn number(&self) -> u32 {
        match self {
            Self::GetFeatures => 1,
            Self::SetFeatures(_) => 2,
            Self::SetOwner => 3,
            Self::SetMemoryTable(_) => 5,
            Self::SetRingSize { .. } => 8,
            Self::SetRingAddresses { .. } => 9,
            Self::SetRingBase { .. } => 10,
            Self::GetProtocolFeatures => 15,
            Self::SetProtocolFeatures(_) => 16,
            Self::EnableRing { .. } => 18,
            Self::SetBackendRequests => 21,
            Self::GetConfiguration { .. } => 24,
            Self::SetConfiguration => 25,
            Self::Kick { .. } => 35,
        }
    }

    /// An error of `None` is a payload of the wrong size.
    fn parse(request: u32, payload: &[u8]) -> Result<Self, Option<MessageError>> {
        let mut fields = Fields(payload);
        let size = |expected: usize| if payload.len() == expected { Ok(()) } else { Err(None) };
        let request = match request {
            1 | 3 | 15 | 21 => {
                size(0)?;
                match request {
                    1 => Self::GetFeatures,
                    3 => Self::SetOwner,
                    15 => Self::GetProtocolFeatures,
                    _ => Self::SetBackendRequests,
                }
            }
            2 | 16 => {
                size(8)?;
                let features = fields.long();
                if request == 2 { Self::SetFeatures(features) } else { Self::SetProtocolFeatures(features) }
            }
            8 | 10 | 18 | 35 => {
                size(8)?;
                let (queue, number) = (fields.word(), fields.word());
                match request {
                    8 => Self::SetRingSize { queue, size: number },
                    10 => Self::SetRingBase { queue, base: number },
                    18 => Self::EnableRing { queue, enable: number != 0 },
                    _ => Self::Kick { queue },
                }
            }
            5 => Self::SetMemoryTable(regions(payload)?),
            9 => {
                size(40)?;
                // After the queue are flags, and after the addresses one for a log, which is not offered.
                let queue = fields.long() as u32;
                let (descriptors, used, available) = (fields.long(), fields.long(), fields.long());
                Self::SetRingAddresses { queue, addresses: Addresses { descriptors, available, used } }
            }
            24 | 25 => {
                let Some(length) = payload.len().checked_sub(12) else { return Err(None) };
                let (offset, wanted, flags) = (fields.word(), fields.word(), fields.word());
                if u64::from(offset) + u64::from(wanted) > MAX_CONFIGURATION as u64 {
                    return Err(Some(MessageError::Configuration { offset, size: wanted }));
                }
                if length != wanted as usize {
                    return Err(None);
                }
                if request == 24 {
                    Self::GetConfiguration { offset, size: wanted, flags }
                } else {
                    Self::SetConfiguration
                }
            }
            other => return Err(Some(MessageError::Request(other))),
        };
        Ok(request)
    }
}

/// Linux's driver always sends the space of two regions, and says how many there are.
fn regions(payload: &[u8]) -> Result<Vec<Region>, Option<MessageError>> {
    let (head, table) = payload.split_at_checked(8).ok_or(None)?;
    let number = Fields(head).word();
    if number == 0 || number as usize > MAX_REGIONS {
        return Err(Some(MessageError::Regions(number)));
    }
    let table = table.get(..32 * number as usize).ok_or(None)?;
    let region = |octets| {
        let mut fields = Fields(octets);
        let (address, size, _user_address) = (fields.long(), fields.long(), fields.long());
        Region { address, size, offset: fields.long() }
    };
    Ok(table.chunks_exact(32).map(region).collect())
}

/// The reply to a request.
pub fn reply(request: &Request, payload: &[u8]) -> Vec<u8> {
    let header = [request.number(), VERSION | REPLY, payload.len() as u32];
    [header.map(u32::to_le_bytes).as_flattened(), payload].concat()
}

/// The reply that a request was carried out.
pub fn done(request: &Request) -> [u8; 20] {
    small([request.number(), VERSION | REPLY, 8, 0, 0])
}

/// The interrupt of a queue, as a request of the device (`BACKEND_VRING_CALL`), to which the driver replies.
pub fn call(queue: u16) -> [u8; 20] {
    small([4, VERSION | NEED_REPLY, 8, u32::from(queue), 0])
}

fn small(words: [u32; 5]) -> [u8; 20] {
    let mut octets = [0; 20];
    octets.copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
    octets
}

/// The rest of some fields.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The callers have checked the size.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("the size was checked");
        self.0 = rest;
        *field
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

#[cfg(test)]
mod tests;
