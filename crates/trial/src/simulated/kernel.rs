//! The kernel of a guest: what it is started with, and where it runs.

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use lasthop_kernels::recipe::{AIR_TIME_PARAMETER, SEED_VARIABLE};
use lasthop_uml::vhost::DeviceType;
use lasthop_uml::{Hwsim, Kernel, Net};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::control;
use crate::options::GuestProgram;

/// What the guests of a run differ in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    /// The kernel's file.
    pub(super) kernel: &'a Path,
    /// The first program.
    pub(super) program: &'a GuestProgram,
    /// Octets of memory.
    pub(super) memory: u64,
    /// The seed of the kernel's random numbers.
    pub(super) seed: u64,
    /// The model's ends that it has, each with a device.
    pub(super) ends: &'a [usize],
    /// The number of radios; 0 if none of them is a host's here.
    pub(super) radios: usize,
}

/// The Ethernet address of the device at an end, locally administered.
pub(super) const fn address_of(end: usize) -> [u8; 6] {
    [0x02, 0x6c, 0x68, 0x65, (end >> 8) as u8, end as u8]
}

/// The kernel: its control device comes first, the device of its radios last.
pub(super) fn of(parts: Parts<'_>) -> Kernel {
    let mut kernel = Kernel::new(parts.kernel, &parts.program.path);
    kernel.memory = parts.memory;
    let count = parts.radios;
    let of_radios = [format!("mac80211_hwsim.radios={count}"), format!("{AIR_TIME_PARAMETER}=1")];
    kernel.parameters.extend(of_radios.into_iter().filter(|_| count > 0));
    let parameters = [
        // As at a TAP device, a frame counts as sent once the device has it.
        "virtio_net.napi_tx=0",
        // Without one here, the kernel would add it at the end, for the first program.
        "console=tty0",
        // What follows goes to the first program.
        "--",
        parts.program.argument,
    ];
    kernel.parameters.extend(parameters.map(str::to_owned));
    kernel.environment.push((SEED_VARIABLE.into(), parts.seed.to_string().into()));
    let addresses = std::iter::once(control::GUEST_DEVICE).chain(parts.ends.iter().copied().map(address_of));
    kernel.devices.extend(addresses.map(|address| Box::new(Net::new(address)) as Box<dyn DeviceType>));
    if count > 0 {
        kernel.devices.push(Box::new(Hwsim));
    }
    kernel
}

/// The processor of the calling thread's guests: each thread that runs cases takes the next one that this process may use.
/// Processes begin at different ones.
pub(super) fn processor() -> Option<usize> {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    let allowed = sched_getaffinity(None).ok()?;
    let of_process: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    of_process.get(NUMBER.with(|number| (number + process::id() as usize) % of_process.len().max(1))).copied()
}
