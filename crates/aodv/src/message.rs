//! The four messages, and their encoding in octets (section 5).

use std::net::Ipv4Addr;
use std::time::Duration;

use lasthop_agent::PathCapacity;

use super::path::Path;

/// The UDP port of all messages (section 6).
pub const PORT: u16 = 654;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Route Request.
    Request(Rreq),
    /// Route Reply, or a Hello.
    Reply(Rrep),
    /// Route Error.
    Error(Rerr),
    /// Route Reply Acknowledgment.
    ReplyAck,
}

/// Route Request (5.1). The flags J and R are for multicast: sent as 0, and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rreq {
    /// G: a node that replies in the destination's place also notifies the destination.
    pub gratuitous: bool,
    /// D: only the destination may reply.
    pub destination_only: bool,
    /// Hops from the originator to the node that handles it.
    pub hop_count: u8,
    /// Identifies the request together with the originator's address.
    pub id: u32,
    /// The destination.
    pub destination: Ipv4Addr,
    /// The latest sequence number of the destination that the originator knows; `None` with the
    /// flag U.
    pub destination_sequence: Option<u32>,
    /// The originator.
    pub originator: Ipv4Addr,
    /// The originator's sequence number.
    pub originator_sequence: u32,
    /// The path from the sender of this message to the originator, if it is included.
    pub path: Option<Path>,
}

/// Route Reply (5.2). The flag R is for multicast, and prefixes are for subnets: both are sent as
/// 0, and ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rrep {
    /// A: an acknowledgment is required.
    pub ack_required: bool,
    /// Hops to the destination from the node that handles it.
    pub hop_count: u8,
    /// The destination of the route.
    pub destination: Ipv4Addr,
    /// The destination sequence number of the route.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: Ipv4Addr,
    /// The lifetime of the route, in milliseconds on the wire.
    pub lifetime: Duration,
    /// The path from the sender of this message to the destination, if it is included.
    pub path: Option<Path>,
}

/// Route Error (5.3). The flag N is for local repair: never sent, and ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerr {
    /// The unreachable destinations with their sequence numbers, 0 if unknown; 1 to 255 of them.
    pub unreachable: Vec<(Ipv4Addr, u32)>,
}

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const REPLY_ACK: u8 = 4;

/// The type of the extension with a [`Path`]: an unassigned one, of those that a node may skip
/// (section 9).
const PATH: u8 = 100;

const GRATUITOUS: u8 = 0x20;
const DESTINATION_ONLY: u8 = 0x10;
const UNKNOWN_SEQUENCE: u8 = 0x08;
const ACK_REQUIRED: u8 = 0x40;

impl Message {
    /// Reads a datagram's payload; `None` if it is too short for its type, or of an unknown type. A
    /// message may be followed by extensions (section 9), of which this supports one ([`Path`]);
    /// others are skipped.
    pub fn parse(octets: &[u8]) -> Option<Self> {
        match *octets.first()? {
            REQUEST => {
                let fixed: &[u8; 24] = octets.first_chunk()?;
                let sequence = word(fixed, 12);
                Some(Self::Request(Rreq {
                    gratuitous: fixed[1] & GRATUITOUS != 0,
                    destination_only: fixed[1] & DESTINATION_ONLY != 0,
                    hop_count: fixed[3],
                    id: word(fixed, 4),
                    destination: word(fixed, 8).into(),
                    destination_sequence: (fixed[1] & UNKNOWN_SEQUENCE == 0).then_some(sequence),
                    originator: word(fixed, 16).into(),
                    originator_sequence: word(fixed, 20),
                    path: path(&octets[fixed.len()..]),
                }))
            }
            REPLY => {
                let fixed: &[u8; 20] = octets.first_chunk()?;
                Some(Self::Reply(Rrep {
                    ack_required: fixed[1] & ACK_REQUIRED != 0,
                    hop_count: fixed[3],
                    destination: word(fixed, 4).into(),
                    destination_sequence: word(fixed, 8),
                    originator: word(fixed, 12).into(),
                    lifetime: Duration::from_millis(word(fixed, 16).into()),
                    path: path(&octets[fixed.len()..]),
                }))
            }
            ERROR => {
                let count = usize::from(*octets.get(3)?);
                let list = octets.get(4..4 + 8 * count)?;
                let unreachable = list.chunks_exact(8).map(|one| (word(one, 0).into(), word(one, 4)));
                (count > 0).then(|| Self::Error(Rerr { unreachable: unreachable.collect() }))
            }
            REPLY_ACK => octets.get(1).map(|_| Self::ReplyAck),
            _ => None,
        }
    }

    /// The payload of the message's datagram.
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(24);
        match self {
            Self::Request(rreq) => {
                let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
                let flags = flag(rreq.gratuitous, GRATUITOUS)
                    | flag(rreq.destination_only, DESTINATION_ONLY)
                    | flag(rreq.destination_sequence.is_none(), UNKNOWN_SEQUENCE);
                octets.extend([REQUEST, flags, 0, rreq.hop_count]);
                octets.extend(rreq.id.to_be_bytes());
                octets.extend(rreq.destination.octets());
                octets.extend(rreq.destination_sequence.unwrap_or(0).to_be_bytes());
                octets.extend(rreq.originator.octets());
                octets.extend(rreq.originator_sequence.to_be_bytes());
                extend(&mut octets, rreq.path);
            }
            Self::Reply(rrep) => {
                octets.extend([REPLY, if rrep.ack_required { ACK_REQUIRED } else { 0 }, 0, rrep.hop_count]);
                octets.extend(rrep.destination.octets());
                octets.extend(rrep.destination_sequence.to_be_bytes());
                octets.extend(rrep.originator.octets());
                let millis = u32::try_from(rrep.lifetime.as_millis()).unwrap_or(u32::MAX);
                octets.extend(millis.to_be_bytes());
                extend(&mut octets, rrep.path);
            }
            Self::Error(rerr) => {
                let listed = rerr.unreachable.len().min(usize::from(u8::MAX));
                octets.extend([ERROR, 0, 0, listed as u8]);
                for (address, sequence) in &rerr.unreachable[..listed] {
                    octets.extend(address.octets());
                    octets.extend(sequence.to_be_bytes());
                }
            }
            Self::ReplyAck => octets.extend([REPLY_ACK, 0]),
        }
        octets
    }
}

/// The word in network byte order at an offset. Callers have checked that it is present.
fn word(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// The path in the first such extension; `None` if that is malformed.
fn path(mut extensions: &[u8]) -> Option<Path> {
    while let [kind, length, rest @ ..] = extensions {
        let (data, remaining) = rest.split_at_checked(usize::from(*length))?;
        if *kind == PATH {
            let data: &[u8; 9] = data.try_into().ok()?;
            let capacity = PathCapacity { bandwidth: word(data, 0), delay: word(data, 4) };
            return (capacity.bandwidth > 0).then_some(Path { capacity, measured: data[8] });
        }
        extensions = remaining;
    }
    None
}

fn extend(octets: &mut Vec<u8>, path: Option<Path>) {
    if let Some(Path { capacity, measured }) = path {
        octets.extend([PATH, 9]);
        octets.extend(capacity.bandwidth.to_be_bytes());
        octets.extend(capacity.delay.to_be_bytes());
        octets.push(measured);
    }
}
