//! The maps of the BPF programs, each with the types that it has in `bpf/divert.bpf.c`.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::AsFd;

use aya::Ebpf;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, IterableMap, Map, MapData, MapError, PerCpuArray, ProgramArray, RingBuf};
use aya::programs::ProgramFd;
use lasthop_agent::Side;
use lasthop_packet::{FlowKey, Prefix};

use super::error::ProgramError;
use super::layout::{
    BpfFlow, Counter, DATAGRAMS, Home, INCLUDED, INTO_INGRESS, NOT_INCLUDED, NOT_THESE_PREFIXES,
    ONLY_THESE_PORTS, ONLY_THESE_PREFIXES, PASSIVE, SLOT_WORDS, SOME_PORTS,
};
use super::mapped::Mapped;
use crate::io::selection::Selection;

/// The programs' counters of frames; a super-packet counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames diverted to the gateway.
    pub diverted: u64,
    /// Frames put back. With several workers, the first worker's programs count those of all.
    pub restored: u64,
    /// TCP, and UDP that may be RTP, that passed because the heartbeat was stale.
    pub stale: u64,
    /// TCP, and UDP that may be RTP, that passed because it is not selected.
    pub excluded: u64,
    /// TCP, and UDP that may be RTP, that passed because this host sent it.
    pub own: u64,
    /// TCP, and UDP that may be RTP, that passed because its flow is set aside.
    pub aside: u64,
    /// TCP that passed because its agent allows it, or because the gateway is passive; a copy or
    /// the headers were delivered.
    pub passed: u64,
    /// As `passed`, but above the limits that the agent allows, because the packet loop was late.
    pub late: u64,
}

/// The names of the maps with an entry per connection.
pub(super) const SLOT_MAPS: [&str; 3] = ["bypasses", "down_slots", "up_slots"];

type Slots = HashMap<MapData, BpfFlow, u32>;
type Taps = HashMap<MapData, u32, u32>;
type Prefixes = LpmTrie<MapData, [u8; 16], u8>;

/// The maps that the gateway reads or writes.
pub(super) struct Maps {
    counters: PerCpuArray<MapData, u64>,
    heartbeat: Array<MapData, u64>,
    bypasses: Array<MapData, [u64; SLOT_WORDS]>,
    down_slots: Slots,
    up_slots: Slots,
    down_taps: Taps,
    up_taps: Taps,
    copy_taps: Taps,
    homes: HashMap<MapData, u32, Home>,
    selection: Array<MapData, u32>,
    ports: HashMap<MapData, [u8; 2], u8>,
    included: Prefixes,
    excluded: Prefixes,
    aside: HashMap<MapData, BpfFlow, u8>,
}

impl Maps {
    /// Takes the maps out of a loaded object.
    ///
    /// # Errors
    /// A map is missing, or its sizes differ from those here.
    pub(super) fn from_object(bpf: &mut Ebpf) -> Result<Self, ProgramError> {
        Ok(Self {
            counters: take(bpf, "counters")?,
            heartbeat: take(bpf, "heartbeat")?,
            bypasses: take(bpf, "bypasses")?,
            down_slots: take(bpf, "down_slots")?,
            up_slots: take(bpf, "up_slots")?,
            down_taps: take(bpf, "down_taps")?,
            up_taps: take(bpf, "up_taps")?,
            copy_taps: take(bpf, "copy_taps")?,
            homes: take(bpf, "homes")?,
            selection: take(bpf, "selection")?,
            ports: take(bpf, "ports")?,
            included: take(bpf, "included")?,
            excluded: take(bpf, "excluded")?,
            aside: take(bpf, "aside")?,
        })
    }

