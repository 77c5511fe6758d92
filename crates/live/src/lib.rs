//! Floor 5: real packets. The same agents and the same models as in the simulator, on a Linux
//! kernel's own traffic.
//!
//! | module | what is in it |
//! |---|---|
//! | `answer` | what control sockets answer with |
//! | `control` | the server's end of control sockets |
//! | [`clock`] | the one place that reads a clock |
//! | [`device`] | TUN and TAP devices, and network interfaces by name |
//! | [`emulator`] | the simulator paced by the clock, between real hosts |
//! | [`frame`] | what crosses a port: an Ethernet or IP frame with what the kernel says about it |
//! | [`gateway`] | agents on a Linux access point's own traffic |
//! | [`io`] | [`io::PacketIo`]: ports that frames come from and go to, and its backends |
//! | [`trial`] | a scenario between real hosts on this machine alone |
//! | [`lateness`] | how late things came, in a histogram |
//! | `listening` | which TCP sockets listen |
//! | `netlink` | requests to the kernel over netlink(7) |
//! | `peer` | which process is at the other end of a Unix socket |
//! | `realtime` | real-time scheduling, locked memory |
//! | [`namespace`] | hosts of our own: network namespaces that vanish with us |
//!
//! This is the only crate with system calls, a clock, and unsafe code.

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-live speaks to a Linux kernel");

mod answer;
pub mod buffer;
pub mod clock;
mod control;
pub mod device;
pub mod emulator;
pub mod frame;
pub mod gateway;
pub mod io;
pub mod lateness;
mod listening;
pub mod namespace;
mod netlink;
mod peer;
mod realtime;
pub mod trial;
pub mod unprivileged;

use rustix::fs::Access;
use rustix::thread::CapabilitySet;

/// Whether this process may make hosts and devices: everything here but the memory backend takes
/// root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this process may make hosts that are joined to this machine, and keep files about them in
/// `/run`: root, but not the root of a user namespace.
pub fn may_administer_this_machine() -> bool {
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let may =
        rustix::thread::capabilities(None).map_or_else(|_| is_root(), |sets| sets.effective.contains(wanted));
    may && rustix::fs::access("/run", Access::WRITE_OK).is_ok()
}

/// Whether this process may change this machine's network: root, or somebody with `CAP_NET_ADMIN`.
pub fn may_change_the_network() -> bool {
    let net_admin = CapabilitySet::NET_ADMIN;
    rustix::thread::capabilities(None).map_or_else(|_| is_root(), |sets| sets.effective.contains(net_admin))
}
