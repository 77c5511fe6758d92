//! The layout that the BPF programs and this module share: constants, and the sizes and field
//! offsets of the values in the maps. A section of the object contains the programs' values, and
//! the object is not loaded if one of them differs from the value here.
#![expect(unsafe_code, reason = "keys, values and records of BPF maps are plain octets")]

use std::collections::BTreeMap;
use std::mem::offset_of;
use std::num::NonZeroU16;

use lasthop_packet::prefix::mapped;
use lasthop_packet::{FlowKey, Instant, Protocol};
use object::{Object, ObjectSection};

use super::error::ProgramError;
use crate::frame::Headers;
use crate::io::LONGEST_WAIT;
use crate::io::proof::PROOF_TYPE;
use crate::io::selection::FIRST_USER_PORT;
use crate::io::steering::{GOLDEN, MAX_WORKERS};

/// `struct flow`: a direction of a connection, in network order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct BpfFlow {
    source: [u8; 16],
    destination: [u8; 16],
    source_port: [u8; 2],
    destination_port: [u8; 2],
    protocol: u32,
}

/// The protocols by their IP numbers.
const PROTOCOL_TCP: u32 = 6;
const PROTOCOL_UDP: u32 = 17;

// SAFETY: octets without padding.
unsafe impl aya::Pod for BpfFlow {}

impl From<FlowKey> for BpfFlow {
    fn from(flow: FlowKey) -> Self {
        Self {
            source: mapped(flow.source.0),
            destination: mapped(flow.destination.0),
            source_port: flow.source.1.to_be_bytes(),
            destination_port: flow.destination.1.to_be_bytes(),
            protocol: match flow.protocol {
                Protocol::Tcp => PROTOCOL_TCP,
                Protocol::Udp => PROTOCOL_UDP,
            },
        }
    }
}

/// `struct home`: the interface and direction to which frames of a TAP device return.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Home {
    pub(super) ifindex: u32,
    /// Zero for egress.
    pub(super) flags: u32,
}

// SAFETY: two numbers without padding.
unsafe impl aya::Pod for Home {}

/// `BPF_F_INGRESS`: the flag for ingress.
pub(super) const INTO_INGRESS: u32 = 1;

/// `struct bypass`: the bypass of a connection. Its fields are stored as 64-bit words.
#[repr(C)]
pub(super) struct Slot {
    from_until: u64,
    next: u32,
    has_passed: u32,
    acknowledged: u32,
    up_end: u32,
    headers: u32,
    up: u32,
}

/// The number of slots in the map.
pub(super) const SLOTS: u32 = 16_384;
/// The number of words in a slot, and the indices of the words with `from` and `until`, `next` and
/// `has_passed`, `acknowledged`, `headers`.
pub(super) const SLOT_WORDS: usize = size_of::<Slot>() / 8;
pub(super) const FROM_UNTIL: usize = offset_of!(Slot, from_until) / 8;
pub(super) const NEXT_AND_HAS_PASSED: usize = offset_of!(Slot, next) / 8;
pub(super) const ACKNOWLEDGED: usize = offset_of!(Slot, acknowledged) / 8;
pub(super) const HEADERS_ONLY: usize = offset_of!(Slot, headers) / 8;

/// The maximum length of the headers in a record, in octets.
const HEADERS: usize = 128;

/// `struct record`: the headers of a packet that passed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Record {
    passed_ns: u64,
    pub(super) ifindex: u32,
    down: u32,
    len: u32,
    segment_size: u16,
    headers_len: u16,
    headers: [u8; HEADERS],
}

impl Record {
    /// Reads a record of the ring; `None` if it has another length, or is not aligned.
    pub(super) fn read(octets: &[u8]) -> Option<&Self> {
        // SAFETY: any octets are a record.
        let (before, records, after) = unsafe { octets.align_to::<Self>() };
        records.first().filter(|_| before.is_empty() && after.is_empty())
    }

    /// Whether the packet went down, to a client.
    pub(super) const fn is_down(&self) -> bool {
        self.down != 0
    }

