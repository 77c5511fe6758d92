//! The BPF programs and their maps, from `bpf/divert.bpf.c`.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, MapError, PerCpuArray};
use aya::programs::SchedClassifier;
use aya::{Ebpf, EbpfError};
use lasthop_agent::Side;
use lasthop_packet::FlowKey;

use super::attach::{Attached, Attachment, DOWN, HOOKS, Hook, RESTORE, UP};
use super::error::ProgramError;
use super::mapped::Mapped;
use crate::io::selection::{Prefix, Selection, mapped};

/// The compiled programs; nothing if the build had no compiler for them.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/divert.bpf.o"));

/// Whether this build has the BPF programs; without them nothing is diverted, and opening says why.
pub fn is_built() -> bool {
    !OBJECT.is_empty()
}

/// Where frames of a side are taken, and the map of the TAP devices for them: what comes from the core's side where it goes out, what
/// comes from the radio where it comes in.
const fn hook_of(side: Side) -> (Hook, &'static str) {
    match side {
        Side::Core => (DOWN, "down_taps"),
        Side::Radio => (UP, "up_taps"),
    }
}

/// `BPF_F_INGRESS`.
const INTO_INGRESS: u32 = 1;

/// What the programs have counted, in frames; a super-packet is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Sent to us.
    pub diverted: u64,
    /// Put back.
    pub restored: u64,
    /// TCP that passed because the packet loop was not alive.
    pub stale: u64,
    /// TCP that passed because it is not selected.
    pub excluded: u64,
    /// TCP that passed because its flow is set aside.
    pub aside: u64,
    /// TCP that passed because its agent lets it; we got a copy.
    pub passed: u64,
    /// The same beyond what its agent lets, because we were late.
    pub late: u64,
}

/// The loaded programs.
#[derive(Debug)]
pub(super) struct Programs {
    attached: Attached,
    bpf: Ebpf,
}

/// `SOME_PORTS` and so on.
const SOME_PORTS: u32 = 1;
const ONLY_THESE_PORTS: u32 = 2;
const NOT_THESE_PREFIXES: u32 = 4;
const ONLY_THESE_PREFIXES: u32 = 8;
const INCLUDED: u8 = 1;
const NOT_INCLUDED: u8 = 2;

impl Programs {
    pub(super) fn load(selection: &Selection) -> Result<Self, ProgramError> {
        if !is_built() {
            return Err(ProgramError::NotBuilt(env!("LASTHOP_BPF_MISSING")));
        }
        let load = |error: EbpfError| ProgramError::Load(Box::new(error));
        let mut bpf = Ebpf::load(OBJECT).map_err(load)?;
        for hook in HOOKS {
            program(&mut bpf, hook.program)?.load().map_err(|error| load(error.into()))?;
        }
        let mut programs = Self { attached: Attached::default(), bpf };
        programs.select(selection)?;
        Ok(programs)
    }

    fn select(&mut self, selection: &Selection) -> Result<(), ProgramError> {
        let mut which = 0;
        // Where a port is on both lists, both bits are set.
        let mut ports = BTreeMap::new();
        for (list, bit) in [(&selection.ports, INCLUDED), (&selection.excluded_ports, NOT_INCLUDED)] {
            for port in list {
                *ports.entry(port.to_be_bytes()).or_insert(0) |= bit;
            }
        }
        let mut map: HashMap<_, [u8; 2], u8> = self.map("tcp_ports")?;
        for (port, bits) in &ports {
            map.insert(port, bits, 0).map_err(refused("tcp_ports"))?;
        }
        for (present, bit) in [
            (!ports.is_empty(), SOME_PORTS),
            (!selection.ports.is_empty(), ONLY_THESE_PORTS),
            (!selection.excluded_prefixes.is_empty(), NOT_THESE_PREFIXES),
            (!selection.prefixes.is_empty(), ONLY_THESE_PREFIXES),
        ] {
            which |= if present { bit } else { 0 };
        }
        self.insert_prefixes("included", &selection.prefixes)?;
        self.insert_prefixes("excluded", &selection.excluded_prefixes)?;
        let mut map: Array<_, u32> = self.map("selection")?;
        map.set(0, which, 0).map_err(refused("selection"))
    }

    fn insert_prefixes(&mut self, name: &'static str, prefixes: &[Prefix]) -> Result<(), ProgramError> {
        let mut map: LpmTrie<_, [u8; 16], u8> = self.map(name)?;
        for prefix in prefixes {
            let (len, octets) = prefix.mapped();
            map.insert(&Key::new(len, octets), 1, 0).map_err(refused(name))?;
        }
        Ok(())
    }

