//! What lasthop asks of the Linux kernel, apart from packets' ways through a gateway.
//!
//! | module | what is in it |
//! |---|---|
//! | [`clock`] | the one place that reads a clock |
//! | [`device`] | TUN and TAP devices, and network interfaces by name |
//! | [`namespace`] | hosts of our own: network namespaces that vanish with us |
//! | [`unprivileged`] | the same without root, in a user namespace |
//! | [`control`], [`answer`] | control sockets: the server's end, and what is answered |
//! | [`peer`] | which process is at the other end of a Unix socket |
//! | [`listening`] | which TCP sockets listen |
//! | [`netlink`] | requests to the kernel over netlink(7) |
//! | [`realtime`] | real-time scheduling, locked memory |
//! | [`processor`] | a thread's time on a processor, and its wait for one |
//! | [`lateness`] | how late the kernel woke us, in a histogram |
//! | [`memory`] | this process's memory, and its limit |
//! | [`results`] | files of results: whole or not there, and never in an input's place |

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-linux speaks to a Linux kernel");

pub mod answer;
pub mod clock;
pub mod control;
pub mod device;
pub mod lateness;
pub mod listening;
pub mod memory;
pub mod namespace;
pub mod netlink;
pub mod peer;
pub mod processor;
pub mod realtime;
pub mod results;
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