    /// The time at which it passed, by the gateway's clock.
    pub(super) const fn passed(&self) -> Instant {
        Instant::from_nanos(self.passed_ns)
    }

    /// The packet's headers.
    pub(super) fn headers(&self) -> Headers<'_> {
        Headers {
            octets: &self.headers[..usize::from(self.headers_len).min(HEADERS)],
            len: self.len as usize,
            segment_size: NonZeroU16::new(self.segment_size),
        }
    }
}

/// The size of the ring in octets: a power of two, and a multiple of the page size.
pub(super) const RING: u32 = 1 << 22;

/// The indices in the map of counters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counter {
    Diverted,
    Restored,
    Stale,
    Excluded,
    Own,
    Aside,
    Passed,
    Late,
    /// The number of counters.
    End,
}

/// Flags of the selection: the maps of ports and prefixes that are not empty.
pub(super) const SOME_PORTS: u32 = 1;
pub(super) const ONLY_THESE_PORTS: u32 = 2;
pub(super) const NOT_THESE_PREFIXES: u32 = 4;
pub(super) const ONLY_THESE_PREFIXES: u32 = 8;
/// UDP that may be RTP is selected as well.
pub(super) const DATAGRAMS: u32 = 16;
/// Nothing is diverted; the ring receives the headers of the selected packets.
pub(super) const PASSIVE: u32 = 32;
/// The lists that contain a port.
pub(super) const INCLUDED: u8 = 1;
pub(super) const NOT_INCLUDED: u8 = 2;

/// The age at which the heartbeat is stale: three times the longest wait, so that two beats may be
/// late.
const STALE_NS: u128 = LONGEST_WAIT.as_nanos() * 3;
/// The maximum length of a diverted packet, the largest value of IP's length fields.
const LONGEST: u16 = u16::MAX;

/// All shared values, with their names in the C source.
fn values() -> BTreeMap<&'static str, u32> {
    let values = [
        ("DIVERTED", Counter::Diverted as usize),
        ("RESTORED", Counter::Restored as usize),
        ("STALE", Counter::Stale as usize),
        ("EXCLUDED", Counter::Excluded as usize),
        ("OWN", Counter::Own as usize),
        ("ASIDE", Counter::Aside as usize),
        ("PASSED", Counter::Passed as usize),
        ("PASSED_LATE", Counter::Late as usize),
        ("COUNTERS", Counter::End as usize),
        ("STALE_NS", STALE_NS as usize),
        ("PROOF", PROOF_TYPE.into()),
        ("LONGEST", LONGEST.into()),
        ("INTO_INGRESS", INTO_INGRESS as usize),
        ("SOME_PORTS", SOME_PORTS as usize),
        ("ONLY_THESE_PORTS", ONLY_THESE_PORTS as usize),
        ("NOT_THESE_PREFIXES", NOT_THESE_PREFIXES as usize),
        ("ONLY_THESE_PREFIXES", ONLY_THESE_PREFIXES as usize),
        ("DATAGRAMS", DATAGRAMS as usize),
        ("PASSIVE", PASSIVE as usize),
        ("PROTOCOL_TCP", PROTOCOL_TCP as usize),
        ("PROTOCOL_UDP", PROTOCOL_UDP as usize),
        ("FIRST_USER_PORT", FIRST_USER_PORT.into()),
        ("INCLUDED", INCLUDED.into()),
        ("NOT_INCLUDED", NOT_INCLUDED.into()),
        ("BYPASSES", SLOTS as usize),
        ("RING", RING as usize),
        ("MOST_WORKERS", MAX_WORKERS),
        ("GOLDEN", GOLDEN as usize),
        ("record", size_of::<Record>()),
        ("record.passed_ns", offset_of!(Record, passed_ns)),
        ("record.ifindex", offset_of!(Record, ifindex)),
        ("record.down", offset_of!(Record, down)),
        ("record.len", offset_of!(Record, len)),
        ("record.segment_size", offset_of!(Record, segment_size)),
        ("record.headers_len", offset_of!(Record, headers_len)),
        ("record.headers", offset_of!(Record, headers)),
        ("bypass", size_of::<Slot>()),
        ("bypass.from_until", offset_of!(Slot, from_until)),
        ("bypass.next", offset_of!(Slot, next)),
        ("bypass.has_passed", offset_of!(Slot, has_passed)),
        ("bypass.acknowledged", offset_of!(Slot, acknowledged)),
        ("bypass.headers", offset_of!(Slot, headers)),
        ("flow", size_of::<BpfFlow>()),
        ("flow.source", offset_of!(BpfFlow, source)),
        ("flow.destination", offset_of!(BpfFlow, destination)),
        ("flow.source_port", offset_of!(BpfFlow, source_port)),
        ("flow.destination_port", offset_of!(BpfFlow, destination_port)),
        ("flow.protocol", offset_of!(BpfFlow, protocol)),
        ("home", size_of::<Home>()),
        ("home.ifindex", offset_of!(Home, ifindex)),
        ("home.flags", offset_of!(Home, flags)),
    ];
    values.into_iter().map(|(name, value)| (name, value as u32)).collect()
}

