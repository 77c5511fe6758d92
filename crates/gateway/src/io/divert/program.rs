//! The BPF programs, from `bpf/divert.bpf.c`.

use aya::maps::{MapData, RingBuf};
use aya::programs::{ProgramFd, SchedClassifier};
use aya::{Ebpf, EbpfError, EbpfLoader};
use lasthop_agent::Side;

use super::attach::{Attached, Attachment, DOWN, HOOKS, Hook, Place, RESTORE, STEER_DOWN, STEER_UP, UP};
use super::error::ProgramError;
use super::layout;
use super::maps::{Maps, SLOT_MAPS, Steering, ring_of};
use crate::io::Selection;

/// The compiled programs, as `bpf/build.sh` writes them.
#[cfg(target_endian = "little")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfel.o");
#[cfg(target_endian = "big")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../../bpf/divert.bpfeb.o");

/// The hook at which frames of a side are taken: egress for frames from the core side, ingress for
/// frames from the radio side.
const fn hook_of(side: Side) -> Hook {
    match side {
        Side::Core => DOWN,
        Side::Radio => UP,
    }
}

/// The program that passes frames of this side to their worker's program.
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
    /// Only for the first of several workers, whose programs call those of all.
    steering: Option<Steering>,
}

impl Programs {
    /// Loads the programs, and the ring to which they write.
    pub(super) fn load(selection: &Selection) -> Result<(Self, RingBuf<MapData>), ProgramError> {
        layout::check(OBJECT)?;
        let load = |error: EbpfError| ProgramError::Load(Box::new(error));
        // The programs use no kernel types. Reading the kernel's BTF would take 20 MB temporarily,
        // half of which is not released.
        let mut loader = EbpfLoader::new();
        if let Some(connections) = selection.connections {
            for map in SLOT_MAPS {
                loader.map_max_entries(map, connections);
            }
            // Two directions per connection.
            loader.map_max_entries("aside", connections.saturating_mul(2));
        }
        let mut bpf = loader.btf(None).load(OBJECT).map_err(load)?;
        let mut maps = Maps::from_object(&mut bpf)?;
        let ring = ring_of(&mut bpf)?;
        for hook in HOOKS {
            program(&mut bpf, hook.program)?.load().map_err(|error| load(error.into()))?;
        }
        maps.select(selection)?;
        Ok((Self { attached: Attached::default(), bpf, maps, steering: None }, ring))
    }

    /// Attaches the program of the TAP device of this name. It puts frames written to the device
    /// back at the hook where they were taken, and returns proofs.
    pub(super) fn restore_from(&mut self, tap: &str, how: Attachment) -> Result<(), ProgramError> {
        self.attach(RESTORE, tap, how)
    }

    /// Connects the steering programs to every worker's programs, our own first.
    pub(super) fn steer_to(&mut self, others: &[&Self]) -> Result<(), ProgramError> {
        let Self { bpf, .. } = self;
        let mut steering = Steering::from_object(bpf)?;
        for side in [Side::Core, Side::Radio] {
            let workers = [&*bpf].into_iter().chain(others.iter().map(|other| &other.bpf));
            for (worker, bpf) in workers.enumerate() {
                steering.set_program(side, worker as u32, fd_of(bpf, hook_of(side).program)?)?;
            }
            let steering_program = program(bpf, steering_of(side).program)?;
            steering_program.load().map_err(|error| ProgramError::Load(Box::new(error.into())))?;
        }
        steering.set_workers(1 + others.len() as u32)?;
        self.steering = Some(steering);
        Ok(())
    }

    /// Diverts frames at the hook of this side, for all workers. To be called after
    /// [`Programs::restore_from`] for all devices: when a process is killed, the kernel closes its
    /// descriptors in reverse order, and no frame may be redirected to a device that is being
    /// removed.
    pub(super) fn divert(
        &mut self,
        side: Side,
        interface: &str,
        how: Attachment,
    ) -> Result<(), ProgramError> {
        self.attach(self.diverting_hook(side), interface, how)
    }

    /// Whether frames are diverted at the hook of this side.
    pub(super) fn diverts(&self, side: Side, interface: &str) -> bool {
        self.attached.place(interface, self.diverting_hook(side)).is_some_and(Place::is_taken)
    }

    /// A query to the kernel for the interfaces, by index in `interfaces`, and sides at which no
    /// program is attached. The answer may take long (see [`Poller`](crate::io::poller::Poller)).
    pub(super) fn detached(&self, interfaces: &[String]) -> impl Fn() -> Vec<(usize, Side)> + Send + use<> {
        let sides = [Side::Core, Side::Radio].map(|side| (side, self.diverting_hook(side)));
        let all = interfaces.iter().enumerate();
        let all = all.flat_map(|(index, name)| {
            sides.map(|(side, hook)| (index, side, self.attached.place(name, hook).cloned()))
        });
        let all: Vec<_> = all.collect();
        move || {
            let detached = all.iter().filter(|(.., place)| !place.as_ref().is_some_and(Place::is_taken));
            detached.map(|(index, side, _)| (*index, *side)).collect()
        }
    }

    /// Releases the attachments to a device or interface that has vanished or is about to.
    pub(super) fn forget(&mut self, interface: &str) {
        self.attached.forget(interface);
    }

    const fn diverting_hook(&self, side: Side) -> Hook {
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