    /// Has what is written to a TAP device go on by an interface, from the hook of this side. Both are names and numbers.
    pub(super) fn restore(
        &mut self,
        side: Side,
        interface: (&str, u32),
        tap: (&str, u32),
        how: Attachment,
    ) -> Result<(), ProgramError> {
        let flags = match side {
            Side::Core => 0,
            Side::Radio => INTO_INGRESS,
        };
        let mut map: HashMap<_, u32, [u32; 2]> = self.map("homes")?;
        map.insert(tap.1, [interface.1, flags], 0).map_err(refused("homes"))?;
        let mut map: HashMap<_, u32, u32> = self.map(hook_of(side).1)?;
        map.insert(interface.1, tap.1, 0).map_err(refused(hook_of(side).1))?;
        self.attach(RESTORE, tap.0, how)
    }

    /// Takes frames at the hook of this side. To be called behind [`Programs::restore`] of all interfaces: when a process is killed
    /// the kernel closes what was opened last first, and nothing is to be led to a device that is going.
    pub(super) fn divert(
        &mut self,
        side: Side,
        interface: &str,
        how: Attachment,
    ) -> Result<(), ProgramError> {
        self.attach(hook_of(side).0, interface, how)
    }

    fn attach(&mut self, hook: Hook, interface: &str, how: Attachment) -> Result<(), ProgramError> {
        let program = program(&mut self.bpf, hook.program)?;
        self.attached.attach(program, hook, interface, how)
    }

    /// An array that is shared with the programs, of so many words.
    pub(super) fn mapped(&self, map: &'static str, words: usize) -> Result<Mapped, ProgramError> {
        let Some(aya::maps::Map::Array(array)) = self.bpf.map(map) else {
            return Err(ProgramError::Missing(map));
        };
        Mapped::new(array.fd().as_fd(), words).map_err(|error| ProgramError::Share { map, error })
    }

    /// Has copies of what passes on its way out by an interface go to a TAP device. Both are numbers.
    pub(super) fn copy(&mut self, interface: u32, tap: u32) -> Result<(), ProgramError> {
        let mut map: HashMap<_, u32, u32> = self.map("copy_taps")?;
        map.insert(interface, tap, 0).map_err(refused("copy_taps"))
    }

    /// Has both directions of a connection go by what its slot says.
    pub(super) fn open_passage(&mut self, flow: FlowKey, slot: u32) -> Result<(), ProgramError> {
        for (slots, direction) in [("down_slots", flow), ("up_slots", flow.reversed())] {
            let mut map: HashMap<_, [u8; 36], u32> = self.map(slots)?;
            map.insert(octets(direction), slot, 0).map_err(refused(slots))?;
        }
        Ok(())
    }

    /// Has nothing of a connection pass any more. Both directions are tried.
    pub(super) fn close_passage(&mut self, flow: FlowKey) -> Result<(), ProgramError> {
        let mut close = |slots, direction| {
            let mut map: HashMap<_, [u8; 36], u32> = self.map(slots)?;
            map.remove(&octets(direction)).map_err(refused(slots))
        };
        let (down, up) = (close("down_slots", flow), close("up_slots", flow.reversed()));
        down.and(up)
    }

    pub(super) fn counters(&self) -> Result<Counters, ProgramError> {
        let missing = ProgramError::Missing("counters");
        let map = self.bpf.map("counters").ok_or(missing)?;
        let map: PerCpuArray<_, u64> = map.try_into().map_err(refused("counters"))?;
        let read = |which: u32| {
            let counts = map.get(&which, 0).map_err(refused("counters"))?;
            Ok(counts.iter().sum())
        };
        Ok(Counters {
            diverted: read(0)?,
            restored: read(1)?,
            stale: read(2)?,
            excluded: read(3)?,
            aside: read(4)?,
            passed: read(5)?,
            late: read(6)?,
        })
    }

    /// Lets both directions of a flow pass from now on.
    pub(super) fn set_aside(&mut self, flow: FlowKey) -> Result<(), ProgramError> {
        let mut map: HashMap<_, [u8; 36], u8> = self.map("aside")?;
        for direction in [flow, flow.reversed()] {
            map.insert(octets(direction), 1, 0).map_err(refused("aside"))?;
        }
        Ok(())
    }

    fn map<'a, M>(&'a mut self, name: &'static str) -> Result<M, ProgramError>
    where
        M: TryFrom<&'a mut aya::maps::Map, Error = MapError>,
    {
        let map = self.bpf.map_mut(name).ok_or(ProgramError::Missing(name))?;
        map.try_into().map_err(refused(name))
    }
}

fn program<'a>(bpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut SchedClassifier, ProgramError> {
    let program = bpf.program_mut(name).ok_or(ProgramError::Missing(name))?;
    program.try_into().map_err(|_| ProgramError::Missing(name))
}

fn refused(map: &'static str) -> impl Fn(MapError) -> ProgramError {
    move |error| ProgramError::Map { map, error: Box::new(error) }
}

/// `struct flow`.
fn octets(flow: FlowKey) -> [u8; 36] {
    let mut key = [0; 36];
    key[..16].copy_from_slice(&mapped(flow.source.0));
    key[16..32].copy_from_slice(&mapped(flow.destination.0));
    key[32..34].copy_from_slice(&flow.source.1.to_be_bytes());
    key[34..].copy_from_slice(&flow.destination.1.to_be_bytes());
    key
}
