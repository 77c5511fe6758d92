//! The interface to the Linux kernel, apart from the paths of packets through a gateway.
//!
//! | module | contents |
//! |---|---|
//! | [`addresses`] | programs that are at the same addresses each time |
//! | [`bridge_table`] | where bridges have learned that stations are |
//! | [`conntrack`] | the connections that the kernel tracks, and their translations |
//! | [`clock`] | the only module that reads a clock |
//! | [`device`] | TUN and TAP devices, and network interfaces by name |
//! | [`namespace`] | private hosts: network namespaces that vanish with this process |
//! | [`unprivileged`] | the same without root, in a user namespace |
//! | [`control`] | control sockets: the server's end, and the form of responses |
//! | [`peer`] | the process at the other end of a Unix socket |
//! | [`listening`] | listening TCP sockets |
//! | [`neighbours`] | the IP addresses of hosts on the same link |
//! | [`nl80211`] | Wi-Fi devices, and a made-up station at an access point |
//! | [`netlink`] | requests to the kernel over netlink(7) |
//! | [`realtime`] | real-time scheduling, locked memory |
//! | [`processor`] | a thread's time on a processor, and its wait for one |
//! | [`lateness`] | the lateness of wake-ups by the kernel, in a histogram |
//! | [`memory`] | this process's memory, and its limit |
//! | [`tool`] | external programs in a namespace |
//! | [`wifi_status`] | whether a Wi-Fi device's frames were acknowledged |
//! | [`results`] | files of results: complete or absent, and never in the place of an input |

#[cfg(not(target_os = "linux"))]
compile_error!("lasthop-linux speaks to a Linux kernel");

pub mod addresses;
pub mod bridge_table;
pub mod clock;
pub mod conntrack;
pub mod control;
pub mod device;
pub mod lateness;
pub mod listening;
pub mod memory;
pub mod namespace;
pub mod neighbours;
pub mod netlink;
pub mod nl80211;
pub mod peer;
pub mod processor;
pub mod realtime;
pub mod results;
pub mod tool;
pub mod unprivileged;
pub mod wifi_status;

use rustix::fs::Access;
use rustix::thread::CapabilitySet;

/// Whether this process may create hosts and devices: everything here except the memory backend
/// requires root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this process may create hosts that are connected to this machine, and keep files about
/// them in `/run`: root, but not the root of a user namespace.
pub fn may_administer_this_machine() -> bool {
    let wanted = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    let may =
        rustix::thread::capabilities(None).map_or_else(|_| is_root(), |sets| sets.effective.contains(wanted));
    may && rustix::fs::access("/run", Access::WRITE_OK).is_ok()
}

/// Whether this process may change this machine's network: root, or a process with `CAP_NET_ADMIN`.
pub fn may_change_the_network() -> bool {
    let net_admin = CapabilitySet::NET_ADMIN;
    rustix::thread::capabilities(None).map_or_else(|_| is_root(), |sets| sets.effective.contains(net_admin))
}
