//! The BPF programs, from `bpf/divert.bpf.c`.

use aya::maps::{MapData, RingBuf};
use aya::programs::{ProgramFd, SchedClassifier};
use aya::{Ebpf, EbpfError, EbpfLoader};
use lasthop_agent::Side;

use super::attach::{
    Attached, Attachment, DOWN, HOOKS, Hook, RESTORE, STEER_DOWN, STEER_UP, UP, is_attached,
};
use super::error::ProgramError;
use super::layout;
use super::maps::{Maps, SLOT_MAPS, Steering, ring_of};
use crate::io::Selection;

/// The compiled programs, as `bpf/build.sh` writes them.
#[cfg(target_endian = "little")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfel.o");
#[cfg(target_endian = "big")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfeb.o");

/// Where frames of a side are taken: what comes from the core's side where it goes out, what comes
/// from the radio where it comes in.
const fn hook_of(side: Side) -> Hook {
    match side {
        Side::Core => DOWN,
        Side::Radio => UP,
    }
}

/// The program that hands frames of this side to their worker's.
const fn steering_of(side: Side) -> Hook {
    match side {
        Side::Core => STEER_DOWN,
        Side::Radio => STEER_UP,
    }
}

/// A worker's copy of the programs, loaded.
#[derive(Debug)]
pub(super) struct Programs {
    attached: Attached,
    bpf: Ebpf,
    pub(super) maps: Maps,
    /// Only of the first of several workers, whose programs lead to those of all.
    steering: Option<Steering>,
}

impl Programs {
    /// Loads them, and the ring that they write to.
    pub(super) fn load(selection: &Selection) -> Result<(Self, RingBuf<MapData>), ProgramError> {
        layout::check(OBJECT)?;
        let load = |error: EbpfError| ProgramError::Load(Box::new(error));
        // The programs use no kernel types; to read the kernel's BTF would take 20 MB for a moment,
        // half of which stays.
        let mut loader = EbpfLoader::new();
        if let Some(connections) = selection.connections {
            for map in SLOT_MAPS {
                loader.map_max_entries(map, connections);
            }
            // Both directions of each.
            loader.map_max_entries("aside", connections.saturating_mul(2));
        }
        let mut bpf = loader.btf(None).load(OBJECT).map_err(load)?;
        let mut maps = Maps::of(&mut bpf)?;
        let ring = ring_of(&mut bpf)?;
        for hook in HOOKS {
            program(&mut bpf, hook.program)?.load().map_err(|error| load(error.into()))?;
        }
        maps.select(selection)?;
        Ok((Self { attached: Attached::default(), bpf, maps, steering: None }, ring))
    }

    /// Has what is written to a TAP device of this name go on from where its frames are taken, and
    /// proofs come back.
    pub(super) fn restore(&mut self, tap: &str, how: Attachment) -> Result<(), ProgramError> {
        self.attach(RESTORE, tap, how)
    }

    /// Points the steering programs at every worker's programs: ours first, then those of the others.
    pub(super) fn lead_to(&mut self, others: &[&Self]) -> Result<(), ProgramError> {
        let Self { bpf, .. } = self;
        let mut steering = Steering::of(bpf)?;
        for side in [Side::Core, Side::Radio] {
            let workers = [&*bpf].into_iter().chain(others.iter().map(|other| &other.bpf));
            for (worker, bpf) in workers.enumerate() {
                steering.lead_to(side, worker as u32, fd_of(bpf, hook_of(side).program)?)?;
            }
            let steering_program = program(bpf, steering_of(side).program)?;
            steering_program.load().map_err(|error| ProgramError::Load(Box::new(error.into())))?;
        }
        steering.set_workers(1 + others.len() as u32)?;
        self.steering = Some(steering);
        Ok(())
    }

    /// Takes frames at the hook of this side, for all workers. To be called behind
    /// [`Programs::restore`] of all devices: when a process is killed the kernel closes what was
    /// opened last first, and no frame may be redirected to a device that is being removed.
    pub(super) fn divert(
        &mut self,
        side: Side,
        interface: &str,
        how: Attachment,
    ) -> Result<(), ProgramError> {
        self.attach(self.taking(side), interface, how)
    }

    /// Whether frames are taken at the hook of this side.
    pub(super) fn diverts(&self, side: Side, interface: &str) -> bool {
        is_attached(interface, self.taking(side))
    }

    /// A question to the kernel: at which of these interfaces, by their places, and from which side frames
    /// should be taken and are not. The answer may take long (see [`Poller`](crate::io::poller::Poller)).
    pub(super) fn detached(&self, interfaces: Vec<String>) -> impl Fn() -> Vec<(usize, Side)> + Send + use<> {
        let hooks = [Side::Core, Side::Radio].map(|side| (side, self.taking(side)));
        move || {
            let all = interfaces.iter().enumerate();
            let all = all.flat_map(|(place, name)| hooks.map(|(side, hook)| (place, side, name, hook)));
            let detached = all.filter(|(_, _, name, hook)| !is_attached(name, *hook));
            detached.map(|(place, side, ..)| (place, side)).collect()
        }
    }

    /// Lets go of a device or an interface that is gone, or will be.
    pub(super) fn forget(&mut self, interface: &str) {
        self.attached.forget(interface);
    }

    const fn taking(&self, side: Side) -> Hook {
        if self.steering.is_some() { steering_of(side) } else { hook_of(side) }
    }

    fn attach(&mut self, hook: Hook, interface: &str, how: Attachment) -> Result<(), ProgramError> {
        let program = program(&mut self.bpf, hook.program)?;
        self.attached.attach(program, hook, interface, how)
    }
}

fn program<'a>(bpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut SchedClassifier, ProgramError> {
    let program = bpf.program_mut(name).ok_or(ProgramError::Missing(name))?;
    program.try_into().map_err(|_| ProgramError::Missing(name))
}

fn fd_of<'a>(bpf: &'a Ebpf, name: &'static str) -> Result<&'a ProgramFd, ProgramError> {
    bpf.program(name).and_then(|program| program.fd().ok()).ok_or(ProgramError::Missing(name))
}