    /// Sets the selection.
    pub(super) fn select(&mut self, selection: &Selection) -> Result<(), ProgramError> {
        // A port that is on both lists has both bits.
        let mut ports = BTreeMap::new();
        for (list, bit) in [(&selection.ports, INCLUDED), (&selection.excluded_ports, NOT_INCLUDED)] {
            for port in list {
                *ports.entry(port.to_be_bytes()).or_insert(0) |= bit;
            }
        }
        for (port, bits) in &ports {
            self.ports.insert(port, bits, 0).map_err(refused("ports"))?;
        }
        insert("included", &mut self.included, &selection.prefixes)?;
        insert("excluded", &mut self.excluded, &selection.excluded_prefixes)?;
        let which = [
            (!ports.is_empty(), SOME_PORTS),
            (!selection.ports.is_empty(), ONLY_THESE_PORTS),
            (!selection.excluded_prefixes.is_empty(), NOT_THESE_PREFIXES),
            (!selection.prefixes.is_empty(), ONLY_THESE_PREFIXES),
            (selection.datagrams, DATAGRAMS),
            (selection.passive, PASSIVE),
        ];
        let which = which.into_iter().map(|(present, bit)| if present { bit } else { 0 }).sum::<u32>();
        self.selection.set(0, which, 0).map_err(refused("selection"))
    }

    /// Has frames of this side of an interface diverted to a TAP device, and frames written to the
    /// device put back at the same hook. Both are given by index.
    pub(super) fn join(&mut self, side: Side, interface: u32, tap: u32) -> Result<(), ProgramError> {
        let (flags, name, taps) = match side {
            Side::Core => (0, "down_taps", &mut self.down_taps),
            Side::Radio => (INTO_INGRESS, "up_taps", &mut self.up_taps),
        };
        self.homes.insert(tap, Home { ifindex: interface, flags }, 0).map_err(refused("homes"))?;
        taps.insert(interface, tap, 0).map_err(refused(name))
    }

    /// Has copies of the frames that pass at an interface delivered to a TAP device. Both are given
    /// by index.
    pub(super) fn copy(&mut self, interface: u32, tap: u32) -> Result<(), ProgramError> {
        self.copy_taps.insert(interface, tap, 0).map_err(refused("copy_taps"))
    }

    /// Removes the entries of a TAP device or radio interface that vanished, given by index.
    pub(super) fn forget(&mut self, index: u32) {
        let _ = self.homes.remove(&index);
        for taps in [&mut self.down_taps, &mut self.up_taps, &mut self.copy_taps] {
            let _ = taps.remove(&index);
        }
    }

    /// The time of the packet loop's last heartbeat: one word.
    pub(super) fn share_heartbeat(&self) -> Result<Mapped, ProgramError> {
        shared("heartbeat", &self.heartbeat, 1)
    }

    /// The words of all slots.
    pub(super) fn share_bypasses(&self) -> Result<Mapped, ProgramError> {
        shared("bypasses", &self.bypasses, self.slots() as usize * SLOT_WORDS)
    }

    /// The number of slots.
    pub(super) fn slots(&self) -> u32 {
        self.bypasses.len()
    }

    /// Has both directions of a connection use this slot.
    pub(super) fn open_bypass(&mut self, flow: FlowKey, slot: u32) -> Result<(), ProgramError> {
        self.down_slots.insert(BpfFlow::from(flow), slot, 0).map_err(refused("down_slots"))?;
        self.up_slots.insert(BpfFlow::from(flow.reversed()), slot, 0).map_err(refused("up_slots"))
    }

    /// Ends the bypass of both directions of a connection. A direction without an entry is already
    /// closed, and an error in one does not prevent the attempt to close the other.
    pub(super) fn close_bypass(&mut self, flow: FlowKey) -> Result<(), ProgramError> {
        let close = |slots: &mut Slots, name, direction| match slots.remove(&BpfFlow::from(direction)) {
            Ok(()) | Err(MapError::KeyNotFound) => Ok(()),
            Err(error) => Err(refused(name)(error)),
        };
        let down = close(&mut self.down_slots, "down_slots", flow);
        let up = close(&mut self.up_slots, "up_slots", flow.reversed());
        down.and(up)
    }