/// The octets of an entry in the object: a name, padded with zeros, and a value.
const NAME: usize = 28;
const ENTRY: usize = NAME + 4;

/// Checks that an object has the same values.
pub(super) fn check(object: &[u8]) -> Result<(), ProgramError> {
    let (ours, theirs) = (values(), values_of(object)?);
    for name in ours.keys().copied().chain(theirs.keys().map(String::as_str)) {
        let (here, there) = (ours.get(name), theirs.get(name));
        if here != there {
            let value = |value: Option<&u32>| value.map_or_else(|| "missing".to_owned(), u32::to_string);
            return Err(ProgramError::Misfit(format!(
                "{name} is {} in the object and {} in this program",
                value(there),
                value(here)
            )));
        }
    }
    Ok(())
}

/// The values in an object of either byte order.
fn values_of(object: &[u8]) -> Result<BTreeMap<String, u32>, ProgramError> {
    let wrong = |error: object::Error| ProgramError::Misfit(error.to_string());
    let file = object::File::parse(object).map_err(wrong)?;
    let missing = || ProgramError::Misfit("no section \"layout\"".to_owned());
    let section = file.section_by_name("layout").ok_or_else(missing)?;
    let (entries, _) = section.data().map_err(wrong)?.as_chunks::<ENTRY>();
    let entry = |octets: &[u8; ENTRY]| {
        let [name @ .., a, b, c, d] = octets;
        let value = [*a, *b, *c, *d];
        let value =
            if file.is_little_endian() { u32::from_le_bytes(value) } else { u32::from_be_bytes(value) };
        (String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(), value)
    };
    Ok(entries.iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: [&[u8]; 2] =
        [include_bytes!("../../../bpf/divert.bpfel.o"), include_bytes!("../../../bpf/divert.bpfeb.o")];

    #[test]
    fn the_objects_of_both_byte_orders_match() {
        for object in OBJECTS {
            check(object).unwrap();
            assert_eq!(values_of(object).unwrap().len(), values().len());
        }
    }

    #[test]
    fn an_object_with_one_different_value_is_rejected_with_the_name_of_the_value() {
        for object in OBJECTS {
            for name in values().keys() {
                let mut padded = [0; NAME];
                padded[..name.len()].copy_from_slice(name.as_bytes());
                let at = object.windows(NAME).position(|octets| octets == padded).unwrap();
                for (changed, what) in [(at, "missing"), (at + NAME + 1, "in the object")] {
                    let mut object = object.to_vec();
                    object[changed] ^= 0x10;
                    let error = check(&object).unwrap_err().to_string();
                    assert!(error.contains(name) && error.contains(what), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_file_that_is_no_object_or_has_no_values_is_rejected() {
        assert!(check(b"\x7fELF").is_err());
        let mut nameless = OBJECTS[0].to_vec();
        let at = nameless.windows(8).rposition(|octets| octets == b"\0layout\0").unwrap();
        nameless[at + 1] = b'x';
        assert!(check(&nameless).unwrap_err().to_string().contains("no section"));
    }
}