    /// Lets both directions of a flow pass.
    pub(super) fn set_aside(&mut self, flow: FlowKey) -> Result<(), ProgramError> {
        for direction in [flow, flow.reversed()] {
            self.aside.insert(BpfFlow::from(direction), 1, 0).map_err(refused("aside"))?;
        }
        Ok(())
    }

    /// Diverts both directions of a flow again. A direction without an entry, which the kernel may
    /// have evicted, already is.
    pub(super) fn divert_again(&mut self, flow: FlowKey) -> Result<(), ProgramError> {
        for direction in [flow, flow.reversed()] {
            match self.aside.remove(&BpfFlow::from(direction)) {
                Ok(()) | Err(MapError::KeyNotFound) => {}
                Err(error) => return Err(refused("aside")(error)),
            }
        }
        Ok(())
    }

    pub(super) fn counters(&self) -> Result<Counters, ProgramError> {
        let read = |which: Counter| {
            let counts = self.counters.get(&(which as u32), 0).map_err(refused("counters"))?;
            Ok(counts.iter().sum())
        };
        Ok(Counters {
            diverted: read(Counter::Diverted)?,
            restored: read(Counter::Restored)?,
            stale: read(Counter::Stale)?,
            excluded: read(Counter::Excluded)?,
            own: read(Counter::Own)?,
            aside: read(Counter::Aside)?,
            passed: read(Counter::Passed)?,
            late: read(Counter::Late)?,
        })
    }
}

impl fmt::Debug for Maps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maps").finish_non_exhaustive()
    }
}

/// The maps through which the first worker's steering programs call all workers' programs.
pub(super) struct Steering {
    workers: Array<MapData, u32>,
    down: ProgramArray<MapData>,
    up: ProgramArray<MapData>,
}

impl Steering {
    /// Takes the maps out of a loaded object.
    pub(super) fn from_object(bpf: &mut Ebpf) -> Result<Self, ProgramError> {
        let (down, up) = (take(bpf, "down_workers")?, take(bpf, "up_workers")?);
        Ok(Self { workers: take(bpf, "workers")?, down, up })
    }

    /// Sets a worker's program for frames of this side.
    pub(super) fn set_program(
        &mut self,
        side: Side,
        worker: u32,
        program: &ProgramFd,
    ) -> Result<(), ProgramError> {
        let (name, programs) = match side {
            Side::Core => ("down_workers", &mut self.down),
            Side::Radio => ("up_workers", &mut self.up),
        };
        programs.set(worker, program, 0).map_err(refused(name))
    }

    /// Sets the number of workers.
    pub(super) fn set_workers(&mut self, count: u32) -> Result<(), ProgramError> {
        self.workers.set(0, count, 0).map_err(refused("workers"))
    }
}

impl fmt::Debug for Steering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steering").finish_non_exhaustive()
    }
}

/// Takes the ring out of a loaded object.
pub(super) fn ring_of(bpf: &mut Ebpf) -> Result<RingBuf<MapData>, ProgramError> {
    take(bpf, "ring")
}

fn take<M: TryFrom<Map, Error = MapError>>(bpf: &mut Ebpf, name: &'static str) -> Result<M, ProgramError> {
    let map = bpf.take_map(name).ok_or(ProgramError::Missing(name))?;
    map.try_into().map_err(refused(name))
}

fn insert(name: &'static str, map: &mut Prefixes, prefixes: &[Prefix]) -> Result<(), ProgramError> {
    for prefix in prefixes {
        let (len, octets) = prefix.mapped();
        map.insert(&Key::new(len, octets), 1, 0).map_err(refused(name))?;
    }
    Ok(())
}

/// An array mapped into memory, of `words` 64-bit words.
fn shared<T: aya::Pod>(
    map: &'static str,
    array: &Array<MapData, T>,
    words: usize,
) -> Result<Mapped, ProgramError> {
    Mapped::new(array.map().fd().as_fd(), words).map_err(|error| ProgramError::Share { map, error })
}

fn refused(map: &'static str) -> impl Fn(MapError) -> ProgramError {
    move |error| ProgramError::Map { map, error: Box::new(error) }
}
